"""Which case a run belongs to: the open one of its command and signature, a new one, or none. Knows no terminal."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from bitten.core.case import Recurrence
from bitten.core.failure import Failure, Run
from bitten.core.ladder import Event
from bitten.core.ports import Observed
from bitten.core.prediction import Prediction, parse
from bitten.interfaces import text
from bitten.interfaces.fault import spared
from bitten.steps import capture
from bitten.steps.diagnose import diagnose

if TYPE_CHECKING:
    from bitten.interfaces.wiring import House, OpenCase


def cases_of(house: House, run: Run) -> list[OpenCase]:
    """The open cases of this command, newest first. One that can't be read is said, and stands in nobody's way."""
    found: list[OpenCase] = []
    with spared():
        for folder in reversed(house.cases.all()):
            with spared():
                case = house.load(folder)
                found += [case] if case.case.is_open and capture.same_command(case.case, run) else []
    return found


def expected_of(known: list[OpenCase]) -> tuple[Prediction, ...]:
    """What the case of this command was opened with, and what its person has said since."""
    return next((case.case.expected for case in known), ())


def same_failure(failure: Failure | None, known: list[OpenCase]) -> OpenCase | None:
    return next((case for case in known if failure and case.case.failure.facts["signature"] == failure.facts["signature"]), None)


def _begun(house: House, failure: Failure, spool: Path) -> OpenCase:
    return house.begin(house.survey(spool).around(capture.photographed(failure, house.repo)), text.title(failure))


def _completed(house: House, kept: OpenCase, observed: Observed) -> str:
    """A case whose run was on disk when bitten was killed: what it was about to add is added."""
    kept.complete(observed)
    added: list[Event] = []
    if not kept.case.visits:
        with kept.visited("run"):
            added = kept.add(diagnose(kept.case, house.knowledge))
    house.cases.switch(kept.folder)
    return f"case {kept.number} was begun when bitten was killed: its hypotheses are complete now." if added else ""


def rescued(house: House, observed: Observed, expectations: tuple[str, ...], spool: Path) -> str:
    """What becomes of a run whose bitten was killed: what `run` would have made of it, but for the question.

    Returns the line that says it; empty when a case has that run already, and all that belongs to it.
    """
    known = cases_of(house, observed.run)
    kept = next((case for case in known if case.shows(observed.run)), None)
    if kept is not None:
        return _completed(house, kept, observed)
    failure = capture.capture(observed, tuple(map(parse, expectations)) or expected_of(known))
    same, name = same_failure(failure, known), text.short(shlex.join(observed.run.command.argv), 60)
    if failure is None and not known:
        return f"{name} had ended well when bitten was killed: there is nothing to keep."
    case = same or (known[0] if failure is None else _begun(house, failure, spool))
    case.complete(observed)
    with case.visited("run"):
        joined = failure is None or same
        case.add([Recurrence(observed.run, passed=failure is None)] if joined else diagnose(case.case, house.knowledge))
    house.cases.switch(case.folder)
    return f"{name} had {'ended well' if failure is None else 'failed'} when bitten was killed: kept in case {case.number}."
