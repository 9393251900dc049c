"""Step 4: what may be touched, and what was. The edit itself is the person's; this step only holds it to its scope."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bitten.core.case import Confirmation, Rescope
from bitten.core.ladder import BUDGET, Case
from bitten.core.ports import Repo
from bitten.core.proof import Fix
from bitten.core.trouble import gate
from bitten.steps.gates import within_the_hour


def fix(case: Case, parts: Sequence[str], test: str, budget: float = BUDGET) -> Rescope | None:
    """Open the way to edit, with another scope or test path where one is given. Raises: Refused without a confirmed cause."""
    confirmation = confirmed(case)
    within_the_hour(case, budget)
    assert case.scope is not None
    wider = replace(case.scope, parts=tuple(parts) or case.scope.parts, test=test or case.scope.test)
    return Rescope(confirmation, wider) if wider != case.scope else None


def confirmed(case: Case) -> Confirmation:
    """The confirmation that stands. Raises: Refused `fix-before-confirmation`."""
    first = case.links[0] if case.links else None
    gate(isinstance(first, Confirmation), "fix-before-confirmation", "No cause is confirmed yet.",
         "The first patch that comes to mind is rarely the right one.", "bitten confirm h1")
    assert isinstance(first, Confirmation)
    return first


def made(case: Case, repo: Repo) -> Fix:
    """The difference from the tree at confirmation, as a fix. Raises: Refused where it leaves its scope or lacks its test."""
    confirmation = confirmed(case)
    assert case.scope is not None
    now = repo.snapshot()
    difference = repo.difference(confirmation.tree, now, written_by_the_program(case))
    gate(bool(difference.files), "fix-changes-nothing", "Nothing has changed since the cause was confirmed.",
         way=f"mend {', '.join(case.scope.parts)}, add a test to {case.scope.test}, then:  bitten verify")
    return Fix(confirmation, case.scope, difference.touches, now)


def patch_of(case: Case, fix: Fix, repo: Repo) -> str:
    """A fix as a unified diff, derived from its two trees."""
    return repo.difference(fix.confirmation.tree, fix.tree, written_by_the_program(case)).patch


def written_by_the_program(case: Case) -> frozenset[str]:
    """Files that the failing command itself writes: running it again changes them, and that is no part of a fix."""
    return frozenset(each.path for each in case.failure.surroundings.files if each.role == "wrote")
