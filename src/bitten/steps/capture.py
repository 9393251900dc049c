"""Step 1: a run becomes a failure, or it was fine. Decides from what was observed alone; never runs anything again."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from bitten.core import signature
from bitten.core.failure import Failure, Run
from bitten.core.ladder import Case
from bitten.core.ports import Observed, Repo
from bitten.core.prediction import Facts, Op, Prediction
from bitten.core.trouble import Trouble

CHANGED = 200
"""Uncommitted files that a case names; their number is told."""
TAIL = 4000
"""Characters of stdout and stderr that a case keeps as facts; the whole output lies in its folder."""


def capture(observed: Observed, expected: Sequence[Prediction] = ()) -> Failure | None:
    """The failure that a run showed; None when it ended well and met all that was expected."""
    if observed.run.ended_well and all(each.holds(observed.facts) is True for each in expected):
        return None
    return failed(observed, expected)


def failed(observed: Observed, expected: Sequence[Prediction] = ()) -> Failure:
    """The same of what is known to have failed. Raises: Refused `nothing-failed`, when it did not."""
    facts = shortened(observed.facts, expected)
    failure = Failure(observed.run, facts, tuple(expected), observed.crashes, observed.sightings, observed.surroundings)
    return replace(failure, facts={**facts, "signature": signature.of(failure)})


def photographed(failure: Failure, repo: Repo) -> Failure:
    """The failure with its tree: kept as it stands, with the revision and what was not committed.

    A tree that can't be read or kept is noted, and takes nothing from the rest.
    """
    for look in (_revised, _with_tree):
        try:
            failure = look(failure, repo)
        except (Trouble, OSError) as why:
            failure = _noted(failure, f"the tree was not kept: {why}" if look is _with_tree else f"what changed is not known: {why}")
    return failure


def _revised(failure: Failure, repo: Repo) -> Failure:
    head = repo.revision("HEAD") or ""
    changed = repo.changed_since("HEAD") if head else ()
    around = replace(failure.surroundings, head=head, parent=repo.revision("HEAD~1") or "", changed=changed[:CHANGED])
    revised = replace(failure, surroundings=around)
    return _noted(revised, f"{len(changed) - CHANGED} more files changed") if len(changed) > CHANGED else revised


def _with_tree(failure: Failure, repo: Repo) -> Failure:
    return replace(failure, tree=repo.snapshot())


def _noted(failure: Failure, words: str) -> Failure:
    """A note is one line, whatever git had to say."""
    around = failure.surroundings
    return replace(failure, surroundings=replace(around, notes=(*around.notes, " ".join(words.split()))))


def shows(observed: Observed, expected: Sequence[Prediction]) -> str:
    """The signature of what a run showed; empty when it ended well and met all that was expected."""
    failure = capture(observed, expected)
    return signature.of(failure) if failure else ""


def same_command(case: Case, run: Run) -> bool:
    mine, theirs = case.failure.run.command, run.command
    return (mine.argv, mine.cwd) == (theirs.argv, theirs.cwd)


def shortened(facts: Facts, expected: Iterable[Prediction]) -> Facts:
    """Long text cut to its end, and to the lines that an expectation speaks of, so that its truth stays the same."""
    patterns = [re.compile(str(each.value), re.M) for each in expected if each.op is Op.MATCH]
    return {name: _cut(value, patterns) if isinstance(value, str) else value for name, value in facts.items()}


def _cut(text: str, patterns: Sequence[re.Pattern[str]]) -> str:
    if len(text) <= TAIL:
        return text
    told = [match.group(0) for pattern in patterns if (match := pattern.search(text))]
    return "\n".join([*told, "…", text[-TAIL:]])
