"""The random states that loader workers begin with: equal ones draw equal numbers, and augment every sample alike.

A worker writes to the run's spool how each generator stood when it began a pass, and whether the first two batches drew from it; the
process that trains reads this at its end. Watched are the global generators of random, numpy and torch, and those that a dataset or its
collate function holds, also as globals of their modules. Not seen: generators in closures, and on another machine.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]
bus: Any = hook.load("_bitten_probes.bus")
report: Any = hook.load("_bitten_probes.report")
frames: Any = hook.load("_bitten_frames")
fingerprint: Any = hook.load("_bitten_probes.fingerprint")
served: Any = hook.load("_bitten_probes.served")
trees: Any = hook.load("_bitten_probes.source_trees")
values: Any = hook.load("_bitten_values")

MOST_PASSES = 4
MOST_OBJECTS = 300
MOST_BYTES = 1 << 20
DEEP = 4
GLOBALS = ("random", "numpy.random", "torch")
_passes: dict[int, list[Any]] = {}
"""By the pass's base seed: the loader, where it was made, the optimizer that stepped meanwhile, its worker_init_fn's line,
and its dataset."""


class Worker:
    """What this process is, if it is a loader's worker that is watched."""

    fetched = 0
    earlier: list[int] = []  # noqa: RUF012 - replaced, never changed
    seed = number = 0
    held: list[tuple[str, Any, str, Any]] = []  # noqa: RUF012 - replaced, never changed
    states: list[dict[str, str]] = []  # noqa: RUF012 - as above
    last_pass: list[Any] | None = None


def forked() -> None:
    Worker.earlier, Worker.last_pass = [each[4] for each in _passes.values()], None
    _passes.clear()


# ---------------------------------------------------------------------------------------------- in the process that trains


def batch(iterator: Any, loader: Any, data: Any) -> None:
    if getattr(iterator, "_num_workers", 0) < 1 or loader is None:
        Worker.last_pass = None
        return
    seed = iterator._base_seed
    if seed not in _passes and len(_passes) < 64 and getattr(loader, "_dataset_kind", 1) == 0:
        init = getattr(loader, "worker_init_fn", None)
        code = getattr(getattr(init, "func", init), "__code__", None)
        _passes[seed] = [served.identity(loader), bus.birthplace(loader), None, trees.of_code(code) if code is not None else ("", ""),
                         served.identity(loader.dataset)]
    Worker.last_pass = _passes.get(seed)


def stepped(optimizer: Any, number: int) -> None:
    if Worker.last_pass is not None and Worker.last_pass[2] is None:
        Worker.last_pass[2] = served.identity(optimizer)


# ---------------------------------------------------------------------------------------------- in a worker


def fetcher(kept: Any, args: Any, kwargs: Any, out: Any) -> None:
    """A fetcher was made: in a worker a pass begins, after seeding and the program's worker_init_fn."""
    info = sys.modules["torch"].utils.data.get_worker_info()
    if info is None or out is None or Worker.fetched or Worker.earlier.count(served.identity(out.dataset)) >= MOST_PASSES:
        return
    Worker.seed, Worker.number = info.seed - info.id, info.id
    Worker.held = list(_held(out.dataset, out.collate_fn))
    Worker.states = [_states()]
    bus.wrap("seeds", type(out), "fetch", None, fetched)


def fetched(kept: Any, args: Any, kwargs: Any, out: Any) -> None:
    Worker.fetched += 1
    if Worker.fetched <= 2:
        Worker.states.append(_states())
    if Worker.fetched == 2:
        _write()


def _states() -> dict[str, str]:
    """A digest of each generator's state; reading it draws nothing."""
    found = {name: fingerprint.digest(state()) for name, state in _globals()}
    found.update((path, fingerprint.digest(_state(generator))) for path, _, _, generator in Worker.held)
    return found


def _globals() -> Iterator[tuple[str, Any]]:
    if "random" in sys.modules:
        yield "random", sys.modules["random"].getstate
    if "numpy.random" in sys.modules:
        yield "numpy.random", sys.modules["numpy.random"].get_state
    yield "torch", sys.modules["torch"].get_rng_state


def _state(generator: Any) -> Any:
    for name in ("getstate", "get_state"):
        if hasattr(generator, name):
            return getattr(generator, name)()
    return generator.bit_generator.state


def _held(*roots: Any) -> Iterator[tuple[str, Any, str, Any]]:
    """(path, holder, attribute, generator) for each generator below these objects, and in the modules of the program's own among them."""
    waiting: list[tuple[str, Any, int]] = [(type(root).__name__, root, 0) for root in roots]
    seen: set[int] = set()
    modules: dict[str, Any] = {}
    while waiting and len(seen) < MOST_OBJECTS:
        path, holder, depth = waiting.pop(0)
        if id(holder) in seen:
            continue
        seen.add(id(holder))
        name = getattr(holder if hasattr(holder, "__qualname__") else type(holder), "__module__", None)
        if type(name) is str and name in sys.modules:
            modules[name] = sys.modules[name]
        for attribute, value in _parts(holder):
            if _is_generator(value):
                yield f"{path}.{attribute}", holder, attribute, value
            elif depth < DEEP and (hasattr(value, "__dict__") or type(value) in (list, tuple, dict)) and type(value) is not type(sys):
                waiting.append((f"{path}.{attribute}", value, depth + 1))
    for name, module in modules.items():
        if not frames.is_library(getattr(module, "__file__", None) or "<"):
            yield from ((f"{name}.{each}", module, each, value) for each, value in list(vars(module).items()) if _is_generator(value))


