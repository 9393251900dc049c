"""The smallest lawful noun of each kind, for tests of what may follow what."""

from __future__ import annotations

from bitten.core.case import Check, Confirmation, Evidence, Hypothesis, Scope
from bitten.core.failure import Command, Crash, Failure, Frame, Run
from bitten.core.prediction import parse
from bitten.core.proof import Closing, Fix, Lesson, Outcome, Phase, Rerun, TestRun, Verification

COMMAND = Command(("make", "train"), "/project")
BROKEN, FINE = Run(COMMAND, 2, 4.2), Run(COMMAND, 0, 5.0)
CRASH = Crash(
    "RuntimeError", "stack expects 128, got 127", (Frame("src/data.py", 41, "Loader.__iter__", mine=True), Frame("torch.py", 9, "stack"))
)
SIGNATURE = "RuntimeError: stack expects N, got N @ Loader.__iter__ > stack"
SCOPE = Scope(("src/data.py:Loader.__iter__",), "tests/test_data.py")
PLACE = "src/data.py:Loader.__iter__"


def failure() -> Failure:
    return Failure(BROKEN, {"exit": 2, "signature": SIGNATURE}, crashes=(CRASH,))


def hypothesis(name: str = "h1", claim: str = "the last window is short") -> Hypothesis:
    return Hypothesis(name, claim, "it fell short", Check(parse("rows < 128"), parse("rows == 128"), probes=("items",)), "playbook:items")


def evidence(about: Hypothesis | None = None, rows: object = 127, **changes: object) -> Evidence:
    facts = {"rows": rows, "signature": SIGNATURE}
    return Evidence(about or hypothesis(), facts, **{"run": None, "place": PLACE, **changes})


def confirmation(found: Evidence | None = None, **changes: object) -> Confirmation:
    return Confirmation(
        **{"evidence": found or evidence(), "by": "ana", "channel": "terminal", "typed": "127", "scope": SCOPE, "tree": "base", **changes}
    )


def fix(held: Confirmation | None = None, **changes: object) -> Fix:
    touches = ("src/data.py:Loader.__iter__", "tests/test_data.py:test_last")
    return Fix(
        **{
            "confirmation": held or confirmation(),
            "scope": SCOPE,
            "touches": touches,
            "tree": "fixed",
            **changes,
        }
    )


def outcome(result: str = "failed", **changes: object) -> Outcome:
    error = "AssertionError" if result == "failed" else ""
    return Outcome(**{"test": "tests/test_data.py::test_last", "phase": Phase.CALL, "result": result, "error": error, **changes})


def tests(*outcomes: Outcome) -> TestRun:
    return TestRun(FINE if all(each.result == "passed" for each in outcomes) else BROKEN, outcomes)


def verification(of: Fix | None = None, **changes: object) -> Verification:
    return Verification(
        **{
            "fix": of or fix(),
            "red": tests(outcome()),
            "green": tests(outcome("passed")),
            "rerun": Rerun(FINE, {"exit": 0}),
            "again": evidence(rows=128, run=FINE),
            **changes,
        }
    )


def lesson(of: Verification | None = None, **changes: object) -> Lesson:
    return Lesson(**{"verification": of or verification(), "text": "- (2026-05-04) It bit us.", **changes})


def closing(of: Lesson | None = None) -> Closing:
    return Closing(of or lesson(), "c0ffee", "done")
