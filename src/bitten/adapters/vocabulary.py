"""The vocabulary of facts, as the instruments themselves declare it: read from their source, which runs in other processes only."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from bitten.guest import HOME

FOLDER = Path(HOME, "_bitten_probes")


@dataclass(frozen=True)
class Meaning:
    """What a fact says, in which unit; the threshold past which it is a finding, where that comes from, and how it misfires."""

    says: str
    unit: str = ""
    threshold: str = ""
    source: str = ""
    misfires: str = ""


@dataclass(frozen=True)
class Instrument:
    """`about` is the first sentence of its module; `facts` its vocabulary by name."""

    name: str
    about: str
    facts: Mapping[str, Meaning]


@cache
def names() -> tuple[str, ...]:
    """Every instrument that `all` stands for."""
    return tuple(_literal(FOLDER / "armed.py", "NAMES") or ())


@cache
def instruments() -> tuple[Instrument, ...]:
    return tuple(_instrument(name) for name in names() if (FOLDER / f"{name}.py").is_file())


def instrument_of(fact: str) -> str:
    """The instrument that measures a fact, by the fact's name; empty for facts of other origin."""
    head = fact.partition(".")[0]
    return head if "." in fact and head in names() else ""


def _instrument(name: str) -> Instrument:
    file = FOLDER / f"{name}.py"
    about = (ast.get_docstring(_tree(file)) or "").partition("\n")[0]
    return Instrument(name, about, {fact: Meaning(**meaning) for fact, meaning in _facts(file)})


def _facts(file: Path) -> Iterator[tuple[str, dict[str, str]]]:
    yield from (_literal(file, "FACTS") or {}).items()


def _literal(file: Path, wanted: str) -> Any:
    """The value of a module-level literal."""
    for node in _tree(file).body:
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target if isinstance(node, ast.AnnAssign) else None
        if isinstance(target, ast.Name) and target.id == wanted and isinstance(node, ast.Assign | ast.AnnAssign) and node.value:
            return ast.literal_eval(node.value)
    return None


@cache
def _tree(file: Path) -> ast.Module:
    return ast.parse(file.read_text("utf-8"))
