"""Live objects of the program by weak reference, and when to look: at steps 1 to 4, 8, 16, 32, … . Keeps nothing alive."""

from __future__ import annotations

import weakref

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


class Weak:
    """Objects with a record each, forgotten when they die. By identity: the program's own `__eq__` is never asked."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._kept: dict[int, tuple[Any, Any]] = {}

    def get(self, thing: Any) -> Any:
        found = self._kept.get(id(thing))
        return found[1] if found is not None and found[0]() is thing else None

    def put(self, thing: Any, record: Any) -> None:
        key = id(thing)
        if len(self._kept) < self.most:
            self._kept[key] = (weakref.ref(thing, lambda _: self._kept.pop(key, None)), record)

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        for ref, record in list(self._kept.values()):
            thing = ref()
            if thing is not None:
                yield thing, record

    def clear(self) -> None:
        self._kept.clear()


def is_check(number: int) -> bool:
    """Of a step's number, the first being 0."""
    return number < 4 or (number + 1) & number == 0


def is_judged(number: int) -> bool:
    """Where what holds for long enough is told before the end: a run may be killed."""
    return number in (63, 511, 4095, 32767)


def is_plain(tensor: Any) -> bool:
    """Whether its values can be read here and now: not sparse, not without memory, not spread over ranks."""
    return str(tensor.layout) == "torch.strided" and tensor.device.type != "meta" and not hasattr(tensor, "placements")


def parameters(optimizer: Any) -> list[Any]:
    return [each for group in optimizer.param_groups for each in group["params"]]
