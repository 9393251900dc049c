"""A sentinel that is cheap on every step; only a step that went bad is played again, operation by operation, to name the first bad thing.

A healthy step leaves references to what its outermost calls got (until it ends), and a few numbers that are read together: the norm of
each gradient and weight, the loss, min, max and mean of inputs and outputs. What turns bad stops nobody: it is told once, and counted.

It does not know what happens outside the outermost calls and the loss, nor an input that a call writes into on the very first step.
"""

from __future__ import annotations

import sys
from collections import deque
from math import isfinite

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]
weakly: Any = hook.load("_bitten_probes.weakly")
bus: Any = hook.load("_bitten_probes.bus")
report: Any = hook.load("_bitten_probes.report")
patches: Any = hook.load("_bitten_patches")
calls: Any = hook.load("_bitten_probes.nan_calls")
window: Any = hook.load("_bitten_probes.nan_window")

FACTS = {
    "nan.kind": {
        "says": "what made the first number that is not finite: input, weight, buffer, checkpoint, forward op, loss, backward op, "
                "optimizer step, scaler skips; another rank; none in a healthy run",
        "unit": "word", "threshold": "any but none", "source": "IEEE 754: neither NaN nor Inf comes back",
        "misfires": "a model that means to return NaN, read in evaluation",
    },
    "nan.what": {"says": "which of the two it was at its origin", "unit": "nan or inf", "threshold": "", "source": "", "misfires": ""},
    "nan.op": {
        "says": "the operation, by its bare name: log, _softmax, SqrtBackward0", "unit": "name", "threshold": "", "source": "",
        "misfires": "a compiled region is replayed as it was written, where other operations may run",
    },
    "nan.module": {
        "says": "the path below the outermost module; empty outside", "unit": "dotted path", "threshold": "", "source": "", "misfires": "",
    },
    "nan.argument": {
        "says": "the argument of the outermost call, or of the loss, that was bad: x, batch.image", "unit": "dotted path",
        "threshold": "", "source": "", "misfires": "",
    },
    "nan.rows": {
        "says": "the first rows of that argument that are not finite",
        "unit": "list of indices", "threshold": "", "source": "", "misfires": "",
    },
    "nan.columns": {
        "says": "the first of its columns that are not finite, where not all are", "unit": "list of indices",
        "threshold": "", "source": "", "misfires": "",
    },
    "nan.lr": {
        "says": "the optimizer's greatest learning rate at that step", "unit": "factor", "threshold": "", "source": "", "misfires": "",
    },
    "nan.largest_weight": {
        "says": "the greatest weight by its absolute value at that step", "unit": "number", "threshold": "", "source": "", "misfires": "",
    },
    "nan.tensor": {
        "says": "the weight or buffer by its name in the outermost module",
        "unit": "dotted path", "threshold": "", "source": "", "misfires": "",
    },
    "nan.dtype": {"says": "the dtype in which the number was made", "unit": "dtype", "threshold": "", "source": "", "misfires": ""},
    "nan.overflow": {
        "says": "whether finite numbers became Inf in float16 or bfloat16",
        "unit": "true or false", "threshold": "", "source": "", "misfires": "",
    },
    "nan.chain": {"says": "from the first Inf to the first NaN", "unit": "text", "threshold": "", "source": "", "misfires": ""},
    "nan.checkpoint": {
        "says": "the file that was loaded last before the bad tensor came in",
        "unit": "path", "threshold": "", "source": "", "misfires": "",
    },
    "nan.micro_batch": {
        "says": "which of the outermost calls of the step it was, from 0", "unit": "count", "threshold": "", "source": "", "misfires": "",
    },
    "nan.replayed": {
        "says": "whether the replay showed the same again; where it did not, only what was seen from outside is told",
        "unit": "true or false", "threshold": "", "source": "", "misfires": "",
    },
    "nan.steps": {"says": "steps of optimizers that were watched", "unit": "count", "threshold": "", "source": "", "misfires": ""},
    "nan.bad_steps": {
        "says": "steps whose loss, gradients or weights were not finite", "unit": "count", "threshold": "> 0", "source": "as nan.kind",
        "misfires": "as nan.kind",
    },
    "nan.last_batches": {
        "says": "the last 20 calls before it: min, max, mean and has-nan of input and output, each term of the loss",
        "unit": "rows", "threshold": "", "source": "", "misfires": "",
    },
    "nan.scaler_skips": {
        "says": "steps that the gradient scaler left out", "unit": "count",
        "threshold": "3 in a row with a loss that is not finite, 12 in a row, or a scale below 1",
        "source": "ours: torch's scaler starts at 65536 and halves, so 12 in a row are no search for a scale any more",
        "misfires": "a start from a scale far too high",
    },
    "nan.scale": {
        "says": "the gradient scaler's scale at its last skip", "unit": "factor", "threshold": "< 1", "source": "as nan.scaler_skips",
        "misfires": "as nan.scaler_skips",
    },
    "nan.anomaly_steps": {
        "says": "steps made while torch's anomaly mode was on", "unit": "count", "threshold": ">= 20",
        "source": "ours: a search for one NaN ends sooner; the mode makes a step cost 1.4 to 2.1 times as much",
        "misfires": "short runs that look for a NaN",
    },
}  # fmt: skip

