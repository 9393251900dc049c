"""What a change touches: blank out the functions of both versions, and compare what remains. Knows no path but as a name to print.

Limits: a change at module level, imports among it, counts to the whole file; so does a file that is new, gone, no Python,
or can't be parsed, and a change that only moves functions around.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

import libcst as cst
from libcst import ClassDef, EmptyLine, FunctionDef, RemovalSentinel

PYTHON = (".py", ".pyi", ".pyw")

Name = tuple[str, ...]


@dataclass
class Units:
    """The code of each function and class by its qualified name, what lies within it left out; by () the module's own.

    A name can be bound more than once (overloads, setters, a definition for each platform), so each has a list.
    """

    code: dict[Name, list[str]] = field(default_factory=dict)
    functions: set[Name] = field(default_factory=set)


def touched(path: str, old: bytes | None, new: bytes | None) -> tuple[str, ...]:
    """`FILE:NAME` for each innermost function or class whose own code differs, `FILE` where none holds the change."""
    if old == new:
        return ()
    before, after = (units(source) if path.endswith(PYTHON) else None for source in (old, new))
    if before is None or after is None:
        return (path,)
    names = sorted(name for name in {**after.code, **before.code} if before.code.get(name) != after.code.get(name))
    return tuple(f"{path}:{'.'.join(name)}" if name else path for name in names) or (path,)


def units(source: bytes | None) -> Units | None:
    """None where there is no source, or it can't be parsed."""
    if source is None:
        return None
    try:
        module = cst.parse_module(source)
    except (cst.ParserSyntaxError, SyntaxError, UnicodeError, RecursionError):
        return None
    peeler = _Peeler(module)
    peeler.found.code[()] = [_without_blank_lines(module.visit(peeler).code)]
    return peeler.found


class _Peeler(cst.CSTTransformer):
    """Takes functions and classes out from the inside, and keeps the code of each."""

    def __init__(self, module: cst.Module) -> None:
        super().__init__()
        self.found = Units()
        self._module = module
        self._path: list[str] = []

    def visit_FunctionDef(self, node: FunctionDef) -> None:  # noqa: N802 - libcst finds it by this name
        self._path.append(node.name.value)

    def visit_ClassDef(self, node: ClassDef) -> None:  # noqa: N802 - libcst finds it by this name
        self._path.append(node.name.value)

    def leave_FunctionDef(self, original_node: FunctionDef, updated_node: FunctionDef) -> RemovalSentinel:  # noqa: N802 - libcst finds it by this name
        self.found.functions.add(tuple(self._path))
        return self._take_out(self._code(updated_node))

    def leave_ClassDef(self, original_node: ClassDef, updated_node: ClassDef) -> RemovalSentinel:  # noqa: N802 - libcst finds it by this name
        return self._take_out(_without_blank_lines(self._code(updated_node)))

    def _take_out(self, code: str) -> RemovalSentinel:
        self.found.code.setdefault(tuple(self._path), []).append(code)
        self._path.pop()
        return RemovalSentinel.REMOVE

    def _code(self, node: FunctionDef | ClassDef) -> str:
        comments: list[EmptyLine] = [line for line in node.leading_lines if line.comment]
        return self._module.code_for_node(node.with_changes(leading_lines=comments))


def _without_blank_lines(code: str) -> str:
    """Blank lines between definitions belong to nobody."""
    return "\n".join(line.rstrip() for line in code.splitlines() if line.strip())


def function_at(path: str, source: bytes, line: int) -> str:
    """`FILE:NAME` of the innermost function at a line, else of the class, else `FILE`."""
    try:
        tree = ast.parse(source)  # by ast, which knows lines without a second pass over the tree
    except (SyntaxError, ValueError, RecursionError):
        return path
    name = ".".join(_names_around(tree, line))
    return f"{path}:{name}" if name else path


def _names_around(node: ast.AST, line: int) -> Iterator[str]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            first = min((child.lineno, *(decorator.lineno for decorator in child.decorator_list)))
            if first <= line <= (child.end_lineno or first):
                yield child.name
                yield from _names_around(child, line)
        else:
            yield from _names_around(child, line)
