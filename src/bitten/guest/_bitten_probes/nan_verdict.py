"""From a step that went bad to the first bad thing: its calls are played again in their order, then the loss, then backward.

Each stage asks for one cause and stops at the first: a call whose output is bad; a term of the loss; a node of backward. What no replay
shows again is told as what was seen from outside, and says so.
"""

from __future__ import annotations

import re
import sys
from math import isnan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]
bus: Any = hook.load("_bitten_probes.bus")
report: Any = hook.load("_bitten_probes.report")
frames: Any = hook.load("_bitten_frames")
calls: Any = hook.load("_bitten_probes.nan_calls")
window: Any = hook.load("_bitten_probes.nan_window")
loads: Any = hook.load("_bitten_probes.nan_loads")
op_modes: Any = hook.load("_bitten_probes.op_modes")
replay: Any = hook.load("_bitten_probes.replay")
losses: Any = hook.load("_bitten_probes.nan_losses")
nan: Any = sys.modules["_bitten_probes.nan"]

FIRST_ROWS = 5
LARGE_WEIGHT = 1e3
"""A weight that has no business to be so large, so it is worth reading who steps; no threshold of a finding."""
TINY, HUGE, SMALL_LR = 1e-30, 1e30, 1e15
SAYS = {
    "input": "the batch has {what} in `{argument}`, rows {rows}{columns}, before the model sees it",
    "weight": "the weight `{tensor}` was {what} before the call, and no optimizer wrote it",
    "buffer": "the buffer `{tensor}` was {what} before the call",
    "checkpoint": "`{tensor}` was {what} as it was loaded{file}",
    "forward op": "`{op}` in `{module}` made {what} of operands that had none",
    "loss": "the loss became {what} at `{op}`, while the model's output was finite",
    "backward op": "the loss is finite; in backward `{op}` of `{module}` made {what} of finite gradients",
    "optimizer step": "loss and gradients were finite; the optimizer wrote {what} into `{tensor}`",
    "forward op, unseen": "the output of this call is {what}",
    "backward op, unseen": "the loss is finite and gradients are not",
    "another rank": "this rank's own loss and gradients are finite: {what} came from another rank with the shared gradients",
}


class Verdict:
    def __init__(self, kind: str, step: int, where: tuple[str, str], **facts: Any) -> None:
        known = {f"nan.{name}": value for name, value in facts.items() if value not in (None, [])}
        self.facts: dict[str, Any] = {"nan.kind": kind, "step": step, **known}
        self.where = where
        self.also: list[str] = []
        if "nan.module" in known:
            self.facts["module"] = known["nan.module"]

    def says(self) -> str:
        named = {name[4:]: value for name, value in self.facts.items() if name.startswith("nan.")}
        words = {**dict.fromkeys(("argument", "rows", "tensor", "op", "module"), "?"), "what": "NaN", **named}
        words["what"] = {"nan": "NaN", "inf": "Inf"}.get(words["what"], words["what"])
        words["module"] = words["module"] or "the outermost module"
        words["columns"] = f", columns {named['columns']}" if "columns" in named else ""
        words["file"] = f" from {named['checkpoint']}" if named.get("checkpoint") else ""
        end = f" ({named['chain']})" if "chain" in named else " (overflow)" if named.get("overflow") else ""
        says = SAYS.get(f"{named['kind']}, unseen") if named.get("replayed") is False else None
        return f"step {self.facts['step']}: " + (says or SAYS[named["kind"]]).format(**words) + end + self._grown() + self._doubt()

    def _grown(self) -> str:
        largest = self.facts.get("nan.largest_weight", 0.0)
        if largest <= LARGE_WEIGHT:
            return ""
        return f"; weights had grown to {largest:.3g} at a learning rate of {self.facts.get('nan.lr', 0.0):.3g}"

    def _doubt(self) -> str:
        return "" if self.facts.get("nan.replayed", True) else "; a replay did not show it again, so this is what was seen from outside"

    def of_scaler(self, skips: int, scale: float) -> Verdict:
        """The same cause, told as why a gradient scaler runs away."""
        why = self.says()
        self.facts.update({"nan.kind": "scaler skips", "nan.scaler_skips": skips, "nan.scale": scale})
        self.says = lambda: f"the gradient scaler left out {skips} steps in a row and its scale is {scale:g}; {why}"  # type: ignore[method-assign]
        return self

    def tell(self) -> None:
        facts = {**self.facts, "nan.last_batches": batches()}
        also = [each for each in dict.fromkeys(self.also) if each and each != self.where[0]]
        if also:
            facts["also"] = also
        if facts["nan.kind"] == "another rank":
            report.hint("nan", "first", self.says(), facts, self.where)
        else:
            report.finding("nan", "first", self.says(), facts, self.where)


