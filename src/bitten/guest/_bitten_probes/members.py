"""Which parameters the program trains: those of its called models, against those that its optimizers hold. Compares identities.

At the first steps, and then at each doubling, the parameters of each outermost module that was called with gradients on are sorted:
held by an optimizer or not, frozen or not, registered or kept in a plain list. Only what was so each time is judged, at the end.
What a program updates by hand, without an optimizer, is told by its norm, which moves. Whether freezing is meant, nobody says: the
rules ask for weights that nothing has loaded.
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
held: Any = hook.load("_bitten_probes.held")
loads: Any = hook.load("_bitten_probes.loads")
sources: Any = hook.load("_bitten_probes.sources")
frames: Any = hook.load("_bitten_frames")
patches: Any = hook.load("_bitten_patches")

LOOKS = 3
"""Looks that must agree."""
ROOTS = 16
RECORDS = 5000
NOWHERE = ("", "")
FREEZING = r"\.requires_grad\s*=(?!=|\s*True\b)|\.requires_grad_\(\s*(?!True\b)[^)\s]"


class Record:
    """One parameter that is frozen, or that no optimizer holds, over all looks."""

    def __init__(self, name: str, root: str, where: tuple[str, str], also: tuple[str, str], kind: str) -> None:
        self.name, self.root, self.where, self.also, self.kind = name, root, where, also, kind
        self.looks = self.with_gradient = self.frozen = self.unheld = self.in_evaluation = 0
        self.is_late = self.is_filled = self.is_matrix = False
        self.norms: list[float] = []

    @property
    def has_moved(self) -> bool:
        return len(set(self.norms)) > 1


class Root:
    """What the looks at one trained model gave."""

    def __init__(self, root: Any) -> None:
        self.name = type(root).__name__
        self.looks = 0
        self.held = self.trainable = self.frozen_size = self.size = 0
        self.matrices = self.frozen_matrices = self.loaded_matrices = 0
        self.last: Record | None = None
        self.makers: list[tuple[str, str]] = []


_roots: Any = held.Weak(ROOTS)
_every_root: list[Root] = []
_optimizers: Any = held.Weak(64)
_records: Any = held.Weak(RECORDS)
_every: list[Record] = []
_trained: Any = held.Weak(20_000)
_made: Any = held.Weak(20_000)
_order = [0]
_lines: Any = held.Weak(20_000)
_strangers: dict[tuple[str, str], list[int]] = {}
_reused: set[int] = set()


def install() -> None:
    bus.listen("optimizer", root_pre=_called, born=_born, step_post=_step_post, forked=_forked)
    patches.on_import("torch", _torch)
    loads.install()


def _forked() -> None:
    for each in (_roots, _every_root, _optimizers, _records, _every, _strangers, _reused):
        each.clear()


def _torch(torch: Any) -> None:
    register = getattr(torch.nn.modules.module, "register_module_parameter_registration_hook", None)
    if register is not None:
        bus._own_hooks.add(register(_has_parameter).id)


# ---------------------------------------------------------------------------------------------- moments


def _called(module: Any, args: Any) -> None:
    if sys.modules["torch"].is_grad_enabled() and _roots.get(module) is None and len(_every_root) < ROOTS:
        _every_root.append(Root(module))
        _roots.put(module, _every_root[-1])


def _born(thing: Any, where: tuple[str, str]) -> None:
    torch = sys.modules["torch"]
    _order[0] += 1
    sources.remember(where)
    if isinstance(thing, torch.optim.Optimizer):
        _optimizers.put(thing, (_order[0], where))
    elif isinstance(thing, torch.nn.Module):
        first = _made.get(thing)
        _made.put(thing, (_order[0], first[1] if first is not None else where))


def _has_parameter(module: Any, name: str, parameter: Any) -> None:
    """A layer is being made: by which of the program's lines, from the inside out, and inside whose `__init__` each stands."""
    if parameter is None or bus.is_closed() or _lines.get(module) is not None:
        return
    try:
        _lines.put(module, _makers(sys._getframe(1)))
    except Exception as error:  # as on the bus
        bus.take_out("optimizer", error, "parameter")


def _makers(frame: Any) -> list[tuple[tuple[str, str], int]]:
    found: list[tuple[tuple[str, str], int]] = []
    while frame is not None and len(found) < 4:
        own = report.user_frame(frame)
        if own is None:
            break
        found.append((report.line(own), _maker(own)))
        frame = own.f_back
    return found


def _maker(frame: Any) -> int:
    """Whose method this is: the identity of its first argument."""
    code = frame.f_code
    if not code.co_argcount:
        return 0
    variables = frames.variables_of(frame)
    found = id(variables.get(code.co_varnames[0]))
    frames.forget(frame, variables)
    return found


