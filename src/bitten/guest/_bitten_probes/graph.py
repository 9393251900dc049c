"""What backward runs on, and what stays alive of it: a loss that reaches no parameter, graphs that nobody lets go of, memory by step.

A mark in a graph node's own `metadata` lives exactly as long as the node: how many marks of old steps are left says how many graphs are
kept. Only the first steps are marked. A loss that was made anew is told by its having no history.
"""

from __future__ import annotations

import os
import sys
import weakref

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]
bus: Any = hook.load("_bitten_probes.bus")
report: Any = hook.load("_bitten_probes.report")
held: Any = hook.load("_bitten_probes.held")
sources: Any = hook.load("_bitten_probes.sources")

MARKED = 80
"""Steps whose graphs are marked."""
OLD = 5
KEPT = 16
"""Graphs of that many steps, each older than `OLD` steps: a few are kept on purpose (a window, a replay); none is ever let go of here."""
STREAK = 3
ANEW = r"\btensor\(.*requires_grad\s*=\s*True|\bVariable\(|\.requires_grad_\(\s*(True)?\s*\)|\.requires_grad\s*=\s*True"
DIVERGED = 10.0
LEAK = 100_000  # bytes a step


TERMS = (1, 2, 4)
"""Backward calls whose loss is taken apart."""
SUMS = ("AddBackward0", "SubBackward0", "MulBackward0", "DivBackward0", "SumBackward0", "MeanBackward0", "StackBackward0")


class Mark:
    """Dies with the graph node it is on."""

    __slots__ = ("__weakref__", "step")

    def __init__(self, step: int) -> None:
        self.step = step


class Now:
    anew = backwards = terms = 0
    term: Any = staticmethod(lambda: None)
    marks: list[Any] = []  # noqa: RUF012 - of one process
    kept = 0
    is_told = False
    losses: list[float] = []  # noqa: RUF012 - the first
    last: float | None = None
    is_bad = False
    memory: list[tuple[int, int]] = []  # noqa: RUF012 - (step, bytes) at each doubling


def install() -> None:
    bus.listen("optimizer", backward=_backward, root_post=_root_post, step_post=_step_post, forked=_forked)


def _forked() -> None:
    Now.marks.clear()
    Now.memory.clear()


# ---------------------------------------------------------------------------------------------- the loss


def _backward(tensors: Any) -> None:
    Now.backwards += 1
    for each in tensors:
        node = getattr(each, "grad_fn", None)
        if node is not None:
            _mark(node, bus.Now.step)
    loss = tensors[0] if tensors else None
    if loss is None or not hasattr(loss, "grad_fn"):
        return
    if Now.backwards in TERMS and loss.grad_fn is not None and loss.numel() == 1:
        _look_for_term_made_anew(loss.grad_fn)
    if loss.grad_fn is None and loss.requires_grad and loss.numel() == 1 and type(loss).__name__ != "Parameter":
        _made_anew()
    if loss.numel() == 1 and loss.is_floating_point() and held.is_plain(loss):
        value = loss.detach().reshape(1)
        bus.defer(value if value.dtype is sys.modules["torch"].float32 else value.float(), _noted)


def _made_anew() -> None:
    Now.anew += 1
    if Now.anew == Now.backwards == STREAK:
        backward, maker = report.here(), sources.only(ANEW)
        report.finding("optimizer", "anew", "The loss that backward runs on was made anew from a value and has no history: no gradient "
                       "reaches any parameter", {"optimizer.loss_history": "none", "also": [backward[0]] if maker[0] else []},
                       maker if maker[0] else backward)


