"""A pytest plugin (`-p _bitten_pytest`): one record for each test and phase, and for each module that can't be collected. Judges none."""

from __future__ import annotations

import sys

import pytest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_PHASE_RESULT = {("setup", "failed"): "error", ("teardown", "failed"): "error"}


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: Any, call: Any) -> Any:
    outcome = yield
    report = outcome.get_result()
    _tell(item.nodeid, report.when, _PHASE_RESULT.get((report.when, report.outcome), report.outcome), call.excinfo)


def pytest_exception_interact(node: Any, call: Any, report: Any) -> None:
    if isinstance(report, pytest.CollectReport):
        _tell(report.nodeid, "collect", "error", call.excinfo)


def _tell(test: str, phase: str, result: str, excinfo: Any) -> None:
    """Without the hook we were loaded by mistake, and stay silent."""
    hook = sys.modules.get("_bitten_hook")
    if hook is not None:
        hook.emit("test", test=test, phase=phase, result=result, **_raised(hook, excinfo.value if excinfo is not None else None))


def _raised(hook: Any, exc: Any) -> dict[str, Any]:
    """What it raised; pytest's own wrapping of an import failure is taken off."""
    if type(exc).__name__ == "CollectError" and exc.__cause__ is not None:
        exc = exc.__cause__
    if exc is None:
        return {"error": "", "message": ""}
    snap = hook.load("_bitten_snap")
    was = hook.set_busy(True)
    try:
        found = snap.snapshot(exc, exc.__traceback__, 0.25)
    except Exception as error:  # a test's outcome counts, with or without its frames
        return {"error": type(exc).__name__, "message": f"<not read: {type(error).__name__}>"}
    finally:
        hook.set_busy(was)
    return {"error": found["type"], "message": found["msg"][:2000], "exc": found}
