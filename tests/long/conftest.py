"""The long suite, and its shards: SHARD=2/5 keeps every test whose name falls to the second of five, whatever machine asks."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Only who names this folder gets it: `pytest` alone is the short suite."""
    asked = any(HERE in (path := Path(arg.split("::")[0]).resolve(), *path.parents) for arg in config.args)
    return None if asked else True


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    number, count = map(int, os.environ.get("SHARD", "1/1").split("/"))
    assert 1 <= number <= count, f"no such shard: {number}/{count}"
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.long)
    mine = [item for item in items if not item.path.is_relative_to(HERE) or falls_to(together(item), count) == number]
    config.hook.pytest_deselected(items=[item for item in items if item not in mine])
    items[:] = mine


def together(item: pytest.Item) -> str:
    """What is kept in one shard: a test, or all that look at one played session."""
    params = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
    return f"{item.path.name} {params['session']}" if "session" in params else item.nodeid


def falls_to(name: str, count: int) -> int:
    """The shard of a test, from 1 on."""
    return int(hashlib.sha256(name.encode()).hexdigest(), 16) % count + 1
