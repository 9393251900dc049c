"""One set of hooks on torch that tells every instrument of the same moments. An instrument that fails is taken out, and named.

Moments of training: a batch comes, the outermost module is called and returns, backward runs, an optimizer steps. Deferred numbers are
read off the device once a step. What is compiled is closed: no moment inside a compiled region is told. Knows no fact.
"""

from __future__ import annotations

import os
import sys
import weakref
from _thread import _local
from time import perf_counter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]
weakly: Any = hook.load("_bitten_probes.weakly")
report: Any = hook.load("_bitten_probes.report")
patches: Any = hook.load("_bitten_patches")
wrapping: Any = hook.load("_bitten_probes.wrapping")
wrap, caller = wrapping.wrap, wrapping.caller

MOMENTS = (
    "batch",        # (iterator, loader or None, data): a DataLoader handed out a batch, in the process that asked for it
    "root_pre",     # (module, args): an outermost module is about to be called; losses of torch.nn are none
    "root_post",    # (module, args, kwargs, out)
    "module_pre",   # (module, args): every module, the root too; costs each call, so listen only where it is needed
    "module_post",  # (module, args, kwargs, out)
    "root_failed",  # (module,): its call raised
    "backward",     # (tensors,): before torch.autograd.backward
    "backward_done",  # (tensors,)
    "zero_grad",    # (owner,): an optimizer, or a module
    "step_pre",     # (optimizer, number): before its step; `number` counts its completed ones
    "settled",      # (optimizer, number): still before the step, with all deferred numbers read
    "step_post",    # (optimizer, number)
    "mode",         # (module, training): the outermost call of train() or eval()
    "born",         # (object, (at, place)): a module, optimizer, loader or scheduler was made or taken into its parent
    "forked",       # (): this is a child now, such as a loader's worker: what the parent saw is not the child's
    "end",          # (): the process is about to end
)
_heard: dict[str, list[tuple[str, Callable[..., Any]]]] = {name: [] for name in MOMENTS}
_mine = _local()
_births: dict[int, tuple[Any, tuple[str, str]]] = {}
_steps: Any = weakly.Keys()
_own_hooks: set[int] = set()


class Now:
    """Where the training is. `step` counts the completed steps of the optimizer that has made the most; `loss` is the last one read."""

    step = 0
    loss: float | None = None
    quiet = False
    told_at = 0.0
    bad: int | None = None
    is_ended = False


# ---------------------------------------------------------------------------------------------- listening


def listen(probe: str, **moments: Callable[..., Any]) -> None:
    """Call these at their moments, in the order in which instruments were armed."""
    for name, call in moments.items():
        _heard[name].append((probe, call))


def fire(moment: str, *args: Any) -> None:
    for probe, call in tuple(_heard[moment]):
        try:
            call(*args)
        except Exception as error:  # an instrument that fails takes itself out, and the program goes on
            take_out(probe, error, moment)


def take_out(probe: str, error: BaseException, where: str) -> None:
    for heard in _heard.values():
        heard[:] = [each for each in heard if each[0] != probe]
    trace, at = error.__traceback__, ""
    while trace is not None:
        at, trace = f"{trace.tb_frame.f_code.co_name}:{trace.tb_lineno}", trace.tb_next
    hook.emit("hookerr", where=f"instrument {probe} at {where}", err=f"{type(error).__name__}: {str(error)[:200]} ({at})")


_pending: list[tuple[Any, Callable[[list[float]], None]]] = []


class quiet:  # noqa: N801 - read as a word: `with bus.quiet():`
    """Inside, the program's modules may be called and no moment is told: for replays and for torch's own work on our behalf."""

    def __enter__(self) -> None:
        self.was, Now.quiet = Now.quiet, True

    def __exit__(self, *_: object) -> None:
        Now.quiet = self.was


