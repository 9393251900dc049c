"""How `tables` comes between: functions and methods of scikit-learn, pandas and numpy tell of their calls, and warn as they always did.

Part of the instrument `tables`. A class of the program's own main file is left as it is: loky would send our wrapper to a process that has
no guest.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]
bus: Any = hook.load("_bitten_probes.bus")

_watched: set[tuple[int, str]] = set()
_busy: list[bool] = []


def _once(call: Callable[..., Any] | None) -> Callable[..., Any] | None:
    """What we ask pandas and numpy for, to look at a call, is no call of the program's."""
    if call is None:
        return None

    def once(*args: Any) -> Any:
        if _busy:
            return None
        _busy.append(True)
        try:
            return call(*args)
        finally:
            _busy.clear()

    return once


def watch(owner: Any, name: str, before: Callable[..., Any] | None = None, after: Callable[..., Any] | None = None) -> bool:
    """A seam that fails is taken out alone."""
    return bool(bus.wrap("tables." + name, owner, name, _once(before), _once(after)))


def watch_pandas(owner: Any, name: str, before: Callable[..., Any] | None = None, after: Callable[..., Any] | None = None) -> None:
    """pandas looks for the first frame outside its folder, to warn of that line: our frame says that it is inside."""
    if watch(owner, name, before, after):
        placed = owner.__dict__[name]
        inner = getattr(placed, "__func__", placed)
        folder = str(sys.modules["pandas"].__file__).rpartition("/")[0]
        inner.__code__ = inner.__code__.replace(co_filename=folder + "/<bitten watch>")


def watch_property(owner: Any, name: str, after: Callable[..., Any]) -> None:
    """The same for what reads like an attribute."""
    found = owner.__dict__.get(name)
    if isinstance(found, property):
        holder = type("holder", (), {"fget": found.fget})
        watch_pandas(holder, "fget", None, after)
        setattr(owner, name, property(holder.__dict__["fget"], found.fset, found.fdel, found.__doc__))


def every_subclass(base: Any, born: Callable[[type], None]) -> None:
    """Call `born` with each class below `base`, those of today and those to come."""
    plain = base.__dict__.get("__init_subclass__")

    def subclassed(cls: Any, **kwargs: Any) -> None:
        if plain is not None:
            plain.__func__(cls, **kwargs)
        else:
            super(base, cls).__init_subclass__(**kwargs)
        _guarded(born, cls)

    base.__init_subclass__ = classmethod(subclassed)  # type: ignore[arg-type]
    pending: list[Any] = list(base.__subclasses__())
    while pending:
        cls = pending.pop()
        pending.extend(cls.__subclasses__())
        _guarded(born, cls)


def _guarded(born: Callable[[type], None], cls: type) -> None:
    try:
        born(cls)
    except Exception as error:  # a class that is not watched
        bus.take_out("tables.class", error, cls.__name__)


def watch_methods(cls: type, methods: dict[str, tuple[Any, Any]]) -> None:
    """Wherever in its lineage a method stands, and once."""
    for name, (before, after) in methods.items():
        for base in cls.__mro__:
            found = base.__dict__.get(name)
            if found is None:
                continue
            if base.__module__ != "__main__" and (id(base), name) not in _watched:
                _watched.add((id(base), name))
                watch(found, "fn", before, after) if type(found).__name__ == "_AvailableIfDescriptor" else watch(base, name, before, after)
            break
