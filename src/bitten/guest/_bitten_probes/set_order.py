"""Class names numbered in the order of a set: it hangs on the hash seed, so weights from another process mean other classes.

Three facts must meet: the program takes an order from a set (its syntax trees say where), strings stand in that very order in its
variables while a module is called, and weights were loaded that neither came from this process nor brought the names with them. Where
weights are only saved it is a hint. A numbering that is written to a text file is not seen to be saved.
"""

from __future__ import annotations

import sys
from time import perf_counter

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ast
    from collections.abc import Iterator
    from types import FrameType
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]
bus: Any = hook.load("_bitten_probes.bus")
report: Any = hook.load("_bitten_probes.report")
frames: Any = hook.load("_bitten_frames")
trees: Any = hook.load("_bitten_probes.source_trees")

FEWEST, MOST = 3, 20_000
SECONDS = 1.0
"""What a process spends on what it parses and writes."""
LOOKS = 4
"""Calls of outermost modules after a load at which variables are looked through."""


class Seen:
    """What was loaded, saved and found so far."""

    loaded: list[str] = []  # noqa: RUF012 - one a process
    saved: list[str] = []  # noqa: RUF012 - as above
    kept: set[str] = set()  # noqa: RUF012 - names whose order came out of a file, or went into one
    looks = 0
    spent = 0.0
    names: tuple[str, ...] = ()
    is_met = False
    """Whether a module with as many classes, features or rows was called beside them."""


def forked() -> None:
    Seen.loaded, Seen.saved, Seen.kept, Seen.looks, Seen.names, Seen.is_met = [], [], set(), 0, (), False
    Seen.spent = 0.0


# ---------------------------------------------------------------------------------------------- looking


def before_load(args: Any, kwargs: Any) -> None:
    file = _file(args, kwargs, 0)
    if file not in Seen.saved and len(Seen.loaded) < 16 and report.here()[0]:
        Seen.loaded.append(file)
        Seen.looks = LOOKS


def after_load(kept: Any, args: Any, kwargs: Any, out: Any) -> None:
    _keep(out)


def before_save(args: Any, kwargs: Any) -> None:
    _keep(args[0] if args else kwargs.get("obj"))
    Seen.saved.append(_file(args, kwargs, 1))
    del Seen.saved[:-64]
    if not Seen.names and len(Seen.saved) == 1:
        _look(set())


def before_dump(args: Any, kwargs: Any) -> None:
    _keep_little(args[0] if args else None)


def after_parse(kept: Any, args: Any, kwargs: Any, out: Any) -> None:
    _keep_little(out)


def _keep_little(value: Any) -> None:
    """A program may parse millions of lines: once its seconds are spent nobody knows what files brought, and nothing is told."""
    if Seen.spent < SECONDS:
        start = perf_counter()
        _keep(value, 50)
        Seen.spent += perf_counter() - start


def called(module: Any, args: Any) -> None:
    if Seen.looks and not Seen.is_met:
        Seen.looks -= 1
        _look({size for each in list(module.parameters())[:1000] for size in each.shape[:2]})


def _file(args: Any, kwargs: Any, at: int) -> str:
    given = args[at] if len(args) > at else kwargs.get("f", "")
    return str(given) if isinstance(given, str) or hasattr(given, "__fspath__") else f"object {id(given)}"


def _keep(value: Any, most: int = 500) -> None:
    """Note names that a file holds in an order: a list of distinct strings, or a dict from or to whole numbers.

    A program may parse a million lines of JSON: of each only the outermost things are looked at.
    """
    waiting = [value]
    for _ in range(most):
        if not waiting or len(Seen.kept) >= MOST:
            return
        each = waiting.pop()
        names = _names(each)
        if names:
            Seen.kept.update(names)
        elif isinstance(each, dict):
            waiting.extend(list(each.values())[:500])
        elif type(each) in (list, tuple):
            waiting.extend(each[:500])
        elif hasattr(each, "classes_"):  # what scikit-learn numbers labels by
            waiting.append(getattr(each.classes_, "tolist", list)())


def _names(value: Any) -> list[str]:
    """The strings that a value brings in an order, if that is what it does."""
    if type(value) in (list, tuple):
        names: list[Any] = list(value[: MOST + 1])
    elif isinstance(value, dict) and value and all(type(each) is int for each in value.values()):
        names = list(value)
    elif isinstance(value, dict) and value and all(type(each) is int or str(each).isdigit() for each in value):
        names = list(value.values())
    else:
        return []
    is_order = FEWEST <= len(names) <= MOST and all(type(each) is str for each in names) and len(set(names)) == len(names)
    return names if is_order else []


def _look(sizes: set[int]) -> None:
    """Through the variables of the person's own frames."""
    frame: FrameType | None = sys._getframe(1)
    for _ in range(60):
        if frame is None or Seen.is_met:
            return
        if not frames.is_ours(frame.f_code) and not frames.is_library(frame.f_code.co_filename):
            variables = frames.variables_of(frame)
            for value in list(variables.values())[:100]:
                _consider(value, sizes, 2)
            value = None
            frames.forget(frame, variables)
        frame = frame.f_back