def is_closed() -> bool:
    """Whether nobody is to be told: our own work, code that is traced or transformed, which has no values to read, or a mode's.

    A program's own dispatch mode (or that of `make_fx`, or of fake tensors) would see each operation of ours.
    """
    if Now.quiet or Now.is_ended or _is_compiling() or _is_capturing():
        return True
    return bool(_is_tracing()) or _is_transforming() or _dispatch_modes() > 0


def _never() -> bool:
    return False


_is_compiling: Callable[[], bool] = _never
_is_tracing: Callable[[], Any] = _never
_is_transforming: Callable[[], bool] = _never
_dispatch_modes: Callable[[], int] = _never


def _is_capturing() -> bool:
    """Whether a CUDA graph is being made: a number read off the device would end it, and work of ours would become a part of it."""
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    return cuda is not None and bool(cuda.is_initialized() and cuda.is_current_stream_capturing())


# ---------------------------------------------------------------------------------------------- deferred numbers


def defer(vector: Any, call: Callable[[list[float]], None]) -> None:
    """Have a 1-d tensor of few float32 numbers read at the next step, together with all others; `call` gets them as a list."""
    _pending.append((vector, call))


MOST_PENDING = 256
MOST_UNREAD = 20
_unread: list[str] = []


def settle() -> None:
    """One host read a device for all that was deferred. It waits while a CUDA graph is captured."""
    torch = sys.modules.get("torch")
    if torch is None or not _pending or _is_capturing():
        return
    pending = _pending[:]
    _pending.clear()
    by_device: dict[Any, list[tuple[Any, Callable[[list[float]], None]]]] = {}
    for each in pending:
        by_device.setdefault(each[0].device, []).append(each)
    for group in by_device.values():
        with torch.no_grad(), quiet():  # an instrument may listen to the program's own reads
            numbers = (torch.cat([vector for vector, _ in group]) if len(group) > 1 else group[0][0]).tolist()
        at = 0
        for vector, call in group:
            size = vector.shape[0]
            _hand_over(call, numbers[at : at + size])
            at += size


def _hand_over(call: Callable[[list[float]], None], numbers: list[float]) -> None:
    """One that fails leaves the others theirs."""
    try:
        call(numbers)
    except Exception as error:
        _tell_unread(error)


def _tell_unread(error: Exception) -> None:
    if len(_unread) < MOST_UNREAD:
        _unread.append(str(error))
        hook.emit("hookerr", where="instruments reading", err=f"{type(error).__name__}: {str(error)[:200]}")


# ---------------------------------------------------------------------------------------------- modules


def _pre(module: Any, args: Any) -> None:
    if is_closed():
        return
    depth = getattr(_mine, "depth", 0)
    _mine.depth = depth + 1
    if depth == 0 and not _is_loss(module):
        if len(_pending) > MOST_PENDING:
            _guarded_settle()
        fire("root_pre", module, args)
    if _heard["module_pre"]:
        fire("module_pre", module, args)


def _post(module: Any, args: Any, *rest: Any) -> None:
    """(kwargs, out); where the call raised torch gives `None` alone. The hook is always called, so that the depth is right afterwards."""
    if is_closed():
        return
    kwargs, out = rest if len(rest) == 2 else ({}, None)
    depth = _mine.depth = max(0, getattr(_mine, "depth", 1) - 1)
    if out is None and _is_raising():
        if depth == 0:
            fire("root_failed", module)
        return
    if _heard["module_post"]:
        fire("module_post", module, args, kwargs, out)
    if depth == 0 and not _is_loss(module):
        fire("root_post", module, args, kwargs, out)


def _is_raising() -> bool:
    return sys.exc_info()[0] is not None


def depth() -> int:
    """How many modules are being called, one inside the other, in this thread."""
    return int(getattr(_mine, "depth", 0))


def _is_loss(module: Any) -> bool:
    return type(module).__module__ == "torch.nn.modules.loss"


