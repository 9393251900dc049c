"""Documented functions of a framework, made to tell of their calls: same arguments, same answer, same name and place in tables and pickles.

Knows no moment and no fact: who is told, and when nobody is, is the bus's affair.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType
    from typing import Any

_wrapped: list[tuple[Any, str, Any, Any]] = []


def _bus() -> Any:
    """It loads us before it is whole itself."""
    return sys.modules["_bitten_probes.bus"]


_WRAPPER = """
def watching(call, closed, before, after):
    def watched(*args, **kwargs):
        __tracebackhide__ = True
        if closed():
            return call(*args, **kwargs)
        kept = before(args, kwargs)
        out = call(*args, **kwargs)
        after(kept, args, kwargs, out)
        return out
    return watched


class Like:
    def __init__(self, plain, watched):
        self.plain, self.watched = plain, watched
    def __call__(self, *args, **kwargs):
        __tracebackhide__ = True
        return self.watched(*args, **kwargs)
    def __hash__(self):
        return hash(self.plain)
    def __eq__(self, other):
        return other is self or other is self.plain or getattr(other, "plain", None) is self.plain
    def __reduce__(self):
        return self.__qualname__
    def __repr__(self):
        return repr(self.plain)
"""
_names: dict[str, Any] = {"__name__": "bitten_watch"}
exec(compile(_WRAPPER, "<bitten watch>", "exec", dont_inherit=True), _names)
_watching, _like = _names["watching"], _names["Like"]
"""A function of C is passed to `__torch_function__` as itself, while a program's table has what stood in the module: the two are equal."""


def wrap(
    probe: str, owner: Any, name: str, before: Callable[[Any, Any], Any] | None = None,
    after: Callable[[Any, Any, Any, Any], None] | None = None,
) -> bool:  # fmt: skip
    """Have a function or method of a framework tell of its calls: `before(args, kwargs)`, `after(what before gave, args, kwargs, out)`.

    Says whether there was such a function. The call gets the very same arguments, and its caller the very same answer.
    """
    import functools  # noqa: PLC0415 - loaded by whatever framework this is

    found = owner.__dict__.get(name, _of_c(owner, name)) if isinstance(owner, type) else getattr(owner, name, None)
    inner: Any = found.__func__ if isinstance(found, (staticmethod, classmethod)) else found
    if not callable(inner):
        return False
    outer = _watching(inner, _bus().is_closed, _guarded(probe, name, before), _guarded(probe, name, after))
    plain = _innermost(inner)
    if type(owner) is type(sys) and type(plain) is type(len):
        outer = _like(plain, outer)
    functools.update_wrapper(outer, inner)
    _name(outer, owner, name)
    placed = outer if inner is found else (staticmethod if isinstance(found, staticmethod) else classmethod)(outer)
    _wrapped.append((owner, name, found, placed))
    setattr(owner, name, placed)
    return True


def _innermost(function: Any) -> Any:
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    return function


def _name(outer: Any, owner: Any, name: str) -> None:
    """Pickle finds a function by its names: a program may hand it to a worker, or save it in a model."""
    if isinstance(owner, type):
        outer.__module__, outer.__qualname__ = owner.__module__, f"{owner.__qualname__}.{name}"
    elif type(owner) is type(sys):
        outer.__module__, outer.__qualname__ = owner.__name__, name


def _of_c(owner: type, name: str) -> Any:
    """A method inherited from a class of C, which nobody can wrap there: such as most of torch.Tensor's."""
    found = getattr(owner, name, None)
    return found if type(found).__name__ in ("method_descriptor", "wrapper_descriptor") else None


def caller(frame: FrameType | None) -> FrameType | None:
    """Whoever called what is wrapped, perhaps several times: from the frame of a wrap outward."""
    while frame is not None and frame.f_code.co_filename == "<bitten watch>":
        frame = frame.f_back
    return frame


def _guarded(probe: str, name: str, call: Callable[..., Any] | None) -> Callable[..., Any]:
    if call is None:
        return lambda *_: None
    live = [call]

    def guarded(*args: Any) -> Any:
        if not live:
            return None
        try:
            return live[0](*args)
        except Exception as error:  # as in `fire`
            live.clear()
            _bus().take_out(probe, error, name)
            return None

    return guarded


def scripting(plain: Any) -> Any:
    """TorchScript reads a function's source and its globals: while it does, what we wrapped is as it was."""
    import functools  # noqa: PLC0415 - as above

    @functools.wraps(plain)
    def script(*args: Any, **kwargs: Any) -> Any:
        for owner, name, found, _ in reversed(_wrapped):
            setattr(owner, name, found)
        if len(args) < 3:  # names of a class are looked up in the frame of whoever called us
            kwargs["_frames_up"] = kwargs.get("_frames_up", 0) + 1
        try:
            return plain(*args, **kwargs)
        finally:
            for owner, name, _, placed in _wrapped:
                setattr(owner, name, placed)

    return script
