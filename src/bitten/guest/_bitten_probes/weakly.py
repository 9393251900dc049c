"""Tables and sets of the program's live objects, by identity alone: their own `__hash__` and `__eq__`, which may raise, are never asked.

(A metric of torchmetrics hashes its state, and has none before it is made.) Keeps nothing alive.
"""

from __future__ import annotations

import weakref
from _collections_abc import MutableMapping, MutableSet

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


class Keys(MutableMapping):  # type: ignore[type-arg]  # Python 3.8 takes no subscript here
    """As weakref.WeakKeyDictionary."""

    def __init__(self) -> None:
        self._kept: dict[int, tuple[Any, Any]] = {}

    def __getitem__(self, thing: Any) -> Any:
        found = self._kept.get(id(thing))
        if found is None or found[0]() is not thing:
            raise KeyError(id(thing))
        return found[1]

    def __setitem__(self, thing: Any, value: Any) -> None:
        self._kept[id(thing)] = (_ref(thing, self._kept), value)

    def __delitem__(self, thing: Any) -> None:
        self[thing]  # a KeyError where it is none of ours
        del self._kept[id(thing)]

    def __iter__(self) -> Iterator[Any]:
        return _living(list(self._kept.values()))

    def __len__(self) -> int:
        return len(self._kept)


class Things(MutableSet):  # type: ignore[type-arg]  # as above
    """As weakref.WeakSet."""

    def __init__(self) -> None:
        self._kept: dict[int, tuple[Any, Any]] = {}

    def __contains__(self, thing: Any) -> bool:
        found = self._kept.get(id(thing))
        return found is not None and found[0]() is thing

    def __iter__(self) -> Iterator[Any]:
        return _living(list(self._kept.values()))

    def __len__(self) -> int:
        return len(self._kept)

    def add(self, thing: Any) -> None:
        if thing not in self:
            self._kept[id(thing)] = (_ref(thing, self._kept), None)

    def discard(self, thing: Any) -> None:
        if thing in self:
            del self._kept[id(thing)]


def _ref(thing: Any, kept: dict[int, tuple[Any, Any]]) -> Any:
    key = id(thing)
    return weakref.ref(thing, lambda _: kept.pop(key, None))


def _living(kept: list[tuple[Any, Any]]) -> Iterator[Any]:
    for ref, _ in kept:
        thing = ref()
        if thing is not None:
            yield thing
