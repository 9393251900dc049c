"""Functions of the person's tree, found by their name. Reads source; imports nothing of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path


def functions(root: Path, paths: Iterable[str], name: str) -> Iterator[str]:
    """`package.module:name` of every function of this name, or method by `Class.name`, below the root. Reads no file that is no Python."""
    for path in paths:
        if path.endswith(".py") and (root / path).is_file() and _has((root / path).read_text("utf-8", "replace"), name):
            yield f"{_module(path)}:{name}"


def _has(source: str, name: str) -> bool:
    """Whether it is defined there, at the margin or, as a method, further in and with a class of its owner's name."""
    owner, _, last = name.rpartition(".")
    margins = re.findall(rf"^([ \t]*)(?:async )?def {re.escape(last)}\(", source, re.M)
    known = not owner or re.search(rf"^[ \t]*class {re.escape(owner.rpartition('.')[2])}\b", source, re.M)
    return bool(known) and any(bool(margin) == bool(owner) for margin in margins)


def _module(path: str) -> str:
    parts = list(Path(path).with_suffix("").parts)
    if parts[0] in ("src", "lib"):
        parts = parts[1:]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
