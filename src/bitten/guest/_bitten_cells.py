"""Cells of a notebook: what IPython shows, told with the cell's number. Knows no notebook file: a kernel isn't told of its name."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]
redact: Any = hook.load("_bitten_redact")

SOURCE = 16_000


def patch(module: Any) -> None:
    """IPython shows an exception itself, so that no other hook ever hears of it."""
    shell, compiler = module.InteractiveShell, module.CachingCompiler
    for name in ("showtraceback", "showsyntaxerror"):
        setattr(shell, name, _like(getattr(shell, name), _telling))
    compiler.cache = _like(compiler.cache, _counting)


def _like(plain: Any, made: Any) -> Any:
    new = made(plain)
    for attribute in ("__doc__", "__module__", "__name__", "__qualname__"):
        setattr(new, attribute, getattr(plain, attribute))
    new.__wrapped__ = plain
    return new


def _counting(plain: Any) -> Any:
    """Each cell as it is compiled: its code's pseudo file, its number and its source, which no file on disk has."""

    def cache(self: Any, *args: Any, **kwargs: Any) -> Any:
        file = plain(self, *args, **kwargs)
        try:
            text, number, raw = (*args, *(None,) * 3)[:3]
            source = kwargs.get("raw_code", raw) or kwargs.get("transformed_code", text)
            if type(file) is str and type(source) is str:
                number = kwargs.get("number", number)
                hook.emit("cell", f=file, n=number if type(number) is int else 0, src=redact.scrub(source[:SOURCE]))
        except Exception as error:  # the cell runs whatever becomes of us
            hook.emit("hookerr", where="cells", err=type(error).__name__)
        return file

    return cache


def _telling(plain: Any) -> Any:
    def show(self: Any, *args: Any, **kwargs: Any) -> Any:
        _tell(args[0] if args and type(args[0]) is tuple else kwargs.get("exc_tuple"))
        return plain(self, *args, **kwargs)

    return show


def _tell(told: Any) -> None:
    try:
        exc: Any = told[1] if told else sys.exc_info()[1]
        if exc is not None and issubclass(type(exc), SystemExit):
            hook.load("_bitten_patches").note_exit("SystemExit in a cell", exc.code, _innermost(exc.__traceback__))
        else:
            hook.capture(exc, exc.__traceback__ if exc is not None else None, "cell")
    except Exception as error:  # the cell's own trouble is shown whatever becomes of us
        hook.emit("hookerr", where="cells", err=type(error).__name__)


def _innermost(tb: Any) -> Any:
    while tb is not None and tb.tb_next is not None:
        tb = tb.tb_next
    return tb.tb_frame if tb is not None else None
