"""What happened to which rows, and on whose lines: fits, splits and copies, and from which row each transformed row came.

Part of the instrument `tables`. Rows are traced back by their marks through every transformation that was seen, to the rows they came from
first. What it does not know: what the program computed without a transformer is where a trace begins.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]
frames: Any = hook.load("_bitten_frames")
report: Any = hook.load("_bitten_probes.report")
rows: Any = hook.load("_bitten_probes.table_rows")

DEEPEST = 60
GLANCE = 64
"""Rows that tell whether a transformation may have made any of a table."""
MOST_ROWS = 3_000_000
"""Marks kept of transformed rows, 16 bytes each; the oldest are forgotten."""


def stack(frame: FrameType | None = None) -> list[tuple[Any, str, str]]:
    """The person's own frames, outermost first: (code, `file:line`, `file:function`)."""
    found: list[tuple[Any, str, str]] = []
    frame = frame or sys._getframe(1)
    for _ in range(DEEPEST):
        frame = report.user_frame(frame)
        if frame is None:
            break
        file = frames.absolute(frame.f_code.co_filename)
        found.append((frame.f_code, f"{file}:{frame.f_lineno}", f"{file}:{frames.full_name(frame)}"))
        frame = frame.f_back
    return found[::-1]


def called_by_user(frame: FrameType | None, package: str = "") -> bool:
    """Whether the person's own code is what called; frames of `package` between do not count."""
    while frame is not None:
        code = frame.f_code
        file = code.co_filename
        if not (frames.is_ours(code) or file.endswith(("<bitten watch>", "sklearn/utils/_set_output.py"))
                or (package and f"/site-packages/{package}/" in file)):  # fmt: skip
            return not frames.is_library(file)
        frame = frame.f_back
    return False


class Event:
    """A fit, a split or a copy: of which rows, and where."""

    def __init__(self, name: str, kind: str, marks: Any, where: Any = None) -> None:
        self.name, self.kind, self.size = name, kind, len(marks)
        self.rows = rows.unique(marks)
        self.twins = rows.twins(marks)
        self.learnt: dict[str, str] = {}
        self.tests: list[float] = []
        self.stack = where if where is not None else stack()

    @property
    def line(self) -> str:
        return self.stack[-1][1] if self.stack else ""

    @property
    def here(self) -> tuple[str, str]:
        return (self.stack[-1][1], self.stack[-1][2]) if self.stack else ("", "")


def turn(earlier: list[Any], later: list[Any]) -> tuple[str, str]:
    """The line of the innermost function that did both, at the time of the earlier: there the order of the two was written down."""
    found = earlier[-1:] or [(None, "", "")]
    for one, other in zip(earlier, later):
        if one[0] is not other[0]:
            break
        found = [one]
    return found[0][1], found[0][2]


_steps: list[tuple[Any, Any, Any]] = []


def note_made(event: Any, came: Any, made: Any) -> None:
    """Each of the rows `made` came from the row of `came` in its place."""
    if len(came) != len(made):
        return
    np = sys.modules["numpy"]
    order = np.argsort(made, kind="stable")
    _steps.append((event, made[order], came[order]))
    while sum(len(each[1]) for each in _steps) > MOST_ROWS or len(_steps) > 128:
        _steps.pop(0)


def trace(marks: Any) -> tuple[Any, list[tuple[Any, Any]]]:
    """The rows that these came from, and who made which of them on the way."""
    np = sys.modules["numpy"]
    touched = []
    for event, made, came in reversed(_steps):
        if not rows.among(marks[:: max(1, len(marks) // GLANCE)], made).any():
            continue
        hit = rows.among(marks, made)
        if hit.any():
            at = np.searchsorted(made, marks)
            at[at == len(made)] = 0
            marks = np.where(hit, came[at], marks)
            touched.append((event, hit))
    return marks, touched


def forget() -> None:
    _steps.clear()
