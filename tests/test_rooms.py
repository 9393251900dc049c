"""The rooms of the house: who may import whom. Relative imports are resolved, late ones count, only the wiring knows adapters."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

SRC = Path(__file__).parent.parent / "src"
MAY = {
    "core": {"core"},
    "steps": {"core", "steps"},
    "adapters": {"core", "adapters", "guest", "playbook", "playbooks", ""},
    "interfaces": {"core", "steps", "interfaces", ""},
    "playbook": {"core"},
    "playbooks": {"playbook"},
    "testing": {"core", "adapters", "playbook", "steps", "testing"},
    "guest": set(),
    "__main__": {"interfaces", ""},
    "pytest_plugin": set(),
    "": set(),
}
"""Room → rooms it may import from; "" is the package itself, which holds the version."""
ALSO = {"interfaces/wiring": {"adapters", "testing"}}
"""Folders that may more than their room."""
PURE = {
    "__future__",
    "ast",
    "collections",
    "contextlib",
    "dataclasses",
    "enum",
    "json",
    "math",
    "re",
    "typing",
    "itertools",
    "functools",
    "pathlib",
    "shlex",
    "datetime",
    "tokenize",
}
"""What the law may take from the standard library: nothing that reads, writes, waits or rolls dice. (pathlib: pure paths, see below.)"""
FILES = sorted(SRC.rglob("*.py"))


def room(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else ""


def module_of(path: Path) -> str:
    parts = path.relative_to(SRC).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(path: Path) -> list[str]:
    """Full names of all modules that a file imports, at its top or later."""
    here = module_of(path).split(".")
    package = here if path.name == "__init__.py" else here[:-1]
    found = []
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[:len(package) - node.level + 1] if node.level else []
            found += _names(".".join([*base, *([node.module] if node.module else [])]), [alias.name for alias in node.names])
    return found


def _names(base: str, names: list[str]) -> list[str]:
    """`from bitten import adapters` imports a room, not the package."""
    return [
        f"{base}.{name}"
        if (base == "bitten" and (SRC / "bitten" / name).exists()) or ((SRC / "bitten" / f"{name}.py").exists() and base == "bitten")
        else base
        for name in names
    ]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SRC)))
def test_every_import_stays_within_what_its_room_may(path):
    here = room(module_of(path))
    may = MAY[here] | ALSO.get(str(path.parent.relative_to(SRC / "bitten")), set())
    for name in imported(path):
        if name.split(".")[0] == "bitten":
            assert room(name) in may, f"{here or 'bitten'} may not import {name}"


@pytest.mark.parametrize("path", [p for p in FILES if room(module_of(p)) in ("core", "steps")], ids=lambda path: str(path.relative_to(SRC)))
def test_the_law_and_the_verbs_take_only_what_is_pure(path):
    for name in imported(path):
        top = name.split(".")[0]
        assert top == "bitten" or top in PURE, f"{name} is not on the list of pure modules"
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module == "pathlib":
            assert {alias.name for alias in node.names} <= {"PurePosixPath"}, "only pure paths"
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in ("open", "input", "print", "exec", "eval", "__import__"), f"{node.func.id} at line {node.lineno}"


def runs_in_the_other_process(path):
    return room(module_of(path)) == "guest" or (path.name == "probe.py" and "playbooks" in path.parts)


@pytest.mark.parametrize("path", [p for p in FILES if runs_in_the_other_process(p)], ids=lambda path: str(path.relative_to(SRC)))
def test_what_runs_in_the_other_process_needs_the_standard_library_alone(path):
    own = {each.stem for each in (SRC / "bitten" / "guest").glob("*.py")}
    late = {"torch", "numpy", "pandas", "_pytest", "pytest"}
    for name in imported(path):
        top = name.split(".")[0]
        assert top in sys.stdlib_module_names | own | late, f"the guest may not import {name}"


@pytest.mark.parametrize("path", [p for p in FILES if "examples" not in p.parts], ids=lambda path: str(path.relative_to(SRC)))
def test_every_module_opens_with_its_one_sentence(path):
    text = ast.get_docstring(ast.parse(path.read_text("utf-8")))
    assert text, f"{path.name} does not say what it is"
    assert text.split("\n\n")[0].count("\n") <= 2


def test_the_contract_sees_a_relative_import_and_one_made_late(tmp_path, monkeypatch):
    """The contract itself was once too lenient: it skipped both."""
    bad = tmp_path / "bitten" / "core" / "bad.py"
    bad.parent.mkdir(parents=True)
    bad.write_text("def f():\n    from ..adapters import journal\n    from .. import guest\n", "utf-8")
    (tmp_path / "bitten" / "guest").mkdir()
    monkeypatch.setattr(f"{__name__}.SRC", tmp_path)
    assert imported(bad) == ["bitten.adapters", "bitten.guest"]
