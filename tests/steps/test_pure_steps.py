"""What the steps decide by themselves, without a port: paths of tests, scopes, forms of checks, texts."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests import nouns

from bitten.core.case import Change, Check, Scope, Script
from bitten.core.ladder import fold
from bitten.core.ports import Observed
from bitten.core.prediction import parse
from bitten.core.trouble import BadInput
from bitten.steps.capture import capture, shows
from bitten.steps.check import cost
from bitten.steps.close import note, subject
from bitten.steps.confirm import scope_from, test_path
from bitten.steps.diagnose import diagnose
from bitten.steps.learn import draft
from bitten.steps.reset import lines_of_code
from bitten.steps.suspect import check_from


@pytest.mark.parametrize(("source", "paths", "found"), [
    ("src/data.py", ["src/data.py", "tests/unit/test_data.py", "tests/test_other.py"], "tests/unit/test_data.py"),
    ("src/data.py", ["src/data.py", "tests/unit/test_model.py", "tests/unit/test_x.py", "tests/slow/test_y.py"], "tests/unit/test_data.py"),
    ("data.py", ["data.py", "test_model.py"], "test_data.py"),
    ("data.py", ["data.py"], "tests/test_data.py"),
    ("", [], "tests/test_fix.py"),
])
def test_the_test_of_a_file_stands_where_the_project_puts_its_tests(source, paths, found):
    assert test_path(source, paths) == found


def test_a_scope_is_typed_as_files_names_and_a_test():
    assert scope_from("a.py:f, b.py tests/test_a.py") == Scope(("a.py:f", "b.py"), "tests/test_a.py")
    for text, slug in (("a.py:f", "scope-without-test"), ("tests/test_a.py", "scope-empty"), ("", "scope-without-test")):
        with pytest.raises(BadInput) as refused:
            scope_from(text)
        assert refused.value.slug == slug


@pytest.mark.parametrize(
    ("look", "part", "value"),
    [
        ("captured", "script", None),
        ("bare", "change", Change(bare=True)),
        ("probe:unequal-items,other", "probes", ("unequal_items", "other")),
        ("env:LR=0.1", "change", Change(env={"LR": "0.1"})),
        ("tree:HEAD~2", "change", Change(tree="HEAD~2")),
        ("patch:x.patch", "script", Script(patch="text of x.patch")),
        ("python 'my count.py'", "script", Script(argv=("python", "my count.py"))),
    ],
)
def test_each_form_of_a_check_is_read(look, part, value):
    check = check_from(look, parse("a == 1"), parse("a == 2"), lambda file: f"text of {file}")
    assert getattr(check, part) == value


@pytest.mark.parametrize("look", ["", "python 'unclosed"])
def test_a_check_that_names_nothing_is_refused(look):
    with pytest.raises(BadInput) as refused:
        check_from(look, parse("a == 1"), parse("a == 2"), str)
    assert refused.value.slug == "bad-look"


def observed(run=nouns.FINE, **facts):
    return Observed(run, {"exit": run.exit, **facts})


def test_a_run_that_did_what_was_expected_is_no_failure():
    assert capture(observed(loss=0.1), [parse("loss < 1")]) is None
    assert shows(observed(loss=0.1), [parse("loss < 1")]) == ""


def test_long_output_is_cut_but_what_an_expectation_speaks_of_stays():
    failure = capture(observed(nouns.BROKEN, stdout="ready\n" + "noise\n" * 10_000), [parse("stdout ~ ^ready")])
    assert failure is not None and len(failure.facts["stdout"]) < 5000
    assert failure.missed == ()


def test_checks_that_share_a_run_pay_for_it_once():
    probed, again = nouns.hypothesis(), nouns.hypothesis("h2", "another")
    case = fold([nouns.failure(), probed, again])
    assert cost(case, [probed, again]) == pytest.approx(4.2)


@pytest.mark.parametrize(("claim", "name", "line"), [
    ("Loader.__iter__ slices 1 row short, so that it lacks", "Loader.__iter__", "Fix Loader.__iter__: slices 1 row short"),
    ("the labels run from 1 to 5", "to_dataset", "Fix to_dataset: the labels run from 1 to 5"),
])
def test_a_commit_s_subject_is_the_claim_s_first_clause(claim, name, line):
    assert subject(claim, name) == line


def test_a_subject_is_cut_between_words():
    line = subject("word " * 40, "f")
    assert len(line) <= 72 and line.endswith(" word…")


def test_lesson_and_note_are_drafted_from_facts():
    proven = nouns.verification()
    fix = proven.fix
    case = fold([nouns.failure(), nouns.hypothesis(), fix.confirmation.evidence, fix.confirmation, fix, proven])
    assert draft(case, "2026-05-04") == (
        "- (2026-05-04) The last window is short. Caught by a RuntimeError in Loader.__iter__, not by a test. Added test_last.\n"
        "  Lesson: say here what to do, or to look for, next time."
    )
    assert note(case, "c0ffee123456789").splitlines()[1:] == [
        "Cause: the last window is short (src/data.py:Loader.__iter__).", "Held by tests/test_data.py, commit c0ffee123456."]


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("x = 1\n\n# a comment\ny = 2\n", 2),
        ("x = '''\na\nb\n'''\n", 4),
        ("for i in range(3):\n    print(i)\n", 2),
        ("f(\n 1,\n 2)\n", 3),
        ("", 0),
    ],
)
def test_lines_of_code_are_counted_and_comments_are_free(source, lines):
    assert lines_of_code(source) == lines


def test_a_reproducer_that_is_no_python_is_said_to_be_none():
    with pytest.raises(BadInput):
        lines_of_code("x =")


class Knows:
    """Playbooks that suspect these, always."""

    def __init__(self, *suspects):
        self.told = suspects

    def suspects(self, failure):
        return self.told


def test_a_diagnosis_that_was_cut_off_goes_on_where_it_was():
    at_hand = replace(nouns.hypothesis("h?"), check=Check(parse("exit == 2"), parse("exit == 0")))
    other = replace(nouns.hypothesis("h?", "another claim"), check=at_hand.check)
    whole = list(diagnose(fold([nouns.failure()]), Knows(at_hand, other)))
    assert [type(each).__name__ for each in whole] == ["Hypothesis", "Evidence"] * 2
    for cut in range(len(whole) + 1):
        begun = [nouns.failure(), *whole[:cut]]
        assert fold([*begun, *diagnose(fold(begun), Knows(at_hand, other))]) == fold([nouns.failure(), *whole])