def name_in(root: Any, module: Any) -> str:
    """The dotted path of a module below a root; of the root itself empty, of a stranger its type's name."""
    for name, each in root.named_modules():
        if each is module:
            return str(name)
    return type(module).__name__


# ---------------------------------------------------------------------------------------------- where things were made


def note_birth(thing: Any, where: tuple[str, str]) -> None:
    key = id(thing)
    try:
        _births[key] = (weakref.ref(thing, lambda _: _births.pop(key, None)), where)
    except TypeError:  # a kind that no weak reference can be had of: nothing is known of it later
        return
    fire("born", thing, where)


def birthplace(thing: Any) -> tuple[str, str]:
    """(`file:line`, `file:function`) where the program made it, or took it into its parent; empty texts where nobody saw."""
    found = _births.get(id(thing))
    return found[1] if found is not None and found[0]() is thing else ("", "")


def _registered(parent: Any, name: str, child: Any) -> None:
    if child is not None and not is_closed():
        where = report.line(sys._getframe(1))
        if where[0]:
            note_birth(child, where)


# ---------------------------------------------------------------------------------------------- torch


def install() -> None:
    """Wait for torch; called once, before any instrument is armed."""
    patches.on_import("torch", _torch)
    patches.on_import("torch.utils.data.dataloader", _loaders)
    patches.on_import("torch.optim.lr_scheduler", lambda module: _births_of(getattr(module, "LRScheduler", module._LRScheduler)))


def _torch(torch: Any) -> None:
    global _is_compiling, _is_tracing, _is_transforming, _dispatch_modes  # noqa: PLW0603 - known once torch is there
    modules, optimizers = torch.nn.modules.module, sys.modules["torch.optim.optimizer"]
    _is_compiling = getattr(getattr(torch, "compiler", None), "is_compiling", _never)
    _is_tracing = torch._C._get_tracing_state
    _is_transforming = getattr(torch._C, "_are_functorch_transforms_active", _never)
    _dispatch_modes = getattr(torch._C, "_len_torch_dispatch_stack", _never)
    for handle in (
        modules.register_module_forward_pre_hook(_pre), modules.register_module_forward_hook(_post, with_kwargs=True, always_call=True),
        modules.register_module_module_registration_hook(_registered),
    ):  # fmt: skip
        _own_hooks.add(handle.id)
    optimizers.register_optimizer_step_pre_hook(_before_step)
    optimizers.register_optimizer_step_post_hook(_after_step)
    _hide_our_hooks(modules)
    wrap("bus", torch.autograd, "backward", lambda args, kwargs: fire("backward", _tensors(args, kwargs)),
         lambda kept, args, kwargs, out: fire("backward_done", _tensors(args, kwargs)))
    wrap("bus", torch.optim.Optimizer, "zero_grad", lambda args, _: fire("zero_grad", args[0]))
    wrap("bus", torch.nn.Module, "zero_grad", lambda args, _: fire("zero_grad", args[0]))
    wrap("bus", torch.nn.Module, "train", _switching, _switched)
    _births_of(torch.optim.Optimizer)
    hook.emit("met", name="torch", version=str(torch.__version__))
    if hasattr(torch, "jit"):
        torch.jit.script = wrapping.scripting(torch.jit.script)


def _hide_our_hooks(modules: Any) -> None:
    """torch.compile warns where there are global hooks: of ours, which do nothing inside, it has nothing to say."""
    if not hasattr(modules, "_has_any_global_hook"):
        return
    tables = [value for name, value in vars(modules).items() if name.startswith("_global_") and name.endswith("_hooks")]
    modules._has_any_global_hook = lambda: any(key not in _own_hooks for table in tables for key in table)


def _tensors(args: Any, kwargs: Any) -> tuple[Any, ...]:
    given = args[0] if args else kwargs.get("tensors", ())
    return tuple(given) if isinstance(given, (tuple, list)) else (given,)


def _switching(args: Any, kwargs: Any) -> bool:
    outermost = not getattr(_mine, "switching", False)
    _mine.switching = True
    return outermost


