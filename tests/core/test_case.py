from __future__ import annotations

import pytest
from tests import nouns

from bitten.core.case import Rejection, Reset, Scope, Verdict, reads
from bitten.core.failure import Failure
from bitten.core.prediction import parse
from bitten.core.proof import Phase, Rerun
from bitten.core.trouble import Refused


def refused(slug, make):
    with pytest.raises(Refused) as error:
        make()
    assert error.value.slug == slug
    assert error.value.way, "every refusal names the way out"


def test_a_command_that_passes_is_no_failure():
    refused("nothing-failed", lambda: Failure(nouns.FINE, {"exit": 0}))


def test_an_expectation_that_was_never_measured_is_a_failure():
    failure = Failure(nouns.FINE, {"exit": 0}, expected=(parse("val_acc >= 0.8"),))
    assert [str(each) for each in failure.missed] == ["val_acc >= 0.8"]


@pytest.mark.parametrize(
    ("rows", "verdict"), [(127, Verdict.SUPPORTS), (128, Verdict.REFUTES), (None, Verdict.UNCLEAR), (130, Verdict.UNCLEAR)]
)
def test_a_verdict_is_read_off_the_facts(rows, verdict):
    assert nouns.evidence(rows=rows).verdict is verdict


def test_what_may_have_changed_the_run_makes_any_verdict_unclear():
    assert nouns.evidence(unclear="the network was off: --allow-net").verdict is Verdict.UNCLEAR


def test_a_confirmation_needs_support_a_person_and_the_value():
    refused("confirm-without-support", lambda: nouns.confirmation(nouns.evidence(rows=128)))
    refused("confirm-not-a-person", lambda: nouns.confirmation(channel="pipe"))
    refused("confirm-wrong-value", lambda: nouns.confirmation(typed="yes"))
    refused("confirm-wrong-value", lambda: nouns.confirmation(typed="  "))
    assert nouns.confirmation(typed="127.0").typed == "127.0"


@pytest.mark.parametrize(
    ("typed", "value", "same"),
    [
        ("127", 127, True),
        ("true", True, True),
        ("True", True, True),
        ("short", "short", True),
        ('"short"', "short", True),
        ("[1, 2]", [1, 2], True),
        ("1", True, True),
        ("", "", False),
    ],
)
def test_a_typed_value_is_read_apart_from_its_spelling(typed, value, same):
    assert reads(typed, value) is same


def test_a_fix_stays_in_its_scope_and_brings_its_test():
    refused("fix-outside-scope", lambda: nouns.fix(touches=("src/model.py", "tests/test_data.py")))
    refused("fix-without-test", lambda: nouns.fix(touches=("src/data.py:Loader.__iter__",)))
    refused("fix-changes-nothing", lambda: nouns.fix(touches=("tests/test_data.py",)))


@pytest.mark.parametrize(("touched", "inside"), [
    ("src/data.py:Loader.__iter__", True), ("src/data.py:Loader.__iter__.inner", True), ("src/data.py:Loader.__iter__2", False),
    ("src/data.py:Loader", False), ("src/data.py", False), ("tests/test_data.py:test_x", True), ("tests/test_data.py2", False)])
def test_a_scope_covers_what_lies_inside(touched, inside):
    assert nouns.SCOPE.covers(touched) is inside


def test_a_whole_file_in_scope_covers_its_functions():
    assert Scope(("src/data.py",), "t.py").covers("src/data.py:anything")


@pytest.mark.parametrize(("slug", "red"), [
    ("test-not-found", nouns.tests()),
    ("test-green-on-base", nouns.tests(nouns.outcome("passed"))),
    ("test-skipped-on-base", nouns.tests(nouns.outcome("skipped"))),
    ("test-breaks-before-call", nouns.tests(nouns.outcome("error", phase=Phase.COLLECT, error="ImportError"))),
    ("test-breaks-before-call", nouns.tests(nouns.outcome("failed", phase=Phase.SETUP))),
    ("test-red-for-another-reason", nouns.tests(nouns.outcome(error="ImportError", message="no module"))),
    ("test-red-for-another-reason", nouns.tests(nouns.outcome(error="RuntimeError", signature="RuntimeError: other"))),
])
def test_a_red_run_must_be_red_for_the_right_reason(slug, red):
    refused(slug, lambda: nouns.verification(red=red))


def test_a_test_that_fails_as_the_case_did_is_red_enough():
    red = nouns.tests(nouns.outcome(error="RuntimeError", signature=nouns.SIGNATURE))
    assert nouns.verification(red=red).red == red


@pytest.mark.parametrize(("slug", "changes"), [
    ("test-red-on-fix", {"green": nouns.tests(nouns.outcome())}),
    ("test-red-on-fix", {"green": nouns.tests(nouns.outcome("skipped"))}),
    ("test-changed-between-runs", {"green": nouns.tests(nouns.outcome("passed", test="tests/test_data.py::other"))}),
    ("command-still-fails", {"rerun": Rerun(nouns.BROKEN, {"exit": 2})}),
    ("command-still-fails", {"rerun": Rerun(nouns.FINE, {"val_acc": 0.2}, (parse("val_acc >= 0.8"),))}),
    ("cause-still-there", {"again": nouns.evidence(run=nouns.FINE)}),
    ("check-incomplete-on-fix", {"again": nouns.evidence(rows=128, unclear="It did not complete.")}),
    ("check-measured-nothing-on-fix", {"again": nouns.evidence(rows=None)}),
    ("check-measured-elsewhere", {"again": nouns.evidence(rows=128, place="src/other.py:f")}),
    ("check-is-another", {"again": nouns.evidence(nouns.hypothesis("h2", "another"), rows=128)}),
])
def test_a_verification_needs_green_a_passing_command_and_a_cause_that_is_gone(slug, changes):
    refused(slug, lambda: nouns.verification(**changes))


def test_a_lesson_is_a_text_or_a_reason_for_none():
    refused("lesson-or-reason", lambda: nouns.lesson(text=""))
    refused("lesson-or-reason", lambda: nouns.lesson(local="only here"))
    assert nouns.lesson(text="", local="only here").local


def test_a_rejection_and_a_reset_need_what_they_are_for():
    refused("reject-without-reason", lambda: Rejection(nouns.hypothesis(), " "))
    refused("reproducer-too-long", lambda: Reset("s", "code", 11, "x", "x"))
    refused("reproducer-shows-another", lambda: Reset("s", "code", 3, "y", "x"))
