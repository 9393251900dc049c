"""The person's own source files, read only: what they import, define and do at import. Runs nothing of them."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from .program import Cant, Needs

SHORT = 4
"""Lines of a definition that is copied; a longer one is imported."""
QUIET = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Pass)
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass
class Source:
    """One file of the person's."""

    path: str

    @cached_property
    def text(self) -> str:
        try:
            return Path(self.path).read_text("utf-8")
        except (OSError, ValueError):
            return ""

    @cached_property
    def tree(self) -> ast.Module:
        try:
            return ast.parse(self.text)
        except SyntaxError:
            return ast.Module([], [])

    def line(self, number: int) -> str:
        lines = self.text.splitlines()
        return lines[number - 1] if 0 < number <= len(lines) else ""

    def imports(self, name: str) -> str:
        """The person's own import of a name, as a line of its own; empty when there is none."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import | ast.ImportFrom) and not (isinstance(node, ast.ImportFrom) and node.level):
                for each in node.names:
                    if (each.asname or each.name.split(".")[0]) == name and each.name != "*":
                        return ast.unparse(_alone(node, each))
        return ""

    def definition(self, qualname: str) -> ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | None:
        """At the top, or a method at the top of a class."""
        body: list[ast.stmt] = self.tree.body
        found = None
        for name in qualname.split("."):
            found = next((node for node in body if isinstance(node, Function | ast.ClassDef) and node.name == name), None)
            if found is None:
                return None
            body = found.body
        return found

    def function_at(self, first: int, name: str) -> Function | None:
        """The function whose code begins on a line; a decorator's line counts."""
        for node in ast.walk(self.tree):
            if isinstance(node, Function) and node.name == name:
                begins = {node.lineno, *(each.lineno for each in node.decorator_list)}
                if first in begins:
                    return node
        return None

    def statement(self, line: int) -> ast.stmt | None:
        """The innermost statement that has a line, compound ones by their heads."""
        found = None
        for node in ast.walk(self.tree):
            if isinstance(node, ast.stmt) and node.lineno <= line <= (_head_end(node) or node.lineno):
                found = node if found is None or node.lineno >= found.lineno else found
        return found

    def parents(self, wanted: ast.AST) -> list[ast.AST]:
        """What holds a node, outermost first."""
        return _path(self.tree, wanted) or []

    @cached_property
    def is_quiet(self) -> bool:
        """Whether its import does nothing but define."""
        return bool(self.tree.body) and all(map(_is_quiet, self.tree.body))


def _alone(node: ast.Import | ast.ImportFrom, alias: ast.alias) -> ast.stmt:
    return ast.Import([alias]) if isinstance(node, ast.Import) else ast.ImportFrom(node.module, [alias], 0)


def _head_end(node: ast.stmt) -> int | None:
    body = getattr(node, "body", None)
    return max(node.lineno, body[0].lineno - 1) if body else node.end_lineno


def _path(node: ast.AST, wanted: ast.AST) -> list[ast.AST] | None:
    if node is wanted:
        return []
    for child in ast.iter_child_nodes(node):
        below = _path(child, wanted)
        if below is not None:
            return [node, *below]
    return None


def _is_quiet(node: ast.stmt) -> bool:
    if isinstance(node, ast.If):
        return any(word in ast.unparse(node.test) for word in ("__name__", "TYPE_CHECKING"))
    if isinstance(node, ast.Assign | ast.AnnAssign):
        return not any(isinstance(each, ast.Call) and not _is_plain(each) for each in ast.walk(node))
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant) or (isinstance(node.value, ast.Call) and "filter" in ast.unparse(node.value.func))
    return isinstance(node, QUIET)


HARMFUL = ("open", "exec", "eval", "input", "print", "__import__")
HARMLESS = ("getLogger", "compile", "namedtuple", "partial", "device", "dirname", "abspath", "join", "resolve")