def is_bad(optimizer: Any) -> bool:
    """A norm may overflow where nothing else does: look at the numbers themselves."""
    return any(map(calls.is_bad, [each.value for each in nan.Seen.losses] + nan._gradients(optimizer)))


def diagnose(optimizer: Any, step: int) -> Verdict | None:
    found = _of_calls(step) or _of_loss(step) or _of_backward(step) or _from_outside(step)
    if found is not None and optimizer is not None:
        found.facts.update(_growth(optimizer))
        if found.facts.get("nan.largest_weight", 0.0) > LARGE_WEIGHT:
            found.also += _who_steps(optimizer)
    return found


def _growth(optimizer: Any) -> dict[str, float]:
    """How fast it went, and how far: what a learning rate that is too high leaves behind."""
    rates = [float(group["lr"]) for group in optimizer.param_groups if "lr" in group]
    largest = [float(each.detach().abs().max()) for each in nan._weights(optimizer) if calls.is_float(each)]
    finite = [each for each in largest if each < float("inf")]
    return {**({"nan.lr": max(rates)} if rates else {}), **({"nan.largest_weight": max(finite)} if finite else {})}


def _who_steps(optimizer: Any) -> list[str]:
    """Where its schedule and the optimizer itself were made."""
    schedulers = [each for each in (alive() for alive in nan._schedulers) if getattr(each, "optimizer", None) is optimizer]
    return [bus.birthplace(each)[0] for each in (*schedulers, optimizer)]


def spoilt_at_the_end() -> Verdict | None:
    """What the last steps wrote, which no call has met any more; where the optimizer was a function's own, it is gone."""
    for known, _, _ in list(nan.Seen.written.values()):
        optimizer = known()
        for each in nan._weights(optimizer) if optimizer is not None else ():
            found = _of_optimizer(each, "", "nan") if calls.is_bad(each) else None
            if found is not None:
                return found
    return None


def _of_optimizer(weight: Any, name: str, what: str) -> Verdict | None:
    """The verdict on the optimizer that wrote this weight, if nobody wrote it since and its numbers say that it could."""
    for known, number, versions in nan.Seen.written.values():
        optimizer = known()
        written = [version for each, version in zip(nan._weights(optimizer), versions) if each is weight] if optimizer is not None else []
        if written == [weight._version] and _could_write(optimizer, weight):
            where, birth = report.line(sys._getframe(1)), bus.birthplace(optimizer)
            found = Verdict("optimizer step", number, where if where[0] else birth, what=what, tensor=name or None,
                            module=name.rpartition(".")[0], dtype=_dtype(weight), op=type(optimizer).__name__)
            found.also.append(birth[0])
            return found
    return None


def _could_write(optimizer: Any, weight: Any) -> bool:
    """Whether what the optimizer keeps of these very numbers is zero, huge or not finite: `weight.data` is written without a trace."""
    bad = ~op_modes.torch.isfinite(weight.detach())
    kept = [each for each in optimizer.state.get(weight, {}).values() if getattr(each, "shape", None) == weight.shape]
    if not kept:
        return any(abs(float(group.get("lr", 0))) > SMALL_LR for group in optimizer.param_groups)
    return any(not bool(((abs(each[bad]) > TINY) & (abs(each[bad]) < HUGE)).all()) for each in kept)


# ---------------------------------------------------------------------------------------------- the calls


def _of_calls(step: int) -> Verdict | None:
    """The first call whose output is bad. One whose numbers nobody read is played too."""
    for call in nan.Seen.calls:
        if call.bad_output() is not False and call.is_done:
            found = _played(call, step)
            if found is not None:
                return found
    return None


def _seen_outside(call: Any, step: int) -> Verdict | None:
    """Of a call whose output was bad, where the replay can't say more."""
    if not call.bad_output():
        return None
    what = "nan" if isnan(call.read[-2]) else "inf"
    return Verdict("forward op", step, calls.place(call.lines), what=what, module="", micro_batch=_micro_batch(call), replayed=False)


def _played(call: Any, step: int) -> Verdict | None:
    module = replay.inner(call.module)
    try:
        replay.refuse(module)
        with replay.Same(module):
            played = replay.play(call, False)
            event = played.forward_event()
            if event is not None:
                return _of_event(event, call, module, step)
            if played.is_bad():  # by intention, such as the -Inf of a mask
                return None
    except Exception as error:  # a forward that can't be played again: told as seen from outside
        _cannot(call, error)
    return _seen_outside(call, step)


def _cannot(call: Any, error: BaseException) -> None:
    why = str(error)[:200] or type(error).__name__
    hook.emit("note", text=f"the step that went bad can't be replayed ({type(call.module).__name__}: {why}); "
                           "where a region is compiled or sharded, run it as written: TORCHDYNAMO_DISABLE=1, on one process")


