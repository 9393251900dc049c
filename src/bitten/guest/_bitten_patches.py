"""What is wrapped: the ways to end a process at once, and modules as soon as the program itself has imported them. Imports none of them.

`except Exception` has the hook's reason.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]


_ON_IMPORT: dict[str, list[Callable[[Any], None] | str]] = {
    "traceback": ["traceback"], "threading": ["threading"], "unittest.result": ["unittest"], "_pytest.runner": ["pytest"],
    "torch.utils.data._utils.signal_handling": ["torch_worker"], "multiprocessing.popen_fork": ["popen"],
    "IPython.core.interactiveshell": ["ipython"],
    "torch.distributed.distributed_c10d": [lambda module: hook.load("_bitten_picture").attach(module)],
}  # fmt: skip
"""Names of functions of `_bitten_wraps`, which is read when the first of these modules is there."""


def on_import(name: str, patch: Callable[[Any], None]) -> None:
    """Call `patch` with the module: at once if it is loaded, else as soon as it is."""
    _ON_IMPORT.setdefault(name, []).append(patch)
    if name in sys.modules:
        _apply(patch, sys.modules[name])


def _apply(patch: Callable[[Any], None] | str, module: Any) -> None:
    try:
        (getattr(hook.load("_bitten_wraps"), patch) if isinstance(patch, str) else patch)(module)
    except Exception as error:
        hook.emit("hookerr", where="patch " + str(getattr(module, "__name__", "?")), err=f"{type(error).__name__}: {str(error)[:200]}")


def start() -> None:
    """Wrap what is loaded already, and wait for the rest."""
    _patch_exits()
    for name, patches in list(_ON_IMPORT.items()):
        for patch in patches if name in sys.modules else ():
            _apply(patch, sys.modules[name])
    sys.meta_path.insert(0, Finder)


def _patch_exits() -> None:
    plain_exit, plain__exit, plain_abort = sys.exit, os._exit, os.abort

    class exit:  # noqa: N801 - its name
        """Called, a class runs `__new__` and then `__init__`, which here is C's own `sys.exit`: no frame of ours in any traceback."""

        def __new__(cls, *args: Any, **kwargs: Any) -> Any:
            note_exit("sys.exit", args[0] if args else None, sys._getframe(1))
            return object.__new__(cls)

        __init__ = staticmethod(plain_exit)

    def _exit(status: Any) -> Any:
        note_exit("os._exit", status, sys._getframe(1))
        hook.flush()
        plain__exit(status)

    def abort() -> Any:
        note_exit("os.abort", -6, sys._getframe(1))
        plain_abort()

    for new, plain in ((exit, plain_exit), (_exit, plain__exit), (abort, plain_abort)):
        for attribute in ("__doc__", "__module__", "__name__", "__qualname__"):
            setattr(new, attribute, getattr(plain, attribute))
    sys.exit, os._exit, os.abort = exit, _exit, abort


def note_exit(function: str, code: Any, frame: FrameType | None) -> None:
    if code is not None and not (type(code) is int and code == 0):
        try:  # noqa: SIM105 - contextlib is no part of start-up
            hook.load("_bitten_ends").note(function, code, frame)
        except Exception:  # an end that is not noted, and still comes
            pass


class _Loader:
    """The module's own loader, which says when it is done."""

    def __init__(self, plain: Any) -> None:
        self._plain = plain

    def create_module(self, spec: Any) -> Any:
        return self._plain.create_module(spec)

    def exec_module(self, module: Any) -> None:
        module.__spec__.loader = module.__loader__ = self._plain
        self._plain.exec_module(module)
        for patch in _ON_IMPORT.get(module.__name__, ()):
            _apply(patch, module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._plain, name)


class Finder:
    """First in sys.meta_path: finds our own files, and lends its loader to modules that we wait for."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> Any:
        if name == "_bitten_pytest":
            return sys.modules["_frozen_importlib_external"].PathFinder.find_spec(name, [hook.Where.here])
        if name not in _ON_IMPORT:
            return None
        for finder in list(sys.meta_path):
            find = getattr(finder, "find_spec", None) if finder is not Finder else None
            spec = find(name, path, target) if find is not None else None
            if spec is not None:
                if hasattr(spec.loader, "exec_module"):
                    spec.loader = _Loader(spec.loader)
                return spec
        return None
