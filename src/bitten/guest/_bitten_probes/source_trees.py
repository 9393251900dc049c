"""The program's own modules as syntax trees, read once a question is asked of them. Runs none of their code, and knows no fact.

What was typed at a prompt, or came by `exec`, has no file to read.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ast
    from collections.abc import Iterator
    from types import CodeType
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]
frames: Any = hook.load("_bitten_frames")

MOST = 200
LONGEST = 500_000
_trees: dict[str, Any] = {}


def files() -> list[str]:
    """The files of the modules that the program itself brought."""
    given = [getattr(module, "__file__", None) for module in list(sys.modules.values())] + sys.argv[:1]
    own = [file for file in given if type(file) is str and file.endswith(".py") and not frames.is_library(file)]
    return list(dict.fromkeys(map(frames.absolute, own)))[:MOST]


def tree(file: str) -> ast.Module | None:
    if file not in _trees:
        _trees[file] = _read(file)
    found: ast.Module | None = _trees[file]
    return found


def _read(file: str) -> Any:
    import ast  # noqa: PLC0415 - only where something is asked

    was = hook.set_busy(True)  # an open of ours is no news
    try:
        with open(file, "rb") as source:  # noqa: PTH123 - pathlib imports half the library
            text = source.read(LONGEST)
        return ast.parse(text)
    except (OSError, SyntaxError, ValueError, RecursionError):
        return None
    finally:
        hook.set_busy(was)


def scopes(file: str) -> Iterator[tuple[str, list[ast.AST]]]:
    """Each function of a file with all nodes in it that belong to no inner one, in their order; the module itself is `<module>`."""
    whole = tree(file)
    if whole is not None:
        yield from _scopes(whole, "<module>", "")


def _scopes(node: Any, name: str, inside: str) -> Iterator[tuple[str, list[ast.AST]]]:
    own: list[ast.AST] = []
    inner: list[tuple[Any, str]] = []
    _sort(node, inside, own, inner)
    yield name, own
    for each, prefix in inner:
        yield from _scopes(each, prefix + each.name, f"{prefix}{each.name}.<locals>.")


def _sort(node: Any, prefix: str, own: list[Any], inner: list[tuple[Any, str]]) -> None:
    import ast  # noqa: PLC0415 - as above

    for each in ast.iter_child_nodes(node):
        if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef)):
            inner.append((each, prefix))
        else:
            own.append(each)
            _sort(each, f"{prefix}{each.name}." if isinstance(each, ast.ClassDef) else prefix, own, inner)


def place(file: str, line: int, name: str) -> tuple[str, str]:
    return f"{file}:{line}", f"{file}:{name}"


def of_code(code: CodeType, name: str = "") -> tuple[str, str]:
    """Where a function of the person's own begins; two empty texts for anybody else's."""
    if frames.is_library(code.co_filename):
        return "", ""
    return place(frames.absolute(code.co_filename), code.co_firstlineno, name or getattr(code, "co_qualname", code.co_name))


def of_method(thing: Any, method: str) -> tuple[str, str]:
    """Where the class of this thing defines a method, if that is the person's own."""
    for kind in type(thing).__mro__:
        found = kind.__dict__.get(method)
        code = getattr(getattr(found, "__func__", found), "__code__", None)
        if code is not None:
            return of_code(code, f"{kind.__qualname__}.{method}")
    return "", ""


def stored(thing: Any, attribute: str) -> tuple[str, str]:
    """The line of the person's own that gives this object that attribute: the first `self.NAME = …` in its class, or in `__init__`."""
    for kind in type(thing).__mro__:
        for name, found in sorted(kind.__dict__.items(), key=lambda item: item[0] != "__init__"):
            code = getattr(found, "__code__", None)
            if code is not None and attribute in code.co_names and not frames.is_library(code.co_filename):
                line = _storing(code, attribute)
                if line:
                    return place(frames.absolute(code.co_filename), line, f"{kind.__qualname__}.{name}")
    return "", ""


def _storing(code: CodeType, attribute: str) -> int:
    import dis  # noqa: PLC0415 - as above

    starts = dict(dis.findlinestarts(code))
    line = code.co_firstlineno
    for step in dis.get_instructions(code):
        line = starts.get(step.offset) or line
        if step.opname == "STORE_ATTR" and step.argval == attribute:
            return line
    return 0


def assigned(file: str, variable: str) -> tuple[str, str]:
    """The line of a module that gives a global its value."""
    import ast  # noqa: PLC0415 - as above

    module = next((nodes for name, nodes in scopes(file) if name == "<module>"), [])
    for node in module:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        if any(isinstance(target, ast.Name) and target.id == variable for target in targets):
            return place(file, int(getattr(node, "lineno", 0)), "<module>")
    return "", ""
