"""Every error that a user can meet has a slug, a way out, and its paragraph in the docs."""

from __future__ import annotations

import ast
import re
from pathlib import Path

SRC = Path(__file__).parent.parent / "src"
DOCS = Path(__file__).parent.parent / "docs" / "reference" / "errors.md"
RAISED = {"Refused": 0, "BadInput": 0, "Unable": 0, "gate": 1}
"""Callables that carry a slug, and which argument it is."""


def calls():
    for path in sorted(SRC.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in RAISED:
                yield path, node


def slugs():
    """Each literal slug; a slug chosen between two by a condition counts as both."""
    found = {"our-fault"}
    for _, node in calls():
        argument = node.args[RAISED[node.func.id]] if len(node.args) > RAISED[node.func.id] else None
        for each in ast.walk(argument) if argument is not None else ():
            if isinstance(each, ast.Constant) and isinstance(each.value, str) and re.fullmatch(r"[a-z]+(-[a-z]+)+", each.value):
                found.add(each.value)
    return found | from_tables()


def from_tables():
    """Slugs that stand in a table or a variable before they are raised."""
    found = set()
    for path in sorted((SRC / "bitten" / "core").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Tuple) and node.elts and isinstance(node.elts[0], ast.Constant):
                value = node.elts[0].value
                if isinstance(value, str) and re.fullmatch(r"[a-z]+(-[a-z]+){2,}", value):
                    found.add(value)
    return found


def test_every_slug_has_its_paragraph_and_every_paragraph_its_slug():
    documented = set(re.findall(r"^### `([a-z-]+)`$", DOCS.read_text("utf-8"), re.M))
    assert documented == slugs() | {"command-not-executable", "command-not-found"}


def test_every_paragraph_says_something():
    for part in DOCS.read_text("utf-8").split("\n### ")[1:]:
        assert len(part.split("\n", 1)[1].strip()) > 40, part
