"""Functions of the person's tree, found by their name. Reads source; imports nothing of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path


def functions(root: Path, paths: Iterable[str], name: str) -> Iterator[str]:
    """`package.module:name` of every function of this name, or method by `Class.name`, below the root. Reads no file that is no Python."""
    owner, _, last = name.rpartition(".")
    wanted = re.compile(rf"^(?P<in>[ \t]*)(?:async )?def {re.escape(last)}\(", re.M)
    for path in paths:
        found = wanted.search((root / path).read_text("utf-8", "replace")) if path.endswith(".py") and (root / path).is_file() else None
        if found and bool(found["in"]) == bool(owner):
            yield f"{_module(path)}:{name}"


def _module(path: str) -> str:
    parts = list(Path(path).with_suffix("").parts)
    if parts[0] in ("src", "lib"):
        parts = parts[1:]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
