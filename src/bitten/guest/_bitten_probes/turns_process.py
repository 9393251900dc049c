"""Turns of the process: seeds, determinism, threads, device. Knows no model and no data.

A seed moves all seedings of the program by one distance, so that those which differed still do.
"""

from __future__ import annotations

import os
import sys
from _thread import _local

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]
patches: Any = hook.load("_bitten_patches")
turns: Any = hook.load("_bitten_probes.turns")

ACCELERATORS = ("cuda", "mps", "xpu", "hpu", "npu")


# ---------------------------------------------------------------------------------------------- seeds


def seed(turn: Any) -> None:
    """The first seed that the program gives becomes ours, all others move as far; what it never seeds begins with ours."""
    import operator  # noqa: PLC0415 - in copies alone

    ours, inside = int(turn.value), _local()
    moved: list[int] = []
    unseeded: list[None] = []

    def new(given: Any) -> Any:
        """Numbers move; none becomes ours, and then the next, so that two stay apart; any other kind is left as it is."""
        if given is None:
            unseeded.append(None)
            return ours + len(unseeded) - 1
        try:
            number = operator.index(given)
        except TypeError:
            return given
        if not moved:
            moved.append(ours - number)
            if number == ours:
                turn.fail(ValueError("it is the program's own first seed, and moves none"))
        return (number + moved[0]) % 2**32

    def change(call: Any, args: Any, kwargs: Any) -> Any:
        if getattr(inside, "now", False):  # torch's own seeding seeds its devices
            return call(*args, **kwargs)
        inside.now = True
        try:
            given = args[0] if args else kwargs.get("seed", kwargs.get("a"))
            turn.met()
            return call(new(given), *args[1:])
        finally:
            inside.now = False

    def begin(module: Any, names: Any) -> None:
        getattr(module, names[0])(ours)
        turn.met()
        for name in names:
            turns.around(module, name, change)

    def in_torch(torch: Any) -> None:
        begin(torch, ("manual_seed",))
        torch.random.manual_seed = torch.manual_seed
        torch.Generator = _moving(torch.Generator, new, turn)
        for name in ("manual_seed", "manual_seed_all"):
            turns.around(torch.cuda, name, change)

    patches.on_import("random", lambda module: begin(module, ("seed",)))
    patches.on_import("numpy.random", lambda module: begin(module, ("seed", "default_rng")))
    patches.on_import("torch", in_torch)


def _moving(kind: Any, new: Any, turn: Any) -> Any:
    class Generator(kind):  # type: ignore[misc]
        def manual_seed(self, given: Any) -> Any:
            turn.met()
            return super().manual_seed(new(given))

    Generator.__module__, Generator.__qualname__ = kind.__module__, kind.__qualname__
    return Generator


# ---------------------------------------------------------------------------------------------- determinism and threads


def deterministic(turn: Any) -> None:
    if turn.value != "on":
        raise ValueError("it is deterministic=on")
    os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"

    def in_torch(torch: Any) -> None:
        plain = torch.use_deterministic_algorithms
        plain(True, warn_only=True)
        torch.use_deterministic_algorithms = lambda *args, **kwargs: plain(True, warn_only=True)
        cudnn = torch.backends.cudnn
        cudnn.deterministic, cudnn.benchmark = True, False
        turn.met()

    patches.on_import("torch", in_torch)


def threads(turn: Any) -> None:
    """Also what the program sets itself; but not what torch sets in a loader's worker."""
    wanted = int(turn.value)
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"):
        os.environ[name] = str(wanted)

    def change(args: Any, kwargs: Any) -> Any:
        if _caller().startswith("torch.utils.data"):
            return args, kwargs
        turn.met()
        return (wanted,), {}

    def in_torch(torch: Any) -> None:
        torch.set_num_threads(wanted)
        turn.met()
        turns.arguments(turn, torch, "set_num_threads", change)

    patches.on_import("numpy", lambda module: turn.met())
    patches.on_import("torch", in_torch)


def _caller() -> str:
    """The module that called what we stand around."""
    frame: Any = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").startswith("_bitten"):
        frame = frame.f_back
    return "" if frame is None else str(frame.f_globals.get("__name__", ""))


# ---------------------------------------------------------------------------------------------- device


def device(turn: Any) -> None:
    if turn.value != "cpu":
        raise ValueError("it is device=cpu")
    os.environ["CUDA_VISIBLE_DEVICES"] = ""

    def asked(out: Any, args: Any) -> Any:
        if os.path.exists("/dev/nvidiactl"):  # noqa: PTH110 - pathlib is no part of the guest
            turn.met()
        return out

    def in_torch(torch: Any) -> None:
        _to_cpu(torch, turn).__enter__()
        turns.answers(turn, torch.cuda, "is_available", asked)
        for name in ("set_device", "synchronize"):
            turns.around(torch.cuda, name, lambda call, args, kwargs: turn.met())
        turns.arguments(turn, torch, "load", lambda args, kwargs: (args, {**kwargs, "map_location": "cpu"}) if len(args) < 2
                        else ((args[0], "cpu", *args[2:]), kwargs))

    patches.on_import("torch", in_torch)


def _to_cpu(torch: Any, turn: Any) -> Any:
    """Every call of torch's that names an accelerator names the CPU instead."""

    def is_one(value: Any) -> bool:
        name = value if isinstance(value, str) else str(value) if isinstance(value, torch.device) else ""
        return name.partition(":")[0] in ACCELERATORS

    class ToCPU(torch.overrides.TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            kwargs = kwargs or {}
            if getattr(func, "__name__", "") in ACCELERATORS:  # tensor.cuda(…)
                turn.met()
                return args[0]
            if any(map(is_one, args)) or any(map(is_one, kwargs.values())):
                turn.met()
                args = tuple("cpu" if is_one(each) else each for each in args)
                kwargs = {name: "cpu" if is_one(each) else each for name, each in kwargs.items()}
            return func(*args, **kwargs)

    return ToCPU()
