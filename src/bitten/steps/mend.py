"""Step 4, an agent's: what of its change may go into the tree, and what becomes of it when the proof fails. Asks no agent itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol, TypeVar

from bitten.core.case import Scope, Withdrawal
from bitten.core.ladder import Case
from bitten.core.ports import Repo
from bitten.core.proof import Fix
from bitten.core.trouble import Refused, gate
from bitten.steps.fix import confirmed, written_by_the_program

T = TypeVar("T")
ROUNDS = 2
"""Sessions for one confirmed cause; then it is the person's again."""
NOT_THE_AGENTS = frozenset(("tree-moved", "rerun-kept-from", "fix-declined", "hour-is-up", "case-is-closed", "confirm-out-of-turn",
                            "scope-not-in-copy", "fix-outside-scope"))
"""What no other session would do better. Of an agent's change only what lies in scope comes near the tree: the rest is another's."""


class Changed(Protocol):
    @property
    def path(self) -> str: ...

    @property
    def how(self) -> str:
        """new, changed or removed; else what no fix is made of."""
        ...


C = TypeVar("C", bound=Changed)


def may_begin(case: Case, repo: Repo) -> None:
    """Before anything is asked: what differs since the confirmation already, by whomever, lies in the scope.

    Raises: Refused `fix-outside-scope`, `fix-before-confirmation`.
    """
    assert case.scope is not None or not case.links
    base = confirmed(case).tree
    so_far = repo.difference(base, repo.snapshot(), written_by_the_program(case))
    stray = uncovered(so_far.touches, case.scope)
    gate(not stray, "fix-outside-scope", f"The tree has changes outside the agreed scope already: {', '.join(stray)}.",
         "With them no fix could be proven.", f"undo that part, or widen the scope:  bitten fix --scope {stray[0] if stray else ''}")


def uncovered(touches: Iterable[str], scope: Scope | None) -> list[str]:
    return [touch for touch in touches if scope is None or not scope.covers(touch)]


def sorted_out(changes: Iterable[C], scope: Scope) -> tuple[tuple[C, ...], tuple[str, ...]]:
    """What an agent left: changes of files in scope, and each other one in words. What is touched inside of a file is not judged here."""
    every = list(changes)
    inside = tuple(each for each in every if each.path in scope.files and each.how in ("new", "changed", "removed"))
    return inside, tuple(f"{_shown(each.path)} ({each.how})" for each in every if each not in inside)


def _shown(path: str) -> str:
    """A name that an agent may have made up: it goes to a terminal, and to disk."""
    return path if path.isprintable() else ascii(path)


def within(touches: Iterable[str], edits: Mapping[str, T], scope: Scope) -> tuple[dict[str, T], tuple[str, ...]]:
    """The files whose whole change lies in scope, and what the others touch outside of it: half of a change would be another one."""
    stray = uncovered(touches, scope)
    bad = {touch.partition(":")[0] for touch in stray}
    return {path: edit for path, edit in edits.items() if path not in bad}, tuple(stray)


def judged(case: Case, repo: Repo, after: str, changed: Sequence[str], stray: Sequence[str]) -> Fix:
    """The fix that the tree would be with it, refused before it is there. `changed` is what of the agent's change lies in scope.

    Raises: Refused `fix-outside-scope`, `fix-without-test`, `fix-changes-nothing`.
    """
    held = confirmed(case)
    assert case.scope is not None
    if not changed:
        raise Refused("fix-changes-nothing", "The agent changed nothing in scope.",
                      f"It changed {', '.join(stray[:12])}, which was left out." if stray else "",
                      f"mend {', '.join(case.scope.parts)}, and add a test to {case.scope.test}")
    return Fix(held, case.scope, repo.difference(held.tree, after, written_by_the_program(case)).touches, after)


def is_the_agents(why: Refused) -> bool:
    """Whether a fresh session could do better, told of it."""
    return why.slug not in NOT_THE_AGENTS


def withdrawal(why: Refused) -> Withdrawal:
    """An attempt that never came into the tree: the cause stays confirmed."""
    return Withdrawal(why.slug, str(why), {}, to_step_two=False)


def speaks_against(case: Case, withdrawals_before: int) -> bool:
    """Whether a proof failed since, by the fix's own fault: then it is taken back."""
    later = case.withdrawals[withdrawals_before:]
    return bool(later) and later[-1].slug not in NOT_THE_AGENTS