RING = 20
ANOMALY_STEPS = 20
UNSTEPPED = 8
"""Backward passes without any optimizer until what they left is dropped: a loop that writes its own update."""


class State:
    """The step that is going on, and what came of those before."""

    def __init__(self) -> None:
        self.calls: list[Any] = []
        self.losses: list[Any] = []
        self.unscaled: list[Any] = []
        self.numbers: list[float] = []
        self.rows: deque[Any] = deque(maxlen=RING)
        self.steps = self.bad_steps = self.backwards = self.anomalous = self.number = 0
        self.stepping: Any = None  # a weak reference to the optimizer whose step goes on
        self.optimizers: Any = weakly.Things()
        self.closures: Any = weakly.Things()  # optimizers whose step calls forward and backward by itself
        self.written: dict[int, Any] = {}  # of each optimizer: (weak reference, number, versions of what it wrote) at its last step
        self.kind = "none"
        self.has_called = self.is_backward = False
        self.loader: Any = None  # a weak reference to the one that gave the last batch


Seen = State()
_anomaly_at = [("", "")]
_schedulers: deque[Any] = deque(maxlen=16)
_inherited: list[Any] = []
_kinds: Any = weakly.Things()  # of outermost modules that were met


class Loss:
    """What backward was called on: its value without its graph, the line, and which record of the window made it."""

    def __init__(self, tensor: Any, lines: Any) -> None:
        self.value, self.lines, self.made_by = tensor.detach(), lines, window.owner(tensor)


def install() -> None:
    patches.on_import("torch", _torch)


def _torch(torch: Any) -> None:
    calls.install(torch)
    window.install(torch)
    bus.listen("nan", born=_born, batch=_batch, root_pre=_root_pre, root_post=_root_post, root_failed=_root_failed, zero_grad=_zero_grad,
               backward=_backward, backward_done=_backward_done, step_pre=_step_pre, settled=_settled, step_post=_step_post,
               forked=_forked, end=_end)
    hook.load("_bitten_probes.nan_scaler").install(torch)
    hook.load("_bitten_probes.nan_loads").install(torch)
    for name in ("set_detect_anomaly", "detect_anomaly"):
        if hasattr(torch.autograd, name):
            bus.wrap("nan", getattr(torch.autograd, name), "__init__", lambda args, _: _anomaly_switched())


# ---------------------------------------------------------------------------------------------- a step that goes on


def _born(thing: Any, where: Any) -> None:
    """A scheduler is found by its optimizer later."""
    if "optimizer" in getattr(thing, "__dict__", ()) and hasattr(type(thing), "get_last_lr"):
        _schedulers.append(calls.weakref.ref(thing))


def _batch(iterator: Any, loader: Any, data: Any) -> None:
    Seen.loader = calls.weakref.ref(loader) if loader is not None else None


def _root_pre(module: Any, args: Any) -> None:
    window.close()
    if Seen.is_backward:  # activation checkpointing, which computes a part of a call again
        return
    if _only_looks():
        _look_now()
    if _only_looks() or (not Seen.optimizers and Seen.backwards >= UNSTEPPED):
        _drop()
    if type(module) not in _kinds:
        _note_closed(module)
    Seen.has_called = True
    Seen.calls.append(calls.Call(module, args))
    calls.drop_old(Seen.calls)