def _look_for_term_made_anew(node: Any) -> None:
    """A number that is added into the loss and is a trainable tensor of its own, another one each time: its gradient goes nowhere."""
    waiting, found = [(node, 0)], None
    while waiting and found is None:
        each, depth = waiting.pop()
        leaf = getattr(each, "variable", None)
        if leaf is not None and leaf.numel() == 1 and type(leaf) is sys.modules["torch"].Tensor:
            found = leaf
        elif type(each).__name__ in SUMS and depth < 12:
            waiting += [(below, depth + 1) for below, _ in each.next_functions if below is not None]
    was, Now.term = Now.term(), weakref.ref(found) if found is not None else (lambda: None)
    Now.terms = Now.terms + 1 if found is not None and found is not was else 0
    if Now.terms == len(TERMS):
        backward, maker = report.here(), sources.only(ANEW)
        report.finding("optimizer", "anew_term", "A term of the loss was made anew from a value and has no history: its gradient reaches "
                       "no parameter", {"optimizer.loss_history": "none of a term", "also": [backward[0]] if maker[0] else []},
                       maker if maker[0] else backward)


def _noted(numbers: list[float]) -> None:
    value = numbers[0]
    if not float("-inf") < value < float("inf"):
        Now.is_bad = True
        return
    Now.is_bad = False
    if len(Now.losses) < 5:
        Now.losses.append(value)
    Now.last = value


