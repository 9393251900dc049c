"""What a healthy step leaves behind: what each outermost call got, and a few numbers of it, to be read once for all.

References end with the step. A call that writes into its own arguments is found by their version counters, and its arguments are copied
from the next step on: of its first step the replay starts from what it left.
"""

from __future__ import annotations

import sys
import weakref

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import CodeType
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]
weakly: Any = hook.load("_bitten_probes.weakly")
bus: Any = hook.load("_bitten_probes.bus")
frames: Any = hook.load("_bitten_frames")

MEASURED = 8
"""Calls of a step whose inputs and outputs are measured; a loop over time may have thousands."""
MOST_CALLS, MOST_BYTES = 64, 256 << 20
"""Of one step's inputs, so that accumulation holds no hoard of batches."""

torch: Any = None
CPU: Any = None
_writers: Any = weakly.Things()
ELSEWHERE = ("DTensor", "FakeTensor")
"""Kinds of tensors whose reading waits for other ranks, or that have no values."""


def install(framework: Any) -> None:
    global torch, CPU
    torch, CPU = framework, framework.device("cpu")


def tensors(nest: Any, depth: int = 4) -> Iterator[Any]:
    if isinstance(nest, torch.Tensor):
        yield nest
    elif depth and isinstance(nest, dict):
        for each in nest.values():
            yield from tensors(each, depth - 1)
    elif depth and isinstance(nest, (list, tuple)):
        for each in nest[:256]:
            yield from tensors(each, depth - 1)
    elif depth and hasattr(type(nest), "__dataclass_fields__"):
        yield from tensors({name: getattr(nest, name, None) for name in type(nest).__dataclass_fields__}, depth - 1)


def changed(nest: Any, make: Callable[[Any], Any], depth: int = 4) -> Any:
    """The same nest with each tensor replaced; kinds of containers that we don't know are passed on as they are."""
    if isinstance(nest, torch.Tensor):
        return make(nest)
    if depth and type(nest) in (list, tuple):
        return type(nest)(changed(each, make, depth - 1) for each in nest)
    if depth and isinstance(nest, tuple) and hasattr(nest, "_fields"):
        return type(nest)(*(changed(each, make, depth - 1) for each in nest))
    if depth and type(nest) is dict:
        return {name: changed(each, make, depth - 1) for name, each in nest.items()}
    return nest


def is_float(tensor: Any) -> bool:
    return bool(tensor.is_floating_point() and is_here(tensor) and tensor.numel())


def is_here(tensor: Any) -> bool:
    """Whether its values can be read here and now: not sparse or nested, not without memory, not spread over ranks."""
    is_plain = tensor.layout is torch.strided and tensor.device.type != "meta" and not getattr(tensor, "is_nested", False)
    return bool(is_plain and type(tensor).__name__ not in ELSEWHERE)


# ---------------------------------------------------------------------------------------------- lines


def raw_lines(skip: int) -> list[tuple[CodeType, int]]:
    """Who is calling, to be read only if it matters: a frame itself would keep its variables alive."""
    found: list[tuple[CodeType, int]] = []
    try:
        frame: Any = sys._getframe(skip)
    except ValueError:  # fewer than so many
        return found
    while frame is not None and len(found) < 40:
        found.append((frame.f_code, frame.f_lineno))
        frame = frame.f_back
    return found


def place(lines: list[tuple[CodeType, int]]) -> tuple[str, str]:
    """(`file:line`, `file:function`) of the person's own innermost line among these; empty texts where there is none."""
    for code, line in lines:
        if code.co_filename.endswith("/_bitten_probes/replay.py"):
            break
        if not (frames.is_ours(code) or frames.is_library(code.co_filename)):
            file = frames.absolute(code.co_filename)
            return f"{file}:{line}", f"{file}:{getattr(code, 'co_qualname', code.co_name)}"
    return "", ""


# ---------------------------------------------------------------------------------------------- calls


class Call:
    """One call of an outermost module, which it does not keep alive: a loop may fail, drop its model and begin anew untold."""

    def __init__(self, module: Any, args: Any) -> None:
        self.alive, self.args = weakref.ref(module), args
        self.kwargs: dict[str, Any] = {}
        self.copied = module in _writers
        self.versions = [(each, _version(each)) for each in tensors(args)]
        if self.copied:
            self.args = changed(args, lambda each: each.detach().clone())
        self.has_grad = torch.is_grad_enabled()
        self.rng = rng_state()
        self.autocast = _autocast()
        self.lines = raw_lines(5)
        self.numbers: list[Any] = []
        self.labels: tuple[bool, bool] = (False, False)  # whether an input, and an output, was measured
        self.read: list[float] | None = None
        self.outs: list[int] = []  # identities of its outputs, as the loss's window knows them too
        self.stepped_by: set[int] = set()
        self.is_done = self.is_read = self.is_scalar = False

    @property
    def module(self) -> Any:
        """None where the program has dropped it."""
        return self.alive()

    def returned(self, kwargs: Any, out: Any, is_measured: bool) -> None:
        self.is_done, self.kwargs = True, kwargs or {}
        self.versions += [(each, _version(each)) for each in tensors(self.kwargs)]
        outs = list(tensors(out))[:8]
        self.is_scalar = len(outs) == 1 and outs[0].dim() == 0
        self.outs = [id(each) for each in outs]
        if is_measured:
            self._measure(outs)

    def _measure(self, outs: list[Any]) -> None:
        given = next((each for each in (*tensors(self.args), *tensors(self.kwargs)) if _is_number(each)), None)
        made = next((each for each in outs if is_float(each)), None)
        first, last = (_low_high_mean(each.detach()) if each is not None else [] for each in (given, made))
        self.numbers, self.labels = [*first, *last], (bool(first), bool(last))

    def has_weights(self) -> bool:
        """What has none is a metric or a loss, whose NaN may say that there was nothing to measure."""
        module = self.module
        return module is not None and next(module.parameters(), None) is not None

    def bad_output(self) -> bool | None:
        """Whether the first output has NaN or Inf in it; None where nobody knows."""
        if self.read is None or not self.labels[1]:
            return None
        low, high, _ = self.read[-3:]
        return not (abs(low) < float("inf") and abs(high) < float("inf"))

    def wrote_its_input(self) -> bool:
        return any(version is not None and _version(each) != version for each, version in self.versions)

    def forget(self) -> None:
        module = self.module
        if module is not None and not self.copied and self.wrote_its_input():
            _writers.add(module)