def _is_plain(call: ast.Call) -> bool:
    """A call that only makes a value: of a builtin, of a class by its capital, or of a few that are known."""
    name = ast.unparse(call.func).rpartition(".")[2]
    return name not in HARMFUL and (hasattr(builtins, name) or name[:1].isupper() or name in HARMLESS)


@dataclass
class People:
    """What the person wrote. `copies`: what is short and stands alone is copied, and not imported.

    `kept` are the files that real arguments were kept in, as they asked, by the arguments' names.
    """

    copies: bool = True
    kept: Mapping[str, Path] = field(default_factory=dict)
    _sources: dict[str, Source] = field(default_factory=dict)

    def source(self, file: str) -> Source:
        return self._sources.setdefault(file, Source(file))

    def bring(self, module: str, qualname: str, file: str, needs: Needs) -> str:
        """Make a function or class of theirs known to a program: copied when short, else imported. Returns its name.

        Raises: Cant, for one that is not at the top of a module whose import does nothing else.
        """
        source = self.source(file)
        found = source.definition(qualname)
        if found is None or "." in qualname:
            raise Cant(f"{qualname} is no function or class at the top of its module")
        if self.copies and (found.end_lineno or 0) - found.lineno < SHORT and self._stands_alone(found, source, needs):
            needs.define(_plain(found))
            return qualname
        if not source.is_quiet:
            raise Cant(f"the import of {Path(file).name} does more than define")
        folder, name = home_of(module, file)
        needs.find_in(folder)
        needs.add(f"from {name} import {qualname}")
        return qualname

    def _stands_alone(self, found: ast.AST, source: Source, needs: Needs) -> bool:
        """Whether its free names are libraries'; those are imported then."""
        lines = [source.imports(name) for name in sorted(free_names(found)) if not hasattr(builtins, name)]
        known = [line for line in lines if line and not self.is_theirs(line, source.path)]
        if len(known) != len(lines):
            return False
        for line in known:
            needs.add(line)
        return True

    def is_theirs(self, line: str, file: str) -> bool:
        """Whether an import line names a module that lies beside the file, or above it."""
        node = ast.parse(line).body[0]
        name = node.module if isinstance(node, ast.ImportFrom) else node.names[0].name if isinstance(node, ast.Import) else ""
        first = (name or "").split(".")[0]
        folders = [*Path(file).parents][:4]
        return any((folder / f"{first}.py").is_file() or (folder / first / "__init__.py").is_file() for folder in folders)


def home_of(module: str, file: str) -> tuple[str, str]:
    """The folder that a module is imported from, and its whole name."""
    path = Path(file)
    if module in ("", "__main__", "__mp_main__"):
        return str(path.parent), path.stem
    parts = module.split(".")
    up = len(parts) if path.name == "__init__.py" else len(parts) - 1
    return str(path.parents[up] if up < len(path.parents) else path.parent), module


def _plain(node: ast.stmt) -> str:
    """A definition without its words of documentation."""
    copied = ast.parse(ast.unparse(node)).body[0]
    for each in ast.walk(copied):
        body = getattr(each, "body", None)
        if isinstance(each, Function | ast.ClassDef) and isinstance(body, list) and len(body) > 1 and _is_words(body[0]):
            del body[0]
    return ast.unparse(copied)


def _is_words(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def free_names(node: ast.AST) -> set[str]:
    """Names that a piece of code reads and does not bind itself, as far as one look tells."""
    return {each.id for each in _names(node, ast.Load)} - bound_names(node)


def bound_names(node: ast.AST) -> set[str]:
    stored = {each.id for each in _names(node, ast.Store)}
    arguments = {each.arg for each in ast.walk(node) if isinstance(each, ast.arg)}
    defined = {each.name for each in ast.walk(node) if isinstance(each, Function | ast.ClassDef)}
    return stored | arguments | defined | {each.name for each in ast.walk(node) if isinstance(each, ast.ExceptHandler) and each.name}


def _names(node: ast.AST, context: type) -> Iterator[ast.Name]:
    return (each for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, context))