def _note_closed(module: Any) -> None:
    """Once a kind: what we can't look into, and how to run it so that we can."""
    _kinds.add(type(module))
    names = {each.__name__ for each in type(module).__mro__}
    if "OptimizedModule" in names:
        inner = type(getattr(module, "_orig_mod", module)).__name__
        hook.emit("note", text=f"{inner} is compiled: no module inside it is seen while it runs, only what goes in and comes out; "
                               "as it was written it runs with TORCHDYNAMO_DISABLE=1, or under the turn compile=off")
    elif names & {"FullyShardedDataParallel", "FSDPModule"}:
        hook.emit("note", text=f"{type(module).__name__} shards its weights over ranks: a step that goes bad is not replayed, "
                               "so input, loss and gradients are told and no operation; on one rank without sharding it is")


def _root_post(module: Any, args: Any, kwargs: Any, out: Any) -> None:
    call = Seen.calls[-1] if Seen.calls and not Seen.is_backward else None
    if call is not None and call.module is module and not call.is_done:
        call.returned(kwargs, out, len(Seen.calls) <= calls.MEASURED)
        if call.has_grad:
            window.open()


def _root_failed(module: Any) -> None:
    if Seen.calls and not Seen.calls[-1].is_done and not Seen.is_backward:
        Seen.calls.pop()


def _only_looks() -> bool:
    """Whether this is evaluation: two calls in a row without a gradient, and none with one since the last step."""
    return len(Seen.calls) >= 2 and not any(call.has_grad for call in Seen.calls)


def _backward(tensors: Any) -> None:
    window.close()
    lines = calls.raw_lines(4)
    Seen.losses += [Loss(each, lines) for each in tensors if getattr(each, "numel", lambda: 0)() == 1]
    del Seen.losses[:-64]
    Seen.backwards += 1
    Seen.is_backward = True


def _zero_grad(owner: Any) -> None:
    """What backward gave before is thrown away, and its loss is nobody's any more: a program may pass over a step that overflowed.

    (Of several optimizers the others may still want it. And a backward that raised has no end that is told.)
    """
    Seen.is_backward = False
    if hasattr(owner, "param_groups"):
        Seen.optimizers.add(owner)
    if len(Seen.optimizers) == 1 and not Seen.unscaled:
        Seen.losses = []


def _backward_done(tensors: Any) -> None:
    """Gradients are there, and nobody has written yet: where a step was given a closure, and where no optimizer is known that will step."""
    Seen.is_backward = False
    if not Seen.optimizers:
        _look_now()
        return
    stepping = Seen.stepping() if Seen.stepping is not None else None
    if stepping is not None and not Seen.unscaled:
        Seen.closures.add(stepping)
        read_now(stepping)
        judge(stepping, Seen.number)


def _step_pre(optimizer: Any, number: int) -> None:
    window.close()
    Seen.stepping, Seen.number, Seen.is_backward = calls.weakref.ref(optimizer), number, False
    Seen.optimizers.add(optimizer)
    if sys.modules["torch"].is_anomaly_enabled():
        _count_anomaly()
    if _is_ours_to_judge(optimizer):
        defer(optimizer)


def _settled(optimizer: Any, number: int) -> None:
    if _is_ours_to_judge(optimizer):
        judge(optimizer, number)


def _is_ours_to_judge(optimizer: Any) -> bool:
    """A scaler has judged already whether its step is made, and a closure has not run yet."""
    return not Seen.unscaled and optimizer not in Seen.closures


def _step_post(optimizer: Any, number: int) -> None:
    Seen.stepping = None
    Seen.steps += 1
    for key in [each for each, (alive, _, _) in Seen.written.items() if alive() is None]:
        del Seen.written[key]
    Seen.written[id(optimizer)] = (calls.weakref.ref(optimizer), number, [calls._version(each) for each in _weights(optimizer)])
    forget(optimizer)


def _weights(optimizer: Any) -> list[Any]:
    return [each for group in optimizer.param_groups for each in group["params"]]


def _gradients(optimizer: Any) -> list[Any]:
    """Of all it steps; without one, of all that was called."""
    if optimizer is None:
        modules = [call.module for call in Seen.calls if call.has_grad]
        found = [each.grad for module in modules if module is not None for each in module.parameters()]
    else:
        found = [each.grad for group in optimizer.param_groups for each in group["params"]]
    return [each for each in found if each is not None]


def forget(optimizer: Any) -> None:
    """The step is over: with several optimizers, what one left is kept until that one's next."""
    window.clear()
    Seen.losses, Seen.unscaled, Seen.backwards = [], [], 0
    for call in Seen.calls:
        call.forget()
    if len(Seen.optimizers) == 1:
        Seen.calls = []
        return
    Seen.calls = [call for call in Seen.calls if id(optimizer) not in call.stepped_by]
    for call in Seen.calls:
        call.stepped_by.add(id(optimizer))