def _switched(outermost: bool, args: Any, kwargs: Any, out: Any) -> None:
    if outermost:
        _mine.switching = False
        fire("mode", args[0], bool(args[1] if len(args) > 1 else kwargs.get("mode", True)))


def _nobody() -> None:
    return None


def _hold(loader: Any) -> Callable[[], Any]:
    """As long as its iterator lives: `for x in DataLoader(…)` keeps no other. One with persistent workers holds its iterator itself."""
    return weakref.ref(loader) if getattr(loader, "persistent_workers", False) else lambda: loader


def _births_of(kind: type) -> None:
    wrap("bus", kind, "__init__", None, lambda kept, args, kwargs, out: note_birth(args[0], report.line(sys._getframe(2))))


def _loaders(module: Any) -> None:
    _births_of(module.DataLoader)
    owners: Any = weakly.Keys()
    wrap("bus", module.DataLoader, "__iter__", None, lambda kept, args, kwargs, out: owners.__setitem__(out, _hold(args[0])))
    wrap("bus", module._BaseDataLoaderIter, "__next__", None,
         lambda kept, args, kwargs, out: fire("batch", args[0], owners.get(args[0], _nobody)(), out))


# ---------------------------------------------------------------------------------------------- steps


def _before_step(optimizer: Any, args: Any, kwargs: Any) -> None:
    if is_closed():
        return
    number = _steps.get(optimizer, 0)
    fire("step_pre", optimizer, number)
    _guarded_settle()
    fire("settled", optimizer, number)


def _guarded_settle() -> None:
    try:
        settle()
    except Exception as error:  # a number that can't be read: those of this step are not known
        _tell_unread(error)


def _after_step(optimizer: Any, args: Any, kwargs: Any) -> None:
    if is_closed():
        return
    number = _steps.get(optimizer, 0)
    fire("step_post", optimizer, number)
    _steps[optimizer] = number + 1
    Now.step = max(Now.step, number + 1)
    _live()


def steps_of(optimizer: Any) -> int:
    return int(_steps.get(optimizer, 0))


def _live() -> None:
    """For the line that a person sees, about once a second; and the end that they asked for."""
    now = perf_counter()
    if now - Now.told_at >= 1.0:
        Now.told_at = now
        hook.emit("live", step=Now.step, loss=repr(Now.loss) if Now.loss is not None else "")
    if Now.bad is not None and Now.step >= Now.bad + _stop_after():
        hook.emit("stop", step=Now.step)
        Now.bad = None


def went_bad(number: int) -> None:
    """The first bad step: whoever asked for it wants the program ended so many steps later."""
    if Now.bad is None and _stop_after() >= 0:
        Now.bad = number
        hook.emit("bad", step=number)
        if _stop_after() == 0:
            hook.emit("stop", step=number)
            Now.bad = None


def _stop_after() -> int:
    """Steps after the first bad one; -1 where nobody asked to stop."""
    try:
        return int(os.environ.get("BITTEN_STOP_AFTER", "-1"))
    except ValueError:
        return -1


# ---------------------------------------------------------------------------------------------- how a process ends


def flush() -> None:
    """At the end of the process: what is still deferred, the instruments' last words, and all counts."""
    if Now.is_ended:
        return
    _guarded_settle()
    fire("end")
    _stop_profiling()
    report.flush()
    Now.is_ended = True


def _stop_profiling() -> None:
    """Past this point the interpreter takes our modules apart, and a profiler of ours would fail aloud."""
    profiling = sys.modules.get("_bitten_probes.profiling")
    if profiling is not None:
        profiling.stop()


def forked() -> None:
    """A child begins anew: what its parent saw is its parent's to tell."""
    Now.step, Now.loss, Now.bad = 0, None, None
    _pending.clear()
    _steps.clear()
    _mine.depth = 0
    report.forked()
    fire("forked")