def has_diverged() -> bool:
    """At the end not finite, or far above where it began: a search for a rate that goes too far is left behind."""
    if Now.is_bad or Now.last is None or not Now.losses:
        return Now.is_bad
    first = sorted(Now.losses)[len(Now.losses) // 2]
    return first > 0 and Now.last > DIVERGED * first


# ---------------------------------------------------------------------------------------------- graphs that stay


def _mark(node: Any, step: int) -> None:
    if step < MARKED and not Now.is_told and len(Now.marks) < 8 * MARKED:
        mark = Mark(step)
        metadata = getattr(node, "metadata", None)  # torch before 2.1 has none
        if metadata is not None and "bitten" not in metadata:
            metadata["bitten"] = mark
            Now.marks.append(weakref.ref(mark))


def _root_post(module: Any, args: Any, kwargs: Any, out: Any) -> None:
    if bus.Now.step >= MARKED or Now.is_told:
        return
    for each in (out if isinstance(out, (tuple, list)) else (out,))[:3]:
        for tensor in (each if isinstance(each, (tuple, list)) else (each,))[:2]:
            node = getattr(tensor, "grad_fn", None)
            if node is not None:
                _mark(node, bus.Now.step)


def _step_post(optimizer: Any, number: int) -> None:
    if held.is_check(number) and number >= 15 and number + 1 > (Now.memory[-1][0] if Now.memory else 0):
        Now.memory.append((number + 1, _resident()))
    if not Now.is_told and Now.marks and number >= KEPT + OLD and number % 8 == 7:
        _count_kept(number)


def _count_kept(number: int) -> None:
    live = [mark for mark in (ref() for ref in Now.marks) if mark is not None]
    Now.marks[:] = [weakref.ref(mark) for mark in live]
    steps = {mark.step for mark in live if mark.step < number - OLD}
    Now.kept = max(Now.kept, len(steps))
    if len(steps) >= KEPT and min(steps) < OLD:
        Now.is_told = True
        _tell_kept(len(steps), number)
        Now.marks.clear()
    elif number > MARKED + OLD + 16:
        Now.marks.clear()


def _tell_kept(kept: int, number: int) -> None:
    holder, name = _holder()
    backward = report.here()
    says = (f"After {number + 1} steps the graphs of {kept} earlier steps are still alive" + (f", held by `{name}`" if name else "")
            + ": a tensor with its history was kept, so memory grows with each step")
    where = holder if holder[0] else backward
    report.finding("optimizer", "kept_graphs", says, {"optimizer.kept_graphs": kept, "also": [backward[0]]}, where)


def _holder() -> tuple[tuple[str, str], str]:
    """Who adds to what keeps them: looked for once, by the name under which a tensor with many marks below it is held."""
    import gc  # noqa: PLC0415 - built in

    kind = sys.modules["torch"].Tensor
    grown = [each for each in gc.get_objects() if issubclass(type(each), kind) and each.grad_fn is not None]
    marked = [each for each in grown if "bitten" in each.grad_fn.metadata]
    chained = next((each for each in grown if "bitten" not in each.grad_fn.metadata and _marks_below(each.grad_fn) >= STREAK), None)
    if chained is None:
        chained = min(marked, key=lambda each: each.grad_fn.metadata["bitten"].step, default=None)
    del grown, marked
    name = "" if chained is None else _name_of(chained, gc)
    if not name:
        return ("", ""), ""
    plain = name.rpartition(".")[2]
    adds = rf"\+=|\.append\(|\.extend\(|=[^=].*\b{plain}\b.*\+|=[^=].*\+.*\b{plain}\b"
    return sources.only(rf"\b{plain}\b[\"']?\]?(\[[^\]]*\])?\s*({adds})"), name


def _marks_below(node: Any) -> int:
    """A running sum is a chain: each link has the sum so far and one step's loss."""
    seen, found, waiting = 0, 0, [node]
    while waiting and seen < 200:
        each = waiting.pop()
        seen += 1
        if "bitten" in each.metadata:
            found += 1
        else:
            waiting += [below for below, _ in each.next_functions if below is not None]
    return found


def _name_of(tensor: Any, gc: Any) -> str:
    """The attribute or variable that holds it, directly or in a list or dict."""
    near = [each for each in gc.get_referrers(tensor)[:40] if not _is_ours(each)]
    for holder in near:
        name = _key_in(holder, tensor)
        if name:
            return name
    for holder in near:
        for above in gc.get_referrers(holder)[:40] if type(holder).__name__ in ("list", "dict", "tuple", "deque") else ():
            name = "" if _is_ours(above) else _key_in(above, holder)
            if name:
                return name
    return _local_of(tensor)


def _is_ours(holder: Any) -> bool:
    frame = sys._getframe(1)
    for _ in range(8):
        if frame is None:
            return False
        if frame.f_locals is holder:
            return True
        frame = frame.f_back  # type: ignore[assignment]
    return False


def _key_in(holder: Any, value: Any) -> str:
    """Under which name a module, an instance or its dict has it."""
    if not isinstance(holder, dict):
        try:
            holder = object.__getattribute__(holder, "__dict__")
        except AttributeError:
            return ""
    found = next((key for key, each in list(holder.items())[:10_000] if each is value), None) if type(holder) is dict else None
    return found if type(found) is str and found.isidentifier() else ""


def _local_of(tensor: Any) -> str:
    """A variable of a function that is running."""
    frames = hook.load("_bitten_frames")
    for frame in frames.outward(sys._getframe(1)):
        if frames.is_library(frame.f_code.co_filename):
            continue
        variables = frames.variables_of(frame)
        name = next((key for key, each in variables.items() if each is tensor or
                     (isinstance(each, (list, tuple)) and any(item is tensor for item in each[:MARKED]))), "")
        frames.forget(frame, variables)
        if name:
            return str(name)
    return ""


# ---------------------------------------------------------------------------------------------- memory


def _resident() -> int:
    try:
        with open("/proc/self/statm", "rb") as file:  # noqa: PTH123 - as in the hook
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 0


def facts() -> dict[str, Any]:
    told: dict[str, Any] = {"optimizer.kept_graphs": Now.kept}
    if Now.backwards:
        is_part = Now.terms == len(TERMS)
        told["optimizer.loss_history"] = "none" if Now.anew == Now.backwards else "none of a term" if is_part else "whole"
    if len(Now.memory) >= 3 and all(size for _, size in Now.memory):
        (first, small), (last, big) = Now.memory[-2:]
        told["optimizer.memory_per_step"] = growth = (big - small) / (last - first)
        if growth > LEAK and big > 1.1 * small:
            report.hint("optimizer", "memory", f"Memory grew by {growth / 1e6:.2f} MB a step between steps {first} and {last}", dict(told))
    return told
