"""Failures that are no call with arguments: imports, syntax, what can't be pickled. Runs nothing."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from .boundary import Boundary
from .people import People
from .program import Program

_LOCAL = re.compile(r"[Ll]ocal object '?<?(?:function )?(?:[\w.]+\.)?(\w+)\.<locals>\.(<lambda>|\w+)")
_LAMBDA = re.compile(r"<function (<lambda>) at")


def kinds(boundary: Boundary, people: People) -> Iterator[Program]:
    yield from _syntax(boundary, people)
    yield from _imports(boundary, people)
    yield from _pickled(boundary)


def _syntax(boundary: Boundary, people: People) -> Iterator[Program]:
    """The line that is no Python, with as few around it as show the same."""
    if boundary.syntax is None:
        return
    file, line = boundary.syntax
    lines = people.source(file).text.splitlines()
    for above, below in ((0, 0), (1, 0), (0, 1), (1, 1), (3, 0), (3, 2), (6, 2)):
        part = lines[max(0, line - 1 - above) : line + below]
        yield Program(body=tuple(_dedented(part)))


def _dedented(lines: list[str]) -> list[str]:
    least = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    return [line[least:] for line in lines]


def _imports(boundary: Boundary, people: People) -> Iterator[Program]:
    """The import that failed: by itself, and with the person's folder in front of the libraries."""
    for frame in boundary.own:
        source = people.source(frame.file)
        statement = source.statement(frame.line)
        if isinstance(statement, ast.Import) or (isinstance(statement, ast.ImportFrom) and not statement.level):
            text = ast.unparse(statement)
            yield Program(body=(text,), fresh=True)
            if _is_quiet(statement, frame.file, people):
                yield Program(body=(text,), path=str(Path(frame.file).parent), fresh=True)


def _is_quiet(statement: ast.Import | ast.ImportFrom, file: str, people: People) -> bool:
    """Whether the module that it names, where that is the person's, does nothing but define."""
    names = [statement.module or ""] if isinstance(statement, ast.ImportFrom) else [each.name for each in statement.names]
    for name in names:
        base = Path(file).parent.joinpath(*name.split("."))
        for each in (base.with_suffix(".py"), base / "__init__.py"):
            if each.is_file() and people.source(str(each)).text.strip() and not people.source(str(each)).is_quiet:
                return False
    return True


def _pickled(boundary: Boundary) -> Iterator[Program]:
    """What a worker can't be sent: a function made inside another."""
    told = "It sends the object alone, without the worker that it was meant for."
    found = _LOCAL.search(boundary.message)
    if found:
        outer, inner = found.groups()
        made = "return lambda x: x" if inner == "<lambda>" else f"def {inner}(x): return x"
        back = () if inner == "<lambda>" else (f"    return {inner}",)
        yield Program(("import pickle",), (), (f"def {outer}():", f"    {made}", *back, f"pickle.dumps({outer}())"), loose=True, about=told)
    elif _LAMBDA.search(boundary.message):
        yield Program(("import pickle",), (), ("pickle.dumps(lambda x: x)",), loose=True, about=told)
