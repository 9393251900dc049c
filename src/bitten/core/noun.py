"""What a noun is: a frozen dataclass whose comparison, hash and text are written here, once, for all of them.

`dataclass(frozen=True)` writes and compiles those for every class, at each start of ours: most of a millisecond for each of
the forty of the law (measured in benchmarks/RESULTS.md, start of the command). Nothing here knows any noun.
"""

from __future__ import annotations

from dataclasses import FrozenInstanceError, dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

T = TypeVar("T")

if TYPE_CHECKING:
    from typing import dataclass_transform
else:  # Python 3.10 has none, and only the type checker asks for it

    def dataclass_transform(**_kind):
        return lambda decorator: decorator


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def noun(cls: type[T]) -> type[T]:
    """`@dataclass(frozen=True)`, quicker to make. What the class says of itself stands."""
    own = vars(cls)
    for name, method in _SHARED.items():
        if name not in own:
            setattr(cls, name, method)
    return dataclass(eq=False, repr=False)(cls)


def _values(one: Any) -> tuple[Any, ...]:
    return tuple(getattr(one, name) for name in one.__dataclass_fields__)


def _eq(self: Any, other: object) -> bool:
    return _values(self) == _values(other) if type(self) is type(other) else NotImplemented


def _hash(self: Any) -> int:
    return hash(_values(self))


def _repr(self: Any) -> str:
    pairs = zip(self.__dataclass_fields__, _values(self), strict=True)
    return f"{type(self).__qualname__}({', '.join(f'{name}={value!r}' for name, value in pairs)})"


def _setattr(self: Any, name: str, value: object) -> None:
    """Once, by `__init__`."""
    if name in self.__dict__ or name not in self.__dataclass_fields__:
        raise FrozenInstanceError(f"cannot assign to field {name!r}")
    object.__setattr__(self, name, value)


def _delattr(self: Any, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


_SHARED = {"__eq__": _eq, "__hash__": _hash, "__repr__": _repr, "__setattr__": _setattr, "__delattr__": _delattr}
