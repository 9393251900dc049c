"""One exception at the moment that it is met: whether it is worth a record, and all that is recorded with it. Knows no way that it came.

`except Exception` has the hook's reason.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]

SNAPSHOTS = 24
HANDLED = 12  # of them, for exceptions that the program caught
BOUNDARIES = 8  # of them, told so that the failing call can be made anew
CAUGHT = ("formatted", "exit-in-except", "unraisable")
NO_NEWS = ("Skipped", "XFailed", "Interrupted")  # pytest's own, which it formats by the hundred
KNOWN = ("torch", "numpy", "pandas", "sklearn", "transformers", "lightning", "accelerate", "tensorflow", "jax", "scipy", "datasets",
         "tokenizers")


class Budget:
    """What was captured so far. A caught exception that comes from a line again is no news."""

    snapshots, handled, boundaries = SNAPSHOTS, HANDLED, BOUNDARIES
    sites: set[tuple[str, int, int]] = set()  # noqa: RUF012 - one a process
    modules_told = False

    @classmethod
    def affords(cls, exc: BaseException, tb: TracebackType | None, is_caught: bool) -> bool:
        site = _site(exc, tb)
        if cls.snapshots <= 0 or (is_caught and (cls.handled <= 0 or site in cls.sites)):
            return False
        cls.snapshots -= 1
        cls.handled -= is_caught
        cls.sites.add(site)
        return True

    @classmethod
    def renew(cls) -> None:
        cls.snapshots, cls.handled, cls.boundaries, cls.modules_told = SNAPSHOTS, HANDLED, BOUNDARIES, False
        cls.sites = set()


def _site(exc: BaseException, tb: TracebackType | None) -> tuple[str, int, int]:
    tb = tb or exc.__traceback__
    while tb is not None and tb.tb_next is not None:
        tb = tb.tb_next
    kind = type.__getattribute__(type(exc), "__qualname__")
    return (kind, id(tb.tb_frame.f_code), tb.tb_lineno) if tb is not None else (kind, 0, 0)


def forked() -> None:
    """A child begins to count anew."""
    Budget.renew()


def capture(exc: BaseException, tb: TracebackType | None, how: str) -> None:
    is_caught = how in CAUGHT
    if is_caught and type.__getattribute__(type(exc), "__name__") in NO_NEWS:
        return
    if Budget.affords(exc, tb, is_caught):
        _record(exc, tb, how, 0.1 if is_caught else 0.25)
        if hook.Log.held is not None:
            hook.load("_bitten_later").told(exc, tb, how)


def _record(exc: BaseException, tb: TracebackType | None, how: str, seconds: float) -> None:
    """^C is nobody's bug, and nothing may be imported for it: CPython forgets that one is under way, and exits 1 instead of dying by
    SIGINT, once an import evaluates a string, as namedtuple does."""
    trouble, is_interrupt = "", issubclass(type(exc), KeyboardInterrupt)
    if is_interrupt and "re" not in sys.modules:
        seconds = 0.0  # no variables: their redaction would import it
    for _ in range(3):  # a signal that came before they were held fires once in here: torch's SIGCHLD handler raises
        try:
            found = hook.load("_bitten_snap").snapshot(exc, tb, seconds, calm=hook.Where.is_forked, ask=how != "exit-in-except")
            hook.emit("exc", how=how, exc=found, sightings=[] if is_interrupt else _sightings(tb or exc.__traceback__))
            if not is_interrupt:
                _tell_boundary(exc, tb, found["msg"])
            if (how not in CAUGHT or hook.Where.is_forked) and not is_interrupt:  # a worker sends what it could not catch to its parent
                hook.load("_bitten_maps").tell(tb or exc.__traceback__)
            tell_modules()
            return
        except Exception as error:
            trouble = f"{type(error).__name__}: {str(error)[:200]}"
    hook.emit("hookerr", where="capture", err=trouble)


def _tell_boundary(exc: BaseException, tb: TracebackType | None, message: str) -> None:
    """What makes the failing call anew, for the first few: whichever turns out to be the root cause is among them."""
    if Budget.boundaries <= 0:
        return
    Budget.boundaries -= 1
    try:
        hook.emit("boundary", msg=message, **hook.load("_bitten_boundary").boundary(exc, tb or exc.__traceback__))
    except Exception as error:
        hook.emit("hookerr", where="boundary", err=type(error).__name__)


def _sightings(tb: TracebackType | None) -> list[Any]:
    if not os.environ.get("BITTEN_PROBES"):
        return []
    found: list[Any] = hook.load("_bitten_probe").at_crash(tb)
    watch = sys.modules.get("_bitten_watch")
    return [watch.seen(each) for each in found] if watch is not None else found


def tell_modules() -> None:
    """Once: the versions of what matters, and torch's settings that change numbers."""
    if Budget.modules_told:
        return
    Budget.modules_told = True
    names = {}
    for name in KNOWN:
        module = sys.modules.get(name)
        if type(module) is type(sys):
            version = module.__dict__.get("__version__")
            names[name] = str.__str__(version) if isinstance(version, str) else ""
    if names:
        hook.emit("modules", names=names, torch=_torch_settings() if "torch" in names else {})


def _torch_settings() -> dict[str, Any]:
    try:
        torch: Any = sys.modules["torch"]
        capability = str(torch.backends.cpu.get_cpu_capability())
        return {"cpu capability": capability, "threads": torch.get_num_threads(), "seed": torch.initial_seed()}
    except Exception:
        return {}