def _version(tensor: Any) -> int | None:
    return None if tensor.is_inference() else tensor._version


def _is_number(tensor: Any) -> bool:
    return bool(is_here(tensor) and tensor.numel() and not tensor.is_complex() and tensor.dtype is not torch.bool)


def _low_high_mean(tensor: Any) -> list[Any]:
    try:
        low, high = torch.aminmax(tensor)
        return [low, high, tensor.mean() if tensor.is_floating_point() else low]
    except RuntimeError:  # a dtype that torch only stores, such as float8 and uint16
        return []


def rng_state() -> list[Any]:
    """Of the CPU, and of the accelerator that is in use."""
    cuda = torch.cuda
    return [torch.get_rng_state(), *([(cuda.current_device(), cuda.get_rng_state())] if cuda.is_initialized() else [])]


def _autocast() -> list[tuple[str, Any]]:
    """(device, dtype) for which mixed precision is on."""
    if not hasattr(torch, "get_autocast_dtype"):  # before 2.4
        gpu = [("cuda", torch.get_autocast_gpu_dtype())] if torch.is_autocast_enabled() else []
        return gpu or ([("cpu", torch.get_autocast_cpu_dtype())] if torch.is_autocast_cpu_enabled() else [])
    if not torch._C._is_any_autocast_enabled():
        return []
    return [(name, torch.get_autocast_dtype(name)) for name in ("cuda", "cpu", "mps", "xpu") if torch.is_autocast_enabled(name)]


def drop_old(calls: list[Call]) -> None:
    """The oldest go when a step has too many, or too much: the newest always stays."""
    del calls[:-MOST_CALLS]
    while len(calls) > 2 and sum(each.nbytes for call in calls for each, _ in call.versions) > MOST_BYTES:
        del calls[0]


# ---------------------------------------------------------------------------------------------- numbers


class Reading:
    """Numbers of a step from many places, made one vector a device, and read with everybody's."""

    def __init__(self) -> None:
        self.parts: list[tuple[list[Any], Callable[[list[float]], None]]] = []

    def add(self, numbers: list[Any], call: Callable[[list[float]], None]) -> None:
        """0-d tensors; `call` gets them as floats."""
        if numbers:
            self.parts.append((numbers, call))

    def send(self) -> None:
        flat = [each for numbers, _ in self.parts for each in numbers]
        if not flat:
            return
        devices = {each.device for each in flat}
        if devices == {CPU}:
            self._tell([each.item() for each in flat])  # nothing to wait for, so a vector would only cost
        elif len(devices) == 1:
            bus.defer(_stacked(flat), self._tell)
        else:
            self._send_by_device(flat)

    def _send_by_device(self, flat: list[Any]) -> None:
        read, left = [0.0] * len(flat), [len(flat)]
        for device in {each.device for each in flat}:
            places = [at for at, each in enumerate(flat) if each.device == device]

            def came(numbers: list[float], places: list[int] = places) -> None:
                for at, number in zip(places, numbers):
                    read[at] = number
                left[0] -= len(places)
                if not left[0]:
                    self._tell(read)

            bus.defer(_stacked([flat[at] for at in places]), came)

    def _tell(self, numbers: list[float]) -> None:
        at = 0
        for part, call in self.parts:
            call(numbers[at : at + len(part)])
            at += len(part)


def _stacked(numbers: list[Any]) -> Any:
    with torch.no_grad():
        try:
            found = torch.stack(numbers)
            return found if found.dtype is torch.float32 else found.float()
        except RuntimeError:  # of several shapes or dtypes
            return torch.stack([each.float().reshape(()) for each in numbers])


def norms(values: list[Any]) -> list[Any]:
    """The L2 norm of each, not finite if one of its numbers isn't. (It may overflow too: whoever reports looks again.)"""
    kinds = {(type(each), each.layout, each.dtype) for each in values}
    with torch.no_grad():
        if kinds == {(torch.Tensor, torch.strided, torch.float32)}:
            return list(torch._foreach_norm(values))
        plain = [each for each in map(_numbers_of, values) if each is not None and each.numel()]
        plain = [torch.view_as_real(each) if each.is_complex() else each for each in plain]
        half = (torch.float16, torch.bfloat16)
        return [torch.linalg.vector_norm(each, dtype=torch.float32 if each.dtype in half else None) for each in plain]


def _numbers_of(tensor: Any) -> Any:
    """Its values without its graph, of a sparse one those it has; None where they can't be read here."""
    data = tensor.detach()
    if data.layout is torch.sparse_coo:
        return data.coalesce().values()
    return data if is_here(data) and (data.is_floating_point() or data.is_complex()) else None


def is_bad(tensor: Any) -> bool:
    """Reads the device: only after a trip."""
    with torch.no_grad():
        each = _numbers_of(tensor)
        return bool(each is not None and each.numel() and not torch.isfinite(each).all())


def has_nan(tensor: Any) -> bool:
    with torch.no_grad():
        return bool(is_float(tensor) and torch.isnan(tensor.detach()).any())
