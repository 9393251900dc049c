"""Names of the person's code, bound in a short program: to values like theirs, imports, or the statements that made them. Runs nothing.

With `history` a value is made by the person's own statements where what was told leaves out how it came: a graph of gradients, an
optimizer, a model of theirs.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .boundary import Frame, Spec
from .people import Function, People, Source, bound_names, free_names
from .program import Cant, Needs, Program
from .writing import Writer

DEEP = 12
IMPORTED = ("mod", "cls", "fn", "bi", "o", "?", "meth")


@dataclass
class Scope:
    """One frame of the person's, with the callers that its arguments come from, innermost first."""

    people: People
    frames: Sequence[Frame]
    history: bool = False
    needs: Needs = field(default_factory=Needs)
    values: dict[str, str] = field(default_factory=dict)
    made: dict[tuple[int, int], str] = field(default_factory=dict)
    looped: list[tuple[int, int]] = field(default_factory=list)

    @property
    def writer(self) -> Writer:
        return Writer(self.people, self.needs)

    def source(self, at: int = 0) -> Source:
        return self.people.source(self.frames[at].file)

    def bind(self, node: ast.AST, before: int, at: int = 0, depth: int = 0) -> None:
        """Bind each free name of a node as it stood before a line. Raises: Cant."""
        if depth > DEEP:
            raise Cant("too long a history")
        for name in sorted(free_names(node)):
            self._bind(name, before, at, depth)

    def _bind(self, name: str, before: int, at: int, depth: int) -> None:
        frame = self.frames[at]
        spec = frame.named(name)
        if name in self.values and self.values[name] in ("", self._key(spec, at)):
            return
        if name in self.values:
            raise Cant(f"{name} means two things")
        if spec is None and hasattr(builtins, name):
            return
        self.values[name] = self._key(spec, at)
        if not self._imports(name, at, spec):
            self._value(name, spec, before, at, depth)

    def _key(self, spec: Spec | None, at: int) -> str:
        return repr(spec) if spec else f"in {at}"

    def _imports(self, name: str, at: int, spec: Spec | None) -> bool:
        """By the person's own import; functions and classes of theirs by a copy, or an import of their module."""
        source = self.source(at)
        line = source.imports(name)
        if line and not self.people.is_theirs(line, source.path) and (spec is None or spec[0] in IMPORTED):
            self.needs.add(line)
            return True
        if spec is None or spec[0] not in ("mod", "cls", "fn", "bi"):
            return False
        text = self.writer.text(spec)
        if text != name:
            if spec[0] == "mod":
                self.needs.imports.remove(f"import {spec[1]}")
                self.needs.add(f"import {spec[1]} as {name}" if name != spec[1] else f"import {spec[1]}")
            else:
                self.made[-1, len(self.made)] = f"{name} = {text}"
        return True

    def _value(self, name: str, spec: Spec | None, before: int, at: int, depth: int) -> None:
        if at == 0 and name in self.people.kept:
            self._kept(name, self.people.kept[name])
            return
        if spec is not None and not (self.history and has_history(spec)):
            try:
                self.made[-1, len(self.made)] = f"{name} = {self.writer.text(spec)}"
                return
            except Cant:
                pass
        if not self._statement(name, before, at, depth) and not self._from_caller(name, spec, at, depth):
            raise Cant(f"{name} can't be made from what is known of it")

    def _kept(self, name: str, file: Path) -> None:
        """A real argument, read from where it was kept."""
        module, said = ("torch", "torch") if file.suffix == ".pt" else ("numpy as np", "np")
        self.needs.add(f"import {module}")
        self.made[-1, len(self.made)] = f"{name} = {said}.load({str(file)!r})[{name!r}]"

    def _statement(self, name: str, before: int, at: int, depth: int) -> bool:
        """The last assignment to it above a line of the same function."""
        function = self._body(at)
        found = None
        for node in ast.walk(function):
            if isinstance(node, ast.Assign | ast.AnnAssign | ast.With) and node.lineno < before and name in bound_names(_head(node)):
                found = node if found is None or node.lineno > found.lineno else found
        if found is None:
            return False
        self._take(found, at, depth)
        for node in ast.walk(function):
            if isinstance(node, ast.stmt) and found.lineno < node.lineno < before and _changes(node, name):
                self._take(node, at, depth)
        return True

    def _take(self, node: ast.stmt, at: int, depth: int) -> None:
        if isinstance(node, ast.With):
            raise Cant("what a with statement gives")
        key = (100 - at, node.lineno)
        if key in self.made:
            return
        self.made[key] = ast.unparse(node)
        for name in bound_names(node):
            self.values.setdefault(name, "")
        self.bind(node, node.lineno, at, depth + 1)

    def _body(self, at: int) -> ast.AST:
        frame, source = self.frames[at], self.source(at)
        return source.function_at(frame.first, frame.function) or source.tree

    def _from_caller(self, name: str, spec: Spec | None, at: int, depth: int) -> bool:
        """An argument: the same object under its name in the caller."""
        if spec is None or at + 1 >= len(self.frames) or name not in self.frames[at].arguments:
            return False
        mine = identity(spec)
        caller = self.frames[at + 1]
        theirs = next((each for each, its in caller.values.items() if mine and identity(its) == mine), "")
        if not theirs:
            return False
        if theirs == name:
            del self.values[name]
        self._bind(theirs, caller.line, at + 1, depth + 1)
        if theirs != name:
            self.made[99 - at, 0] = f"{name} = {theirs}"
        return True

    def program(self, body: Sequence[str], loop: tuple[int, int] | None = None) -> Program:
        """All that was bound, then what fails; statements inside the loop that holds it are repeated with it."""
        lines = [text for _, text in sorted(self.made.items(), key=lambda each: each[0])]
        if loop is None:
            return self.needs.program(_selfless(lines), _selfless(body))
        inside = [text for key, text in sorted(self.made.items()) if key[0] == 100 and loop[0] < key[1] <= loop[1]]
        before = [text for text in lines if text not in inside]
        repeated = ["for _ in range(40):", *("    " + line for text in (*inside, *body) for line in text.splitlines())]
        return self.needs.program(_selfless(before), _selfless(repeated))


