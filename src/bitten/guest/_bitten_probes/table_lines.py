"""Where in the person's own code a number may have stopped being finite: what numpy warned of there, and what the source divides.

Part of the instrument `tables`. Reads what Python keeps of warnings in each module, and the source of those that are loaded.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]
frames: Any = hook.load("_bitten_frames")

WORDS = ("divide by zero", "invalid value", "overflow encountered", "Mean of empty slice", "Degrees of freedom")
RISKY = ("log", "log2", "log10", "sqrt", "divide", "true_divide", "arccos", "arcsin", "pct_change", "std")
MOST = 60


def own_modules() -> list[tuple[str, Any]]:
    """(file, module) of the person's own."""
    found = []
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None) if type(module) is type(sys) else None
        if isinstance(file, str) and file.endswith(".py") and not frames.is_library(file):
            found.append((frames.absolute(file), module))
    return found[:MOST]


def warned() -> list[str]:
    """`file:line` of each of the person's lines of which numpy warned, once a line, in the order of the files."""
    found = []
    for file, module in own_modules():
        kept = vars(module).get("__warningregistry__")
        for key in list(kept) if type(kept) is dict else ():
            if type(key) is tuple and len(key) == 3 and any(word in str(key[0]) for word in WORDS):
                found.append(f"{file}:{key[2]}")
    return found


def dividing(files: list[str] | None = None) -> list[str]:
    """`file:line` of statements that may make NaN or infinity of finite numbers."""
    return [f"{file}:{node.lineno}" for file, node in _nodes(files) if _is_risky(node)]


_chained: list[list[str]] = []


def chained() -> list[str]:
    """`file:line` of `table[column].fillna(…, inplace=True)`, which under copy-on-write fills a copy. Read once."""
    if not _chained:
        _chained.append([f"{file}:{node.lineno}" for file, node in _nodes(None) if _is_chained(node)])
    return _chained[0]


def _nodes(files: list[str] | None) -> Any:
    import ast  # noqa: PLC0415 - only where something was found

    for file in files if files is not None else [each for each, _ in own_modules()]:
        try:
            with open(file, "rb") as opened:  # noqa: PTH123 - pathlib is no part of the guest
                tree = ast.parse(opened.read(1_000_000))
        except (OSError, SyntaxError, ValueError):
            continue
        for node in ast.walk(tree):
            if hasattr(node, "lineno"):
                yield file, node


def _is_risky(node: Any) -> bool:
    kind = type(node).__name__
    if kind in ("BinOp", "AugAssign"):
        return type(node.op).__name__ == "Div" and not _is_number(getattr(node, "right", getattr(node, "value", None)))
    return kind == "Call" and getattr(node.func, "attr", "") in RISKY[:-1]


def _is_number(node: Any) -> bool:
    return type(node).__name__ == "Constant" and node.value != 0


def _is_chained(node: Any) -> bool:
    if type(node).__name__ != "Call" or type(node.func).__name__ != "Attribute" or type(node.func.value).__name__ != "Subscript":
        return False
    is_inplace = any(each.arg == "inplace" and getattr(each.value, "value", False) is True for each in node.keywords)
    return is_inplace and node.func.attr in ("fillna", "replace", "clip", "interpolate", "ffill", "bfill", "where", "mask", "dropna")