def _step_post(optimizer: Any, number: int) -> None:
    if not held.is_check(number):
        return
    look_at_all()
    if held.is_judged(number):
        judge()


# ---------------------------------------------------------------------------------------------- looking


def look_at_all() -> None:
    optimizers = list(_optimizers)
    holders = {id(each): born for optimizer, born in optimizers for each in held.parameters(optimizer)}
    for root, kept in _roots:
        _look(root, kept, holders)
    known = {id(each) for root, _ in _roots for each in root.parameters()}
    for optimizer, (_, where) in optimizers:
        mine = held.parameters(optimizer)
        found = _strangers.setdefault(where, [0, 0])
        found[0] += bool(mine) and bus.steps_of(optimizer) > 0 and known.isdisjoint(map(id, mine))
        found[1] += any(each.grad is not None for each in mine)


def _look(root: Any, kept: Root, holders: dict[int, Any]) -> None:
    mine = {id(each) for each in root.parameters()}
    if not any(key in holders for key in mine):  # a teacher, a critic, a model that is only evaluated; or the optimizer is another's
        return
    kept.looks += 1
    kept.held = kept.trainable = kept.frozen_size = kept.size = kept.matrices = kept.frozen_matrices = kept.loaded_matrices = 0
    kept.makers = sorted({holders[key][1] for key in mine if key in holders})
    late = max(holders[key][0] for key in mine if key in holders)
    asked = []
    for path, module in list(root.named_modules()):
        for name, each in module._parameters.items():
            if each is not None:
                _count(kept, each, id(each) in holders)
                if id(each) not in holders or not each.requires_grad:
                    record = _noted(kept, module, f"{path}.{name}".lstrip("."), each, holders, late, None)
                    asked.append((each, record))
                    kept.last = record if each.dim() > 1 and not _is_trained(module) else kept.last
    if kept.looks in (1, LOOKS):
        _look_for_reuse(root)
    asked += _unregistered(root, kept, holders, late)
    _ask_norms(asked)


def _is_trained(module: Any) -> bool:
    """In part at least: some train biases alone."""
    return any(each is not None and each.requires_grad for each in module._parameters.values())


def _count(kept: Root, each: Any, is_held: bool) -> None:
    kept.size += each.numel()
    kept.held += is_held
    if is_held and each.requires_grad and _trained.get(each) is None:
        _trained.put(each, True)
    kept.trainable += each.requires_grad
    kept.frozen_size += 0 if each.requires_grad else each.numel()
    if each.dim() > 1:
        kept.matrices += 1
        kept.frozen_matrices += not each.requires_grad
        kept.loaded_matrices += loads.has(each)
        kept.last = None


def _noted(kept: Root, module: Any, name: str, each: Any, holders: dict[int, Any], late: int, holder: tuple[str, str] | None) -> Record:
    """`holder` is where a layer was made that is kept beside; None of what is registered."""
    record = _record(kept, module, name, each, holder or NOWHERE, holder is None)
    record.looks += 1
    record.with_gradient += each.grad is not None
    record.frozen += not each.requires_grad
    record.unheld += id(each) not in holders
    record.in_evaluation += not module.training
    born = _made.get(module)
    record.is_late, record.is_filled, record.is_matrix = born is not None and born[0] > late, _is_filled(each), each.dim() > 1
    return record


def _is_filled(each: Any) -> bool:
    """Whether its values are more than those it was made with: loaded, or trained by an optimizer before."""
    return loads.has(each) or _trained.get(each) is not None


def _record(kept: Root, module: Any, name: str, each: Any, holder: tuple[str, str], is_registered: bool) -> Record:
    known: Record | None = _records.get(each)
    if known is None:
        made = bus.birthplace(module)
        known = Record(name, kept.name, holder if holder[0] else made, made, "unheld" if is_registered else "unregistered")
        _records.put(each, known)
        if len(_every) < RECORDS:
            _every.append(known)
    return known


def _ask_norms(asked: list[tuple[Any, Record]]) -> None:
    """Of what should not change, or should and may not: not of what is frozen and in no optimizer."""
    torch = sys.modules["torch"]
    asked = [(each, record) for each, record in asked if each.requires_grad == (record.unheld > 0) and each.is_floating_point()
             and held.is_plain(each)]
    with torch.no_grad():
        for at in range(0, len(asked), 256):
            part = asked[at : at + 256]
            numbers = [torch.linalg.vector_norm(each.detach(), dtype=torch.float32) for each, _ in part]
            bus.defer(torch.stack(numbers), lambda values, part=part: _note_norms(part, values))