def _parts(holder: Any) -> list[tuple[str, Any]]:
    if type(holder) is dict:
        return [(str(name), value) for name, value in list(holder.items())[:100]]
    if type(holder) in (list, tuple):
        return [(str(at), value) for at, value in enumerate(holder[:100])]
    try:
        own = object.__getattribute__(holder, "__dict__")
    except AttributeError:
        return []
    return [item for item in list(own.items())[:100] if type(item[0]) is str]


def _is_generator(value: Any) -> bool:
    for module, name in (("numpy.random", "Generator"), ("numpy.random", "RandomState"), ("random", "Random"), ("torch", "Generator")):
        kind = values.loaded(module, name)
        if kind is not None and type(value) is kind:
            return True
    return False


def _write() -> None:
    """Tell of the generators that both batches drew from."""
    start, one, two = Worker.states
    drawn = {name: state for name, state in start.items() if state and len({state, one.get(name), two.get(name)}) == 3}
    places = {path: _place(holder, attribute) for path, holder, attribute, _ in Worker.held if path in drawn}
    line = repr((Worker.seed, Worker.number, drawn, places)) + "\n"
    was = hook.set_busy(True)  # an open of ours is no news
    try:
        with open(_file(), "a", encoding="utf-8") as out:  # noqa: PTH123 - pathlib imports half the library
            if out.tell() < MOST_BYTES:
                out.write(line)
    finally:
        hook.set_busy(was)


def _file() -> str:
    return f"{hook.Where.spool}/seeds.workers"


def _place(holder: Any, attribute: str) -> tuple[str, str]:
    """The line that made a generator what the holder holds."""
    if type(holder) is type(sys):
        found: tuple[str, str] = trees.assigned(frames.absolute(holder.__file__ or ""), attribute)
        return found
    found = trees.stored(holder, attribute)
    return found if found[0] else trees.of_method(holder, "__init__")


# ---------------------------------------------------------------------------------------------- judging


def conclude() -> dict[str, Any]:
    """Say at the end which generators began alike. Returns the facts for the summary."""
    told = [each for each in _read() if each[0] in _passes and _passes[each[0]][2] is not None]
    if not told:
        return {}
    names = sorted({name for _, _, drawn, _ in told for name in drawn})
    alike = [name for name in names if _judge(name, [each for each in told if name in each[2]])]
    return {"seeds.generators_copied": len(alike), "seeds.generators_drawn_in_workers": names}


def _read() -> list[Any]:
    import ast  # noqa: PLC0415 - only where workers wrote

    was = hook.set_busy(True)  # as above
    try:
        with open(_file(), encoding="utf-8") as source:  # noqa: PTH123 - as above
            lines = source.read(MOST_BYTES + 10_000).splitlines()
        return [ast.literal_eval(line) for line in lines if line.endswith(")")]
    except (OSError, ValueError, SyntaxError):
        return []
    finally:
        hook.set_busy(was)


def _judge(name: str, told: list[Any]) -> bool:
    """Equal in two workers of one pass, or in two passes of one training: then both draw the same numbers."""
    by_pass: dict[int, dict[int, str]] = {}
    for seed, number, drawn, _ in told:
        by_pass.setdefault(seed, {})[number] = drawn[name]
    workers = max((len(states) for states in by_pass.values() if len(states) > 1 and len(set(states.values())) == 1), default=0)
    passes = _passes_alike(by_pass)
    if (not workers and not passes) or _is_seeded_by_index(name.rpartition(".")[2]):
        return False
    over = [f"{workers} workers of a pass" if workers else "", f"{passes} passes" if passes else ""]
    says = (f"The random generator {name} begins in the same state in {' and in '.join(filter(None, over))}, and samples draw from it: "
            f"they get the same random numbers each time.")  # fmt: skip
    facts = {"seeds.generator": name, "seeds.workers_alike": workers, "seeds.passes_alike": passes}
    where, also = _cause(name, told)
    if also:
        facts["also"] = also
    report.finding("seeds", f"copied {name}", says, facts, where)
    return True


def _is_seeded_by_index(generator: str) -> bool:
    """Whether the program gives it another seed for each sample: then it hangs on nothing that workers share."""
    asked = ("__getitem__", "__getitems__", "__call__")
    every = (node for file in trees.files() for name, nodes in trees.scopes(file) if name.endswith(asked) for node in nodes)
    return any(_seeds(node, generator) for node in every)


def _seeds(node: Any, generator: str) -> bool:
    import ast  # noqa: PLC0415 - only where something is to be said

    if not isinstance(node, ast.Call) or getattr(node.func, "attr", "") not in ("seed", "manual_seed") or not node.args:
        return False
    owner = getattr(node.func, "value", None)
    return generator in (getattr(owner, "attr", ""), getattr(owner, "id", "")) and not isinstance(node.args[0], ast.Constant)


def _passes_alike(by_pass: dict[int, dict[int, str]]) -> int:
    by_loader: dict[tuple[int, int, int, str], int] = {}
    for seed, states in by_pass.items():
        for number, state in states.items():
            known = (_passes[seed][0], _passes[seed][2], number, state)
            by_loader[known] = by_loader.get(known, 0) + 1
    most = max(by_loader.values(), default=0)
    return most if most > 1 else 0


def _cause(name: str, told: list[Any]) -> tuple[tuple[str, str], list[str]]:
    """A generator's own line; of a global one the worker_init_fn, for torch itself seeds it in every worker."""
    _, made, _, init, _ = _passes[told[0][0]]
    found = tuple(told[0][3].get(name) or init)
    return (found, [made[0]] if made[0] else []) if found[0] else (made, [])