def _head(node: ast.stmt) -> ast.AST:
    return ast.Tuple([each.optional_vars for each in node.items if each.optional_vars], ast.Load()) if isinstance(node, ast.With) else node


def _changes(node: ast.stmt, name: str) -> bool:
    """Whether a statement changes a value in its place: `h += 1`, or a method of torch's that ends so, as `h.clamp_(0)`."""
    if isinstance(node, ast.AugAssign):
        return isinstance(node.target, ast.Name) and node.target.id == name
    call = node.value if isinstance(node, ast.Expr) else None
    method = call.func if isinstance(call, ast.Call) else None
    return isinstance(method, ast.Attribute) and method.attr.endswith("_") and ast.unparse(method.value) == name


def has_history(spec: Spec) -> bool:
    """Whether what was told leaves out what made it so."""
    if spec[0] == "t":
        return "fn" in spec[1] or bool(spec[1].get("param"))
    if spec[0] in ("l", "u"):
        return any(map(has_history, spec[1]))
    return spec[0] in ("um", "o", "?")


def identity(spec: Spec) -> object:
    return spec[1].get("id") if spec[0] == "t" else spec[3].get("id") if spec[0] == "m" else spec[4].get("id") if spec[0] == "um" \
        else spec[7] if spec[0] == "o" else None


def _selfless(lines: Sequence[str]) -> list[str]:
    """`self` outside a class is called by another name."""
    renamed = []
    for line in lines:
        tree = ast.parse(line) if "self" in line and not line.startswith((" ", "for ")) else None
        for node in ast.walk(tree) if tree else ():
            if isinstance(node, ast.Name) and node.id == "self":
                node.id = "this"
        renamed.append(ast.unparse(tree) if tree else line)
    return renamed


def enclosing_loop(source: Source, node: ast.AST) -> tuple[int, int] | None:
    """First and last line of the innermost loop around a node, inside its own function."""
    found = None
    for parent in source.parents(node):
        if isinstance(parent, Function):
            found = None
        if isinstance(parent, ast.For | ast.While):
            found = (parent.lineno, parent.end_lineno or parent.lineno)
    return found