# ---------------------------------------------------------------------------------------------- numbers


def defer(optimizer: Any) -> None:
    """All that the sentinel wants to know of this step, to be read with everybody's."""
    reading, Seen.numbers = calls.Reading(), []
    if not Seen.unscaled:
        reading.add(calls.norms(_gradients(optimizer)), Seen.numbers.extend)
    reading.add(Seen.unscaled or [each.value for each in Seen.losses], _losses_read)
    terms: list[Any] = []
    found = window.terms()
    reading.add([each for each, _, _ in found], lambda numbers: terms.extend((*one[1:], number) for one, number in zip(found, numbers)))
    step = bus.steps_of(optimizer) if optimizer is not None else bus.Now.step
    for call in [each for each in Seen.calls if each.numbers and each.read is None]:
        reading.add(call.numbers, lambda numbers, call=call: _call_read(call, step, numbers, terms))
    reading.send()


def read_now(optimizer: Any) -> None:
    defer(optimizer)
    bus._guarded_settle()


def _losses_read(numbers: list[float]) -> None:
    Seen.numbers.extend(numbers)
    bus.Now.loss = numbers[-1]


def _call_read(call: Any, step: int, numbers: list[float], terms: list[Any]) -> None:
    call.read, call.numbers = numbers, []
    Seen.rows.append((step, call.labels, numbers, terms))


# ---------------------------------------------------------------------------------------------- judging


def judge(optimizer: Any, number: int) -> None:
    """Before the optimizer writes: is what it is about to use finite?"""
    if not isfinite(sum(Seen.numbers)):
        diagnosing = hook.load("_bitten_probes.nan_verdict")
        if Seen.kind != "none" or diagnosing.is_bad(optimizer):
            went_bad(lambda: diagnosing.diagnose(optimizer, number))


def _look_now() -> None:
    """Nothing steps here: evaluation, or a loop that writes its own update. A NaN is told; an Inf may be meant."""
    read_now(None)
    is_nan = any(each.read is not None and each.labels[1] and each.read[-2] != each.read[-2] for each in Seen.calls if each.has_weights())
    if is_nan or not isfinite(sum(Seen.numbers)):
        diagnosing = hook.load("_bitten_probes.nan_verdict")
        if is_nan or diagnosing.is_bad(None):
            went_bad(lambda: diagnosing.diagnose(None, bus.Now.step))


def _drop() -> None:
    window.clear()
    Seen.calls, Seen.losses, Seen.backwards = [], [], 0


def went_bad(diagnose: Callable[[], Any]) -> None:
    """The first bad step is told; those after it are counted."""
    Seen.bad_steps += 1
    if Seen.kind == "none":
        tell(diagnose())


def tell(verdict: Any) -> None:
    if verdict is not None and Seen.kind == "none":
        Seen.kind = verdict.facts["nan.kind"]
        verdict.tell()
        bus.went_bad(verdict.facts["step"])


# ---------------------------------------------------------------------------------------------- anomaly mode


def _anomaly_switched() -> None:
    _anomaly_at[0] = report.line(sys._getframe(3))


def _count_anomaly() -> None:
    Seen.anomalous += 1
    if Seen.anomalous == ANOMALY_STEPS and Seen.kind == "none":
        says = f"torch's anomaly mode was on for {ANOMALY_STEPS} steps: a step costs 1.4 to 2.1 times as much, and none of them was bad"
        report.finding("nan", "anomaly", says, {"nan.anomaly_steps": ANOMALY_STEPS}, _anomaly_at[0])


# ---------------------------------------------------------------------------------------------- ends


def _forked() -> None:
    """A child's steps are its own."""
    _inherited.append(dict(vars(Seen)))  # what lies on a device is the parent's to free
    Seen.__init__()  # type: ignore[misc]
    window.forked()


def _end() -> None:
    scaler = sys.modules["_bitten_probes.nan_scaler"]
    scaler.tell_held()
    if _only_looks():
        _look_now()
    if Seen.kind == "none" and Seen.written:
        tell(hook.load("_bitten_probes.nan_verdict").spoilt_at_the_end())
    if Seen.steps or Seen.has_called:
        report.fact("nan", "summary", {"nan.kind": Seen.kind, "nan.steps": Seen.steps, "nan.bad_steps": Seen.bad_steps, **scaler.facts()})