def _of_event(event: Any, call: Any, module: Any, step: int) -> Verdict:
    first = event.origin()
    where, also = _where(first, call, module)
    facts: dict[str, Any] = {"what": event.what if first is event else first.what, "dtype": _dtype(first), "overflow": first.overflow,
                             "micro_batch": _micro_batch(call), "replayed": True}
    if first.source is None:
        found = Verdict(_kind_of_op(first, call, module), step, where, op=first.op, module=_path(module, first.module),
                        chain=event.chain() or None, **facts)
    else:
        found = _of_source(first, call, module, step, where, facts)
    found.also += also
    return found


def _micro_batch(call: Any) -> int:
    """Which of this module's calls since the last step."""
    same = [each for each in nan.Seen.calls if each.module is call.module and not each.stepped_by]
    return next((number for number, each in enumerate(same) if each is call), 0)


def _kind_of_op(event: Any, call: Any, module: Any) -> str:
    is_loss = "loss" in event.op or "cross_entropy" in event.op
    return "loss" if is_loss or _is_loss(call, module) else "forward op"


def _is_loss(call: Any, module: Any) -> bool:
    """A criterion of the user's own: one number out, and nothing to train."""
    return bool(call.is_scalar) and next(module.parameters(), None) is None


def _of_source(event: Any, call: Any, module: Any, step: int, where: tuple[str, str], facts: dict[str, Any]) -> Verdict:
    kind, name, tensor = event.source
    if kind == "input":
        return _of_input(event, call, module, step, where, facts)
    if kind == "outside":
        return Verdict("forward op", step, where, op=event.reader, module=_path(module, event.module), **facts)
    owner = name.rpartition(".")[0]
    loaded = loads.of(_live(module, name, tensor))
    if loaded is not None:
        found = Verdict("checkpoint", step, loaded[1], tensor=name, module=owner, checkpoint=loaded[0] or None, **facts)
        found.also.append(where[0])
        return found
    written = _of_optimizer(tensor, name, facts["what"]) if kind == "weight" else None
    return written or Verdict(kind, step, calls.place(call.lines), tensor=name, module=owner, **facts)


def _live(module: Any, name: str, tensor: Any) -> Any:
    """The program's own buffer; the replay has a copy in its place."""
    return next((each for each in _originals(module, name) if each is not None), tensor)


def _originals(module: Any, name: str) -> list[Any]:
    return [held.get(name) for held in replay.HELD[-1:]]


def _of_input(event: Any, call: Any, module: Any, step: int, where: tuple[str, str], facts: dict[str, Any]) -> Verdict:
    _, name, tensor = event.source
    is_loss = _is_loss(call, module)
    found = Verdict("loss" if is_loss else "input", step, calls.place(call.lines), argument=name, rows=rows(tensor),
                    columns=columns(tensor), module="", op=event.reader if is_loss else None, **facts)
    found.also += _batch_from()
    return found


def _batch_from() -> list[str]:
    """Where the loader and its dataset were made."""
    loader = nan.Seen.loader() if nan.Seen.loader is not None else None
    return [bus.birthplace(each)[0] for each in (loader, getattr(loader, "dataset", None)) if each is not None]


def rows(tensor: Any) -> list[int]:
    """The first rows that have a number that is not finite."""
    bad = ~op_modes.torch.isfinite(tensor.detach())
    if bad.dim() == 0:
        return []
    rows_of: list[int] = (bad.flatten(1).any(1) if bad.dim() > 1 else bad).nonzero().flatten().tolist()
    return rows_of[:FIRST_ROWS]


def columns(tensor: Any) -> list[int]:
    """Of a table, the first columns that have one, if others have none."""
    bad = ~op_modes.torch.isfinite(tensor.detach())
    if bad.dim() != 2:
        return []
    found: list[int] = bad.any(0).nonzero().flatten().tolist()
    return found[:FIRST_ROWS] if len(found) < bad.shape[1] else []


# ---------------------------------------------------------------------------------------------- the loss and backward


def _of_loss(step: int) -> Verdict | None:
    bad = [each for each in nan.Seen.losses if calls.is_bad(each.value)]
    if not bad:
        return None
    event = losses.forward_event(bad[0])
    what = "nan" if calls.has_nan(bad[0].value) else "inf"
    if event is None:
        return Verdict("loss", step, calls.place(bad[0].lines), what=what, module="", dtype=_dtype(bad[0].value), replayed=False)
    first = event.origin()
    where = calls.place(first.lines)
    source = {"argument": first.source[1], "rows": rows(first.source[2])} if first.source is not None else {}
    found = Verdict("loss", step, where if where[0] else calls.place(bad[0].lines), what=first.what, op=first.op, module="",
                    dtype=_dtype(first), overflow=first.overflow, chain=event.chain() or None, replayed=True, **source)
    found.also += [calls.place(bad[0].lines)[0], *(_batch_from() if source else [])]
    return found


