"""What of an agent's change may go into the tree, and what becomes of it when the proof fails."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
from tests import nouns

from bitten.core.case import Scope, Withdrawal
from bitten.core.ladder import fold
from bitten.core.ports import Difference
from bitten.core.trouble import Refused
from bitten.steps import mend
from bitten.steps.mend import sorted_out, within

SCOPE = Scope(("a.py:f", "b.py"), "tests/test_a.py")


@dataclass(frozen=True)
class Changed:
    path: str
    how: str


@dataclass
class Tree:
    """ports.Repo, as far as it is asked: what differs from the tree at confirmation."""

    touches: tuple[str, ...]

    def snapshot(self):
        return "now"

    def difference(self, old, new, without=()):
        assert (old, new) in (("base", "now"), ("base", "after"))
        return Difference("", self.touches, tuple(dict.fromkeys(touch.split(":")[0] for touch in self.touches)))


CASE = fold([nouns.failure(), nouns.hypothesis(), nouns.evidence(), nouns.confirmation()])
PART, TEST = "src/data.py:Loader.__iter__", "tests/test_data.py:test_last"


def test_changes_are_sorted_by_path_and_kind():
    every = [Changed("a.py", "changed"), Changed("b.py", "mode"), Changed("c.py", "new"), Changed("tests/test_a.py", "new"),
             Changed("tests/test_a.py.x", "new"), Changed("a.pyc", "new"), Changed("./a.py", "new")]
    inside, outside = sorted_out(every, SCOPE)
    assert [each.path for each in inside] == ["a.py", "tests/test_a.py"]
    assert outside == ("b.py (mode)", "c.py (new)", "tests/test_a.py.x (new)", "a.pyc (new)", "./a.py (new)")


def test_a_name_that_an_agent_made_up_steers_no_terminal_and_can_be_written():
    outside = sorted_out([Changed("a\x1b[2J.py", "new"), Changed("b\udcff", "new"), Changed("ä b.py", "new")], SCOPE)[1]
    assert outside == (r"'a\x1b[2J.py' (new)", r"'b\udcff' (new)", "ä b.py (new)")


def test_a_file_is_taken_whole_or_not_at_all():
    edits = {"a.py": 1, "b.py": 2, "tests/test_a.py": 3}
    assert within(["a.py:f", "b.py", "tests/test_a.py"], edits, SCOPE) == (edits, ())
    assert within(["a.py:f", "a.py:g", "b.py:x", "tests/test_a.py:t"], edits, SCOPE) == ({"b.py": 2, "tests/test_a.py": 3}, ("a.py:g",))
    assert within(["a.py"], edits, SCOPE)[0].keys() == {"b.py", "tests/test_a.py"}, "a change at module level is of the whole file"


def test_a_tree_with_changes_elsewhere_is_no_place_to_begin():
    mend.may_begin(CASE, Tree(()))
    mend.may_begin(CASE, Tree((PART,)))
    with pytest.raises(Refused) as refused:
        mend.may_begin(CASE, Tree((PART, "other.py")))
    assert refused.value.slug == "fix-outside-scope" and "other.py" in refused.value.what
    with pytest.raises(Refused) as refused:
        mend.may_begin(fold([nouns.failure()]), Tree(()))
    assert refused.value.slug == "fix-before-confirmation"


@pytest.mark.parametrize(("touches", "changed", "slug"), [
    ((PART, TEST), (), "fix-changes-nothing"), ((PART,), ("src/data.py",), "fix-without-test"),
    ((TEST,), ("tests/test_data.py",), "fix-changes-nothing"), ((PART, TEST, "x.py"), ("src/data.py",), "fix-outside-scope"),
])
def test_what_is_no_lawful_fix_never_comes_into_the_tree(touches, changed, slug):
    with pytest.raises(Refused) as refused:
        mend.judged(CASE, Tree(touches), "after", changed, ["elsewhere.py (new)"])
    assert refused.value.slug == slug


def test_what_is_lawful_is_the_fix_that_the_proof_will_find():
    assert mend.judged(CASE, Tree((PART, TEST)), "after", ("src/data.py",), ()) == nouns.fix(tree="after")


def test_an_attempt_that_failed_is_told_to_the_next_and_keeps_the_cause():
    case = fold([nouns.failure(), nouns.hypothesis(), nouns.evidence(), nouns.confirmation(),
                 mend.withdrawal(Refused("fix-without-test", "No test.", "There."))])
    assert case.links == CASE.links and case.scope == CASE.scope and case.withdrawals[-1].reason == "No test. There."


def test_only_a_proof_that_failed_since_by_the_fix_s_own_fault_speaks_against_it():
    failed = replace(CASE, withdrawals=(Withdrawal("test-red-on-fix", "red"),))
    kept_from = replace(CASE, withdrawals=(Withdrawal("rerun-kept-from", "no network"),))
    assert mend.speaks_against(failed, 0) and not mend.speaks_against(failed, 1)
    assert not mend.speaks_against(kept_from, 0) and not mend.speaks_against(CASE, 0)
    assert mend.is_the_agents(Refused("test-green-on-base", "")) and not mend.is_the_agents(Refused("tree-moved", ""))
