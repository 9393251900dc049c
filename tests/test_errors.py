"""Every error that a user can meet has a slug, a way out, its exit code, and its paragraph in the docs."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from bitten.core import trouble

SRC = Path(__file__).parent.parent / "src"
DOCS = Path(__file__).parent.parent / "docs" / "reference" / "errors.md"
RAISED = {"Refused": 0, "BadInput": 0, "Unable": 0, "gate": 1}
"""Callables that carry a slug, and which argument it is."""
WAY = 3
"""How many arguments after the slug the way out comes."""


def calls():
    """The hook scripts import nothing of ours: a class of theirs that is called alike is none of these."""
    for path in sorted(each for each in SRC.rglob("*.py") if "claude_plugin" not in each.parts):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in RAISED:
                yield path, node


def argument(node, after, name):
    at = RAISED[node.func.id] + after
    return node.args[at] if len(node.args) > at else next((each.value for each in node.keywords if each.arg == name), None)


def slugs_in(node):
    """Each literal slug; a slug chosen between two by a condition counts as both."""
    for each in ast.walk(node) if node is not None else ():
        if isinstance(each, ast.Constant) and isinstance(each.value, str) and re.fullmatch(r"[a-z]+(-[a-z]+)+", each.value):
            yield each.value


def slugs():
    return {"our-fault", *(slug for _, node in calls() for slug in slugs_in(argument(node, 0, "slug"))), *from_tables()}


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


def documented():
    """Each slug with the exit code of its section."""
    code, found = None, {}
    for line in DOCS.read_text("utf-8").splitlines():
        if line.startswith("## "):
            code = int(re.search(r"exit (\d+)", line)[1])
        elif line.startswith("### "):
            found[re.fullmatch(r"### `([a-z-]+)`", line)[1]] = code
    return found


def test_every_slug_has_its_paragraph_and_every_paragraph_its_slug():
    assert set(documented()) == slugs() | {"command-not-executable", "command-not-found"}


def test_every_paragraph_says_something():
    for part in DOCS.read_text("utf-8").split("\n### ")[1:]:
        assert len(part.split("\n", 1)[1].strip()) > 40, part


def test_every_paragraph_stands_below_the_exit_code_that_its_error_has():
    told = documented()
    for path, node in calls():
        name = "Refused" if node.func.id == "gate" else node.func.id
        for slug in slugs_in(argument(node, 0, "slug")):
            assert told[slug] == getattr(trouble, name).exit_code, f"{slug} in {path.name}:{node.lineno}"


def test_every_error_says_what_happened_and_what_to_type():
    """A starred argument brings both from a table of the same form."""
    for path, node in calls():
        if any(isinstance(each, ast.Starred) for each in node.args):
            continue
        what, way = argument(node, 1, "what"), argument(node, WAY, "way")
        where = f"{path.relative_to(SRC)}:{node.lineno}: {ast.unparse(node)[:120]}"
        assert what is not None and not (isinstance(what, ast.Constant) and not what.value), where
        assert way is not None and not (isinstance(way, ast.Constant) and not way.value), f"no way out: {where}"


def test_no_other_class_of_errors_comes_to_the_edge():
    """Whoever adds one adds its section in the docs."""
    assert {each.__name__ for each in trouble.Trouble.__subclasses__()} == {"Refused", "BadInput", "Unable"}
    assert {each.exit_code for each in trouble.Trouble.__subclasses__()} == {2, 3, 4}
