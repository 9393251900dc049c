"""A failure that happened elsewhere, or without us, becomes a case as one of `run` does, but for the question. Knows no terminal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bitten.core.case import Note, Recurrence
from bitten.core.ports import Observed
from bitten.core.prediction import Prediction
from bitten.interfaces import text
from bitten.interfaces.joining import cases_of, expected_of, same_failure
from bitten.steps import capture
from bitten.steps.diagnose import diagnose

if TYPE_CHECKING:
    from bitten.interfaces.wiring import House, OpenCase


def arrived(
    house: House, observed: Observed, verb: str, came: str, expected: Sequence[Prediction] = (), spool: Path | None = None
) -> OpenCase:
    """The open case of this command that has this failure already, else a new one. `came` says from where; a guest wrote the `spool`.

    Raises: Refused `nothing-failed`.
    """
    known = cases_of(house, observed.run)
    failure = capture.failed(observed, tuple(expected) or expected_of(known))
    same = same_failure(failure, known)
    if same is None:
        failure = capture.photographed(failure, house.repo)
        failure = house.survey(spool).around(failure) if spool else failure
    case = same or house.begin(failure, text.title(failure))
    case.complete(observed)
    with case.visited(verb):
        case.add([Note("linked", came)])
        case.add([Recurrence(observed.run)] if same else diagnose(case.case, house.knowledge))
    house.cases.switch(case.folder)
    return case
