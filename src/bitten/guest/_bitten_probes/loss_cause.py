"""A close look at one step, once something is suspected: on which line of the person's was an operation called, or a tensor made?

A profiler of Python's sees, in this thread and until the look ends, each call of one of torch's functions and what the person's own
functions return. Not where the program has a profiler of its own, not in other threads, and at most a few times a process.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]
bus: Any = hook.load("_bitten_probes.bus")
report: Any = hook.load("_bitten_probes.report")
frames: Any = hook.load("_bitten_frames")
outputs: Any = hook.load("_bitten_probes.root_outputs")
profiling: Any = hook.load("_bitten_probes.profiling")

MOST_LOOKS = 20
MOST_EVENTS = 300_000
"""About 0.3 s; a step that has more is only seen in part."""
CALLS = frozenset((
    "relu", "relu_", "softmax", "log_softmax", "sigmoid", "sigmoid_", "tanh", "tanh_", "softplus", "hardsigmoid", "logsigmoid",
))  # fmt: skip
MANY = 2000


class Seen:
    """What the last look saw: the place of the last call of each name, and the line where each storage was first returned."""

    looks = 0
    events = 0
    calls: dict[str, tuple[str, str]] = {}  # noqa: RUF012 - of one process
    returned: dict[int, tuple[Any, tuple[str, str]]] = {}  # noqa: RUF012 - as above


def begin() -> bool:
    """Look from now on; False where it may not."""
    if Seen.looks >= MOST_LOOKS or not profiling.begin(_look):
        return False
    Seen.looks, Seen.events, Seen.calls, Seen.returned = Seen.looks + 1, 0, {}, {}
    return True


def end() -> None:
    profiling.end(_look)


def place_of_call(*names: str) -> tuple[str, str]:
    """Where the last of these was called, or the module that called it was made; empty texts where none was seen."""
    return next((Seen.calls[name] for name in reversed(Seen.calls) if name in names), ("", ""))


def place_of(tensor: Any) -> tuple[str, str]:
    """The `return` of the person's own function that first gave this tensor, or one that shares its memory."""
    return Seen.returned.get(outputs.storage(tensor), (None, ("", "")))[1]


def note_batch(loader: Any, data: Any) -> None:
    """What no function of the person's returned came out of a loader: its dataset's or its collate function's first line stands for it."""
    kind = type(getattr(loader, "dataset", None))
    for function in (getattr(loader, "collate_fn", None), getattr(kind, "__getitem__", None), getattr(kind, "__iter__", None)):
        code = getattr(function, "__code__", None)
        if code is not None and not frames.is_library(code.co_filename):
            file = frames.absolute(code.co_filename)
            place = (f"{file}:{code.co_firstlineno}", f"{file}:{getattr(function, '__qualname__', code.co_name)}")
            for tensor in outputs.tensors(data):
                Seen.returned.setdefault(outputs.storage(tensor), (outputs.weak(tensor), place))
            return


def _look(frame: FrameType, event: str, arg: Any) -> None:
    try:
        Seen.events += 1
        if Seen.events > MOST_EVENTS:
            end()
        elif event == "c_call":
            if getattr(arg, "__name__", "") in CALLS:
                _note_call(frame, arg.__name__)
        elif event == "return" and arg is not None and not frames.is_library(frame.f_code.co_filename):
            _note_return(frame, arg)
    except Exception:  # a look that fails sees nothing, and the program goes on
        end()


def _note_call(frame: FrameType, name: str) -> None:
    Seen.calls.pop(name, None)  # so that the newest stands last
    Seen.calls[name] = _maker(frame) or report.line(frame)


def _maker(frame: FrameType | None) -> tuple[str, str] | None:
    """The birthplace of the module of torch.nn that this call belongs to."""
    while frame is not None and frames.is_library(frame.f_code.co_filename):
        if frame.f_code.co_name == "forward" and str(frame.f_globals.get("__name__", "")).startswith("torch.nn.modules."):
            variables = frames.variables_of(frame)
            place: tuple[str, str] = bus.birthplace(variables.get("self"))
            frames.forget(frame, variables)
            return place if place[0] else None
        frame = frame.f_back
    return None


def _note_return(frame: FrameType, value: Any) -> None:
    is_plain = type(value) in (tuple, list, dict) or hasattr(type(value), "_fields")  # of others, reading may run the program's code
    if len(Seen.returned) < MANY and (is_plain or outputs.is_plain(value)):
        for tensor in outputs.tensors(value):
            Seen.returned.setdefault(outputs.storage(tensor), (outputs.weak(tensor), report.line(frame)))
