"""What is wrapped: the ways to end a process at once, and modules as soon as the program itself has imported them. Imports none of them.

`except Exception` has the hook's reason.
"""

from __future__ import annotations

import _thread
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]



def _patch_traceback(module: Any) -> None:
    """All formatting by the standard library passes here: print_exc, logging.exception, workers that send their traceback home."""
    TracebackException = module.TracebackException  # noqa: N806 - its name
    plain = TracebackException.__init__
    depth = _thread._local()

    def __init__(self: Any, exc_type: Any, exc_value: Any, exc_traceback: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807 - its name
        nested = getattr(depth, "is_inside", False)
        if not nested:
            hook.capture(exc_value, exc_traceback, "formatted")
        depth.is_inside = True
        try:
            plain(self, exc_type, exc_value, exc_traceback, *args, **kwargs)
        finally:
            depth.is_inside = nested

    __init__.__wrapped__ = plain  # type: ignore[attr-defined]
    TracebackException.__init__ = __init__


def _patch_threading(module: Any) -> None:
    """Not `threading.excepthook`, which a program may replace, but what calls it."""
    plain = module._make_invoke_excepthook

    def _make_invoke_excepthook() -> Any:
        invoke = plain()

        def invoke_excepthook(thread: Any) -> None:
            exc = sys.exc_info()[1]
            if type(exc) is not SystemExit:
                hook.capture(exc, None, "thread")
            invoke(thread)

        return invoke_excepthook

    module._make_invoke_excepthook = _make_invoke_excepthook


def _patch_torch_worker(module: Any) -> None:
    """torch's DataLoader workers take the SIGSEGV handler; put faulthandler in front of theirs again."""
    plain = module._set_worker_signal_handlers

    def _set_worker_signal_handlers(*args: Any) -> None:
        plain(*args)
        hook.emit("worker", id=_worker_id(sys._getframe(1)))
        if hook.Log.faults_are_ours:
            sys.modules["faulthandler"].disable()
            hook.watch_faults()

    module._set_worker_signal_handlers = _set_worker_signal_handlers


def _worker_id(loop: Any) -> int:
    """A fault in C leaves no variables: a worker says who it is as soon as it starts."""
    found = loop.f_locals.get("worker_id")
    return found if type(found) is int else -1


def _patch_popen(module: Any) -> None:
    """A child of multiprocessing that a signal ended: whoever learns of it stores its code here, and a wrapped `poll` would stand in
    tracebacks."""

    def read(self: Any) -> Any:
        try:
            return self.__dict__["returncode"]
        except KeyError:
            raise AttributeError("returncode") from None

    def store(self: Any, code: Any) -> None:
        held = self.__dict__
        if type(code) is int and code < 0 and held.get("returncode") is None:
            hook.emit("dead", child=held.get("pid"), signal=-code)
        held["returncode"] = code

    module.Popen.returncode = property(read, store)


def _patch_ipython(module: Any) -> None:
    hook.load("_bitten_cells").patch(module)


def _patch_pytest(module: Any) -> None:
    """A failing test never reaches sys.excepthook. (PYTEST_PLUGINS would kill a pytest that we don't reach.)"""
    plain = module.check_interactive_exception

    def check_interactive_exception(call: Any, report: Any) -> Any:
        answer = plain(call, report)
        if answer and call.excinfo is not None:
            exc = call.excinfo.value
            if type(exc).__name__ == "CollectError" and exc.__cause__ is not None:  # pytest's own wrapping of what an import raised
                exc = exc.__cause__
            hook.capture(exc, exc.__traceback__, "pytest")
        return answer

    module.check_interactive_exception = check_interactive_exception


def _patch_unittest(module: Any) -> None:
    """All that a result formats looks alike, also a failure that was expected; these are told of the others."""

    def wrapped(plain: Any) -> Any:
        def add(self: Any, *args: Any) -> Any:
            err = args[-1] if args else None
            if type(err) is tuple and len(err) == 3:
                hook.capture(err[1], err[2], "unittest")
            return plain(self, *args)

        add.__wrapped__ = plain  # type: ignore[attr-defined]
        return add

    for name in ("addError", "addFailure", "addSubTest"):
        setattr(module.TestResult, name, wrapped(getattr(module.TestResult, name)))


_ON_IMPORT: dict[str, list[Callable[[Any], None]]] = {
    "traceback": [_patch_traceback], "threading": [_patch_threading], "_pytest.runner": [_patch_pytest],
    "torch.utils.data._utils.signal_handling": [_patch_torch_worker], "multiprocessing.popen_fork": [_patch_popen],
    "torch.distributed.distributed_c10d": [lambda module: hook.load("_bitten_picture").attach(module)],
    "IPython.core.interactiveshell": [_patch_ipython], "unittest.result": [_patch_unittest],
}  # fmt: skip


def on_import(name: str, patch: Callable[[Any], None]) -> None:
    """Call `patch` with the module: at once if it is loaded, else as soon as it is."""
    _ON_IMPORT.setdefault(name, []).append(patch)
    if name in sys.modules:
        _apply(patch, sys.modules[name])


def _apply(patch: Callable[[Any], None], module: Any) -> None:
    try:
        patch(module)
    except Exception as error:
        hook.emit("hookerr", where="patch " + str(getattr(module, "__name__", "?")), err=type(error).__name__)


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
    """Who ended the process badly, and the exception in whose hands."""
    try:
        code = _exit_code(code)
        if code is None or code == 0 or hook.is_busy():
            return
        hook.emit("exit", fn=function, code=code, at=hook.load("_bitten_frames").stack(frame), **_last_words(frame))
        exc = sys.exc_info()[1]
        if exc is not None and not isinstance(exc, SystemExit):
            hook.capture(exc, exc.__traceback__, "exit-in-except")
    except Exception:
        pass


def _last_words(frame: Any) -> dict[str, str]:
    """What argparse is about to print: its exit code says nothing."""
    code = frame.f_code
    words = frame.f_locals.get("message") if (code.co_name, code.co_filename[-12:]) == ("exit", "/argparse.py") else None
    return {"words": hook.load("_bitten_redact").scrub(words[:2000])} if type(words) is str else {}


def _exit_code(code: Any) -> Any:
    if code is None:
        return None
    if type(code) is str:
        return hook.load("_bitten_redact").scrub(code[:2000])
    if any(base is int for base in type.__getattribute__(type(code), "__mro__")):
        return int.__int__(code)  # an enum's, too
    return type(code).__name__


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
