"""`pytest --bitten`: when the session has ended, each different failure is run once more under `bitten run`, which opens its case.

pytest loads this file wherever bitten is installed, so it imports nothing of ours, and without the option adds that option alone.
It starts `bitten` as anybody would, and knows of a case what that prints.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest

MOST = 5
"""Different failures that get a case: each costs a run of its test."""
PATIENCE = 120.0
"""Seconds for one such run, and ten times what the test took before."""
_NUMBERS = re.compile(r"0x[0-9a-fA-F]+|\d+")
_CASE = re.compile(r"^\s*(case \d+ · \S+)", re.M)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("bitten")
    group.addoption("--bitten", action="store_true", default=False, help=f"Open a case for each different failure, up to {MOST}.")


def pytest_configure(config: pytest.Config) -> None:
    is_worker = hasattr(config, "workerinput")  # of xdist: its controller hears of everything
    if config.getoption("bitten", False) and not is_worker and not _is_watched():
        config.pluginmanager.register(_Failures(config), "bitten-failures")


def _is_watched() -> bool:
    """Whether `bitten run` or a check started us: with the option in the project's settings we would do so without end."""
    spool, shells = os.environ.get("BITTEN_SPOOL", ""), os.environ.get("BITTEN_SPOOLS", "")
    return bool(spool) and not (shells and spool.startswith(shells))


class _Failures:
    """The first of each kind."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._first: dict[tuple[str, str], tuple[str, float]] = {}
        self._interrupted = False

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and report.when != "teardown":
            self._note(report, report.duration)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._note(report, 0.0)

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """By a person; pytest interrupts itself where a file can't be read, and that is a failure."""
        self._interrupted = not isinstance(excinfo.value, pytest.Session.Interrupted)

    def _note(self, report: Any, took: float) -> None:
        crash = getattr(report.longrepr, "reprcrash", None)
        told = str(crash.message if crash else report.longrepr).partition("\n")[0]
        key = (_NUMBERS.sub("N", told), str(crash.path) if crash else report.nodeid)
        if len(self._first) < MOST:
            self._first.setdefault(key, (report.nodeid, took))

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """One line a case. Whatever stands in our way is such a line too: the session's result is not ours to change."""
        for nodeid, took in self._first.values() if not self._interrupted else ():
            try:
                line = self._case(nodeid, took)
            except Exception as error:
                line = f"no case: {type(error).__name__}: {error}"
            terminalreporter.write_line(f"bitten: {line} · {nodeid}")

    def _case(self, nodeid: str, took: float) -> str:
        here = Path(self._config.invocation_params.dir)
        command = [sys.executable, "-m", "pytest", _from(here, self._config.rootpath, nodeid)]
        said, code = _ran([sys.executable, "-m", "bitten", "run", "--", *command], here, PATIENCE + 10 * took)
        found = _CASE.search(said)
        if found:
            return found[1]
        return "it passes when it is run alone, so there is no case" if code == 0 else f"no case: {_last(said)}"


def _from(here: Path, root: Path, nodeid: str) -> str:
    """A test's name begins with its file as seen from pytest's root; a command is typed where we are."""
    file, colons, name = nodeid.partition("::")
    return os.path.relpath(root / file, here) + colons + name


def _ran(argv: list[str], here: Path, patience: float) -> tuple[str, int]:
    """What bitten said, and how it ended; all of it ends with us."""
    import signal  # noqa: PLC0415 - only where a test has failed, and cases are wanted
    import subprocess  # noqa: PLC0415 - as above

    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    with subprocess.Popen(argv, cwd=here, start_new_session=True, text=True, errors="replace", **quiet) as child:  # type: ignore[call-overload]
        try:
            return child.communicate(timeout=patience)[1], child.returncode
        finally:
            if child.poll() is None:
                os.killpg(child.pid, signal.SIGKILL)


def _last(said: str) -> str:
    return next((line.strip() for line in said.splitlines() if line.startswith("✗")), "bitten said nothing")