def _of_backward(step: int) -> Verdict | None:
    """Loss and outputs are finite. The loss's own backward first: it is short, and what it gives to the calls is known."""
    event, grads = losses.backward(nan.Seen.losses)
    if event is not None:
        first = event.origin()
        return Verdict("backward op", step, calls.place(first.lines), what=first.what, op=first.op, module="", dtype=_dtype(first),
                       overflow=first.overflow, chain=event.chain() or None, replayed=True)
    for call in reversed(nan.Seen.calls):
        found = _backward_of(call, grads, step) if call.has_grad and call.is_done else None
        if found is not None:
            return found
    return None


def _backward_of(call: Any, grads: dict[int, Any], step: int) -> Verdict | None:
    module = replay.inner(call.module)
    try:
        replay.refuse(module)
        with replay.Same(module):
            played = replay.play(call, True)
            given = [(number, grads[key]) for number, key in enumerate(call.outs) if key in grads]
            event = played.backward_event(given or replay.ones(played.out))
            if event is None:
                return None
            first = event.origin()
            where = _place_of_text(first.lines)
            found = Verdict("backward op", step, where if where[0] else calls.place(call.lines), what=first.what, op=first.op,
                            module=_path(module, first.module), dtype=_dtype(first), overflow=first.overflow,
                            chain=event.chain() or None, micro_batch=_micro_batch(call), replayed=True)
            found.also.append(calls.place(call.lines)[0])
            return found
    except Exception as error:  # as in `_played`
        _cannot(call, error)
        return None


def _from_outside(step: int) -> Verdict | None:
    """No replay showed it. What can be said: where the output, or only the gradients, were bad."""
    if _is_one_of_many() and not any(call.bad_output() for call in nan.Seen.calls):
        return Verdict("another rank", step, report.line(sys._getframe(1)), what="nan")
    line = nan.Seen.losses[-1].lines if nan.Seen.losses else nan.Seen.calls[-1].lines if nan.Seen.calls else []
    return Verdict("backward op", step, calls.place(line), replayed=False) if line else None


def _is_one_of_many() -> bool:
    dist = sys.modules.get("torch.distributed")
    return dist is not None and dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1


# ---------------------------------------------------------------------------------------------- words


def _where(event: Any, call: Any, module: Any) -> tuple[tuple[str, str], list[str]]:
    """The user's innermost line inside the call; where only a library's modules run, the line of the call. And others worth reading."""
    called, inside = calls.place(call.lines), calls.place(event.lines)
    made = bus.birthplace(event.module)[0] if event.module is not None else ""
    return (inside, [called[0], made]) if inside[0] else (called, [made])


_FRAME = re.compile(r'\s*File "(.+?)", line (\d+), in (.*)')


def _place_of_text(lines: list[str]) -> tuple[str, str]:
    """As `calls.place`, of a formatted traceback: its innermost is the last."""
    for each in reversed(lines):
        found = _FRAME.match(each)
        if found is None:
            continue
        file, line, name = found.groups()
        if file.endswith("/_bitten_probes/replay.py"):
            break
        if not frames.is_library(file) and not file.startswith("<bitten "):
            file = frames.absolute(file)
            return f"{file}:{line}", f"{file}:{name.strip()}"
    return "", ""


def _path(root: Any, module: Any) -> str:
    return bus.name_in(root, module) if module is not None else ""


def _dtype(thing: Any) -> str | None:
    return str(thing.dtype).replace("torch.", "") if getattr(thing, "dtype", None) is not None else None


def batches() -> list[dict[str, Any]]:
    """The last calls in the recipe's columns: input and output with min, max, mean and has-nan, each term of the loss."""
    return [_batch(*each) for each in nan.Seen.rows]


def _batch(step: int, labels: tuple[bool, bool], numbers: list[float], terms: list[Any]) -> dict[str, Any]:
    row: dict[str, Any] = {"step": step}
    at = 0
    for name, measured in zip(("input", "output"), labels):
        if measured:
            low, high, mean = numbers[at : at + 3]
            row[name] = {"min": _number(low), "max": _number(high), "mean": _number(mean), "has_nan": isnan(low)}
            at += 3
    if terms:
        row["loss"] = {f"{name}:{calls.place(lines)[0].rpartition(':')[2]}": _number(value) for name, lines, value in terms}
    return row


def _number(value: float) -> float | str:
    return float(f"{value:.5g}") if abs(value) < float("inf") else str(value)
