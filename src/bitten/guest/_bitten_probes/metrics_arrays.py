"""A threshold on an array of raw scores leaves no call to see: that the scores left for an array is seen, the rest is read in the source.

Followed are the names of one function, from the line that made the array on. Arithmetic ends it, and so does any call that may change
numbers.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ast
    from collections.abc import Iterator
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]
frames: Any = hook.load("_bitten_frames")

LEAVES = ("numpy", "tolist", "item")
SAME = frozenset((
    *LEAVES, "detach", "cpu", "squeeze", "unsqueeze", "flatten", "ravel", "reshape", "view", "copy", "astype", "float", "list", "array",
    "asarray", "concatenate", "concat", "cat", "stack", "hstack", "vstack", "append", "extend",
))  # fmt: skip
"""Calls that leave the numbers as they are; any other may make probabilities of scores."""
MOST_SOURCE = 500_000


def threshold_in(file: str, line: int) -> tuple[int, float] | None:
    """The line and value of the one threshold between 0 and 1 that scores made an array on `line` meet; None where none or several do."""
    import ast  # noqa: PLC0415 - only for scores that are suspected

    try:
        with open(frames.absolute(file), encoding="utf-8") as source:  # noqa: PTH123 - pathlib imports half the library
            tree = ast.parse(source.read(MOST_SOURCE))
    except (OSError, SyntaxError, ValueError):
        return None
    found = set(_thresholds(ast, _function(ast, tree, line), line))
    return found.pop() if len(found) == 1 else None


def _function(ast: Any, tree: ast.AST, line: int) -> ast.AST:
    """The innermost function around the line, or the whole module."""
    around = [each for each in ast.walk(tree) if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef)) and
              each.lineno <= line <= (each.end_lineno or 0)]  # fmt: skip
    return max(around, key=lambda each: each.lineno, default=tree)


def _thresholds(ast: Any, body: Any, line: int) -> Iterator[tuple[int, float]]:
    names: set[str] = set()
    nodes = [each for each in ast.walk(body) if getattr(each, "lineno", 0)]
    for node in sorted(nodes, key=lambda each: (each.lineno, each.col_offset)):
        if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
            targets = [each.id for target in getattr(node, "targets", [getattr(node, "target", None)]) for each in ast.walk(target)
                       if isinstance(each, ast.Name)]  # fmt: skip
            names = names | set(targets) if _has_scores(ast, node.value, names, line) else names - set(targets)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("append", "extend"):
            if isinstance(node.func.value, ast.Name) and any(_has_scores(ast, each, names, line) for each in node.args):
                names = names | {node.func.value.id}
        elif isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], (ast.Gt, ast.GtE, ast.Lt, ast.LtE)):
            for one, other in ((node.left, node.comparators[0]), (node.comparators[0], node.left)):
                value = getattr(other, "value", None)
                if type(value) is float and 0 < value < 1 and _has_scores(ast, one, names, line):
                    yield node.lineno, value


def _has_scores(ast: Any, expression: Any, names: set[str], line: int) -> bool:
    """Whether the scores are in it as they are: by a known name, or because they become an array in it."""
    if isinstance(expression, ast.Name):
        return expression.id in names
    if isinstance(expression, ast.Call):
        name, function = _name(ast, expression.func), expression.func
        if name in LEAVES and expression.lineno <= line <= (expression.end_lineno or 0):
            return True
        parts = [*expression.args, *([function.value] if isinstance(function, ast.Attribute) else [])] if name in SAME else []
    elif isinstance(expression, (ast.List, ast.Tuple)):
        parts = expression.elts
    elif isinstance(expression, (ast.ListComp, ast.GeneratorExp)):
        parts = [expression.elt]
    else:  # of arithmetic come other numbers
        parts = [expression.value] if isinstance(expression, (ast.Subscript, ast.Attribute, ast.Starred)) else []
    return any(_has_scores(ast, each, names, line) for each in parts)


def _name(ast: Any, function: Any) -> str:
    return str(function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", ""))