def _note_norms(part: list[tuple[Any, Record]], values: list[float]) -> None:
    for (_, record), value in zip(part, values):
        record.norms.append(value)


# ---------------------------------------------------------------------------------------------- kept beside, and reused


def _unregistered(root: Any, kept: Root, holders: dict[int, Any], late: int) -> list[tuple[Any, Record]]:
    """Layers and trainable tensors that a module keeps in a list, a dict or as a plain attribute: its parameters() doesn't know them."""
    asked, known = [], {id(each) for each in root.modules()} | {id(each) for each in root.parameters()}
    for owner in list(root.modules()):
        for name, value in list(vars(owner).items()):
            if not name.startswith("_"):
                for layer, path, each in _beside(value, name, known):
                    if id(each) not in holders and each.requires_grad and each.is_leaf and each.grad is not None:
                        where = _line_of(owner, name, layer) if _records.get(each) is None else NOWHERE
                        asked.append((each, _noted(kept, layer if layer is not None else owner, path, each, holders, late, where)))
    return asked


def _beside(value: Any, name: str, known: set[int], depth: int = 2) -> Iterator[tuple[Any, str, Any]]:
    """(layer or None, path, trainable tensor)."""
    torch = sys.modules["torch"]
    if issubclass(type(value), torch.nn.Module):
        if id(value) not in known:
            for path, each in value.named_parameters():
                if id(each) not in known:
                    yield value, f"{name}.{path}", each
    elif issubclass(type(value), torch.Tensor):
        if id(value) not in known:
            yield None, name, value
    elif depth and type(value) in (list, tuple, dict):
        for key, each in list(value.items() if type(value) is dict else enumerate(value))[:1000]:
            yield from _beside(each, f"{name}.{key}", known, depth - 1)


def _line_of(owner: Any, name: str, layer: Any) -> tuple[str, str]:
    """Where the owner made the layer; else where the layer was made; of a tensor the one line that sets the attribute, else the owner's."""
    layers = list(layer.modules()) if layer is not None else []
    found: list[tuple[tuple[str, str], int]] = next(filter(None, (_lines.get(each) for each in layers)), [])
    if found:
        return next((line for line, maker in found if maker == id(owner)), found[-1][0])
    line: tuple[str, str] = sources.only(rf"\.{name}\s*=(?!=)")
    born: tuple[str, str] = bus.birthplace(owner)
    return line if line[0] else born


def _look_for_reuse(root: Any) -> None:
    """One layer under several numbers of one container, put there by one line, and nowhere before."""
    torch = sys.modules["torch"]
    for box in list(root.modules()):
        if isinstance(box, (torch.nn.Sequential, torch.nn.ModuleList)) and id(box) not in _reused:
            counts: dict[int, list[Any]] = {}
            for name, each in box._modules.items():
                counts.setdefault(id(each), []).append((name, each))
            for same in counts.values():
                if len(same) > 1:
                    _reused.add(id(box))
                    _tell_reuse(root, box, [name for name, _ in same], same[0][1])


def _tell_reuse(root: Any, box: Any, names: list[str], layer: Any) -> None:
    if layer is None or not any(each.requires_grad for each in layer.parameters()):
        return
    where, first = bus.birthplace(layer), _made.get(layer)
    says = (f"{len(names)} entries ({', '.join(names[:6])}) of {bus.name_in(root, box) or type(root).__name__} are one "
            f"{type(layer).__name__}: they share all their parameters")
    facts = {"optimizer.shared_entries": len(names), "module": bus.name_in(root, layer)}
    Told.shared = max(Told.shared, len(names))
    tell = report.finding if first is not None and first[1] == where else report.hint
    tell("optimizer", f"shared {where[0]}", says, facts, where)


# ---------------------------------------------------------------------------------------------- judging


class Told:
    shared = unheld = unregistered = moving = 0
    frozen_share = 0.0


def judge() -> None:
    """What held at each look. Told again later, a finding stays as it was first."""
    _judge_strangers()
    mine = [each for each in _every if each.looks >= LOOKS and each.unheld == each.looks == each.with_gradient]
    mine = [each for each in mine if not each.frozen and not each.has_moved]
    _judge_unregistered([each for each in mine if each.kind == "unregistered"])
    _judge_unheld([each for each in mine if each.kind == "unheld"])
    _judge_moving()
    for root in _every_root:
        if root.looks >= LOOKS:
            _judge_frozen(root)


def _names(mine: list[Record]) -> str:
    return f"{len(mine)} parameters ({', '.join(each.name for each in mine[:4])}{', …' if len(mine) > 4 else ''})"


