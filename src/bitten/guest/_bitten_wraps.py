"""What is wrapped in a module that the program has just imported, where nothing else tells of an exception. Imports none of them."""

from __future__ import annotations

import _thread
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]


def traceback(module: Any) -> None:
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


def threading(module: Any) -> None:
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


def torch_worker(module: Any) -> None:
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


def popen(module: Any) -> None:
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


def ipython(module: Any) -> None:
    hook.load("_bitten_cells").patch(module)


def pytest(module: Any) -> None:
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


def unittest(module: Any) -> None:
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