def _consider(value: Any, sizes: set[int], depth: int) -> None:
    """A list of strings, or a dict that numbers strings, in a set's order."""
    names = _names(value)
    if names:
        if names != sorted(names) and _is_set_order(names):
            spare = 8 if isinstance(value, dict) else 0  # a vocabulary has marks of its own
            is_met = any(len(names) <= size <= len(names) + spare for size in sizes)
            if is_met or not Seen.names:
                Seen.names, Seen.is_met = tuple(names), is_met
    elif depth and type(value).__module__ in sys.modules and not _is_library(type(value).__module__):
        for each in list(getattr(value, "__dict__", {}).values())[:50]:
            _consider(each, sizes, depth - 1)


def _is_set_order(names: list[str]) -> bool:
    """Whether a set of these gives this order, but for a few that hash to another's place: those hang on which came first."""
    fresh = list(set(names))
    if fresh == names:
        return True
    if len(names) < 8:
        return any(list(set(names[:at] + names[at + 1 :] + [names[at]])) == names for at in range(len(names)))
    after = set(zip(fresh, fresh[1:]))  # noqa: RUF007 - pairwise is of Python 3.10
    alike = sum(pair in after for pair in zip(names, names[1:]))  # noqa: RUF007 - as above
    return alike >= min(len(names) - 4, 0.8 * (len(names) - 1))


def _is_library(module: str) -> bool:
    file = getattr(sys.modules[module], "__file__", None)
    return type(file) is not str or bool(frames.is_library(file))


# ---------------------------------------------------------------------------------------------- judging


def conclude() -> dict[str, Any]:
    """Say at the end what hangs on the hash seed. Returns the facts for the summary."""
    is_random = bool(sys.flags.hash_randomization)
    if is_random and Seen.spent < SECONDS and Seen.names and not Seen.kept.intersection(Seen.names):
        places = list(_places())
        if places:
            _tell(places)
    return {"seeds.hash_is_random": is_random}


def _tell(places: list[tuple[str, str]]) -> None:
    facts = {"seeds.names_in_set_order": list(Seen.names[:5]), "seeds.names": len(Seen.names), "also": [each[0] for each in places[1:6]]}
    says = f"{len(Seen.names)} names ({', '.join(Seen.names[:5])} …) stand in the order of a set, which hangs on this process's hash seed, "
    if Seen.is_met and Seen.loaded and not bus.Now.step:
        says += f"while the weights come from another process ({Seen.loaded[0][-80:]}) and no file brought its order: "
        says += "an index means another name."
        report.finding("seeds", "set order", says, facts, places[0])
    elif Seen.loaded or Seen.saved:
        says += "and go into no file beside the weights: another process may number them otherwise."
        report.hint("seeds", "set order", says, facts, places[0])


def _places() -> Iterator[tuple[str, str]]:
    """Lines of the program's own that take an order from a set."""
    for file in trees.files():
        for name, nodes in trees.scopes(file):
            sets = _set_variables(nodes)
            is_sorted = _sorted_later(nodes)
            for node in nodes:
                if _takes_order(node, sets) and not is_sorted & _targets(node, nodes):
                    yield trees.place(file, int(getattr(node, "lineno", 0)), name)


def _set_variables(nodes: list[ast.AST]) -> set[str]:
    import ast  # noqa: PLC0415 - only where something is asked

    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            (found.add if _is_set(node.value, found) else found.discard)(node.targets[0].id)
    return found


def _is_set(node: Any, known: set[str]) -> bool:
    import ast  # noqa: PLC0415 - as above

    if isinstance(node, (ast.Set, ast.SetComp)):
        return True
    if isinstance(node, ast.Name):
        return node.id in known
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Sub, ast.BitOr, ast.BitAnd, ast.BitXor)):
        return _is_set(node.left, known)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr in ("union", "intersection", "difference", "symmetric_difference") and _is_set(node.func.value, known)
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("set", "frozenset")


def _takes_order(node: Any, sets: set[str]) -> bool:
    """`list(a set)`, `tuple`, `enumerate`, `zip`, a starred one in a list, or a loop in a list or dict over it."""
    import ast  # noqa: PLC0415 - as above

    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("list", "tuple", "enumerate", "zip"):
        return any(_is_set(each, sets) for each in node.args)
    if isinstance(node, (ast.ListComp, ast.DictComp)):
        return _is_set(node.generators[0].iter, sets)
    if isinstance(node, (ast.List, ast.Tuple)):
        return any(isinstance(each, ast.Starred) and _is_set(each.value, sets) for each in node.elts)
    return isinstance(node, ast.For) and _is_set(node.iter, sets)


def _sorted_later(nodes: list[ast.AST]) -> set[str]:
    """Names of variables that this function sorts, in place or by `sorted`."""
    import ast  # noqa: PLC0415 - as above

    found = set()
    for node in nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "sort":
            found.add(getattr(node.func.value, "id", ""))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "sorted":
            found.update(str(each.id) for each in ast.walk(node) if isinstance(each, ast.Name))
            found.update(_where(each) for each in ast.walk(node) if hasattr(each, "lineno"))
    return found


def _targets(node: Any, nodes: list[ast.AST]) -> set[str]:
    """What an expression is assigned to, and where it stands."""
    import ast  # noqa: PLC0415 - as above

    found = {_where(node)}
    for each in nodes:
        if isinstance(each, ast.Assign) and any(part is node for part in ast.walk(each.value)):
            found.update(target.id for target in each.targets if isinstance(target, ast.Name))
    return found


def _where(node: Any) -> str:
    return f"line {node.lineno}.{node.col_offset}"
