"""Whether a change of a Python file stays within the named functions: both versions without them are compared. Knows no path.

It counts lines where adapters/scope.py counts syntax, so it is a little stricter there (two statements on a line) and as strict elsewhere;
`bitten verify` decides by syntax. A version of ours that reads less syntax than the project's says that it is not sure.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ast
    from collections.abc import Iterator, Sequence

_LINE = re.compile(r"\r\n|\r|\n")
"""The ends of line that Python knows; str.splitlines knows more."""


class Unsure(Exception):  # noqa: N818 - it says how we stand
    """The old version can't be parsed here: it may be broken, or newer than this Python."""


class Broken(Exception):  # noqa: N818 - it says what the result is
    """The new version can't be parsed, though the old one can."""


def strays(old: str, new: str, names: Sequence[str]) -> str:
    """The first line outside of the named functions that a change adds or takes away; empty where there is none.

    Raises: Unsure, Broken.
    """
    before = _rest(old, names, Unsure)
    after = _rest(new, names, Broken)
    if before == after:
        return ""
    first = next((number for number, pair in enumerate(zip(before, after)) if pair[0] != pair[1]), min(len(before), len(after)))  # noqa: B905 - Python 3.8 has no strict
    return (after[first:first + 1] or before[first:first + 1])[0].strip()


def _rest(text: str, names: Sequence[str], trouble: type[Exception]) -> list[str]:
    """The lines that none of the functions holds, blank ones left out."""
    import ast  # noqa: PLC0415 - only an edit within a function's scope needs it

    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise trouble(str(error)) from None
    lines = _LINE.split(text.lstrip("\ufeff"))
    taken = {number for first, last in _spans(tree, "", frozenset(names)) for number in range(_with_comments(lines, first), last + 1)}
    return [line.rstrip() for number, line in enumerate(lines, 1) if number not in taken and line.strip()]


def _spans(node: ast.AST, above: str, names: frozenset[str]) -> Iterator[tuple[int, int]]:
    import ast  # noqa: PLC0415 - as above

    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            name = above + child.name
            if name in names:
                yield min((child.lineno, *(each.lineno for each in child.decorator_list))), child.end_lineno or child.lineno
            else:
                yield from _spans(child, f"{name}.", names)
        else:
            yield from _spans(child, above, names)


def _with_comments(lines: Sequence[str], first: int) -> int:
    """Comments right above a function are its own."""
    while first > 1 and (not lines[first - 2].strip() or lines[first - 2].lstrip().startswith("#")):
        first -= 1
    return first
