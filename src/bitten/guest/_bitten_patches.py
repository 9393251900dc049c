"""Modules that are told of later: what is wrapped as soon as the program itself has imported it. Imports none of them."""

from __future__ import annotations

import _thread
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
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
        if hook.Log.faults_are_ours:
            sys.modules["faulthandler"].disable()
            hook.watch_faults()

    module._set_worker_signal_handlers = _set_worker_signal_handlers


def _patch_pytest(module: Any) -> None:
    """A failing test never reaches sys.excepthook. (PYTEST_PLUGINS would kill a pytest that we don't reach.)"""
    plain = module.check_interactive_exception

    def check_interactive_exception(call: Any, report: Any) -> Any:
        answer = plain(call, report)
        if answer and call.excinfo is not None:
            hook.capture(call.excinfo.value, call.excinfo.tb, "pytest")
        return answer

    module.check_interactive_exception = check_interactive_exception


_ON_IMPORT: dict[str, list[Callable[[Any], None]]] = {
    "traceback": [_patch_traceback], "threading": [_patch_threading], "_pytest.runner": [_patch_pytest],
    "torch.utils.data._utils.signal_handling": [_patch_torch_worker],
    "torch.distributed.distributed_c10d": [lambda module: hook.load("_bitten_picture").attach(module)],
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
    """Patch what is loaded already, and wait for the rest."""
    for name, patches in list(_ON_IMPORT.items()):
        for patch in patches if name in sys.modules else ():
            _apply(patch, sys.modules[name])
    sys.meta_path.insert(0, Finder)


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