def _maker_of(record: Record) -> tuple[str, str]:
    """Where the optimizer was made that holds the rest of its model."""
    return next((root.makers[0] for root in _every_root if root.name == record.root and root.makers), NOWHERE)


def _judge_unregistered(mine: list[Record]) -> None:
    Told.unregistered = len(mine)
    if mine:
        is_meant = all(each.is_filled or each.in_evaluation for each in mine)
        tell = report.hint if is_meant else report.finding
        tell("optimizer", "unregistered", f"{_names(mine)} of {mine[0].root} are kept in a plain list, dict or attribute: its parameters() "
             "doesn't know them, no optimizer holds them, and they never change", {"optimizer.unregistered": len(mine),
             "module": mine[0].name.rpartition(".")[0]}, mine[0].where)


def _judge_unheld(mine: list[Record]) -> None:
    Told.unheld = len(mine)
    if not mine:
        return
    maker, late = _maker_of(mine[0]), next((each for each in mine if each.is_late and each.where[0]), None)
    facts = {"optimizer.unoptimised": len(mine), "module": mine[0].name.rpartition(".")[0], "also": [(late or mine[0]).where[0]]}
    says = f"{_names(mine)} get gradients and are in no optimizer"
    if late is not None:
        report.finding("optimizer", "unheld", says + ": their layer was put in place after the optimizer had taken its list",
                       {**facts, "also": [maker[0]]}, late.where)
    elif not loads.any_seen() and not any(each.in_evaluation or each.is_filled for each in mine) and _is_made_here(mine):
        report.finding("optimizer", "unheld", says + ": they keep their first, random values", facts, maker)
    else:
        report.hint("optimizer", "unheld", says, facts, maker)


def strangers() -> list[tuple[str, str]]:
    """Where optimizers were made that hold parameters of no model that is called. (DeepSpeed's hold copies.)"""
    if not _every_root or "deepspeed" in sys.modules:
        return []
    return [where for where, (count, with_gradient) in _strangers.items() if count >= LOOKS and not with_gradient]


def _is_made_here(mine: list[Record]) -> bool:
    """Weights of layers that the program made; a deep copy has no birthplace."""
    return any(each.is_matrix and each.where[0] for each in mine)


def _judge_strangers() -> None:
    for where in strangers():
        report.finding("optimizer", f"stranger {where[0]}", "The optimizer holds parameters of no model that is called, and none of "
                       "them has ever had a gradient: it trains something else than what runs", {"optimizer.strangers": 1}, where)


def _judge_moving() -> None:
    moving = [each for each in _every if each.looks >= LOOKS and each.frozen == each.looks == each.with_gradient and not each.unheld]
    moving = [each for each in moving if each.has_moved]
    if moving:
        Told.moving = len(moving)
        report.finding("optimizer", "moving", f"{_names(moving)}: frozen, and changed by the steps: the optimizer still holds them, with a "
                       "gradient from before", {"optimizer.frozen_moving": len(moving)}, _maker_of(moving[0]))


def _judge_frozen(root: Root) -> None:
    """The last layer is frozen, though nothing has loaded it, and something else trains."""
    Told.frozen_share = share = max(Told.frozen_share, root.frozen_size / max(1, root.size))
    last = root.last
    if last is None or last.frozen != last.looks or not root.trainable or last.is_filled:
        return
    facts = {"optimizer.frozen_share": round(share, 4), "optimizer.frozen_layer": last.name}
    where, line = (root.makers or [NOWHERE])[0], sources.only(FREEZING)
    says = f"{100 * share:.1f} % of {root.name}'s parameters are frozen, and with them {last.name}, the last layer"
    is_all = root.frozen_matrices == root.matrices and not loads.any_seen() and last.where[0]  # a deep copy has no birthplace
    if is_all or root.loaded_matrices * 2 >= root.matrices > 0:
        report.finding("optimizer", "frozen", says + ", which nothing has loaded: it stays random",
                       {**facts, "also": [where[0]] if line[0] else []}, line if line[0] else where)
    else:
        report.hint("optimizer", "frozen", says, facts, line if line[0] else where)


def facts() -> dict[str, Any]:
    judge()
    if not any(root.looks for root in _every_root):
        return {"optimizer.strangers": len(strangers())} if _strangers else {}
    return {"optimizer.unoptimised": Told.unheld, "optimizer.unregistered": Told.unregistered, "optimizer.strangers": len(strangers()),
            "optimizer.shared_entries": Told.shared, "optimizer.frozen_moving": Told.moving,
            "optimizer.frozen_share": round(Told.frozen_share, 4)}
