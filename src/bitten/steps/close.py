"""The win: one commit of fix, test and lesson, and the note for the team. Does not know how a commit is made."""

from __future__ import annotations

from collections.abc import Mapping

from bitten.core.case import Closing, Fix, Lesson
from bitten.core.ladder import Case
from bitten.core.ports import Repo
from bitten.core.trouble import gate
from bitten.steps.fix import confirmed


def close(case: Case, repo: Repo, files: Mapping[str, bytes]) -> Closing:
    """Commit the fix with `files` (the lesson's) where there is a repository; elsewhere fix.patch and the note stay.

    Raises: Refused `close-before-lesson`, `fix-stale`; what the repository refuses.
    """
    lesson, fix = learnt(case), fixed(case)
    gate(repo.snapshot_without(tuple(files)) == fix.tree or not repo.difference(fix.tree, repo.snapshot(), ).files, "fix-stale",
         "The tree has changed since the fix was proven.", way="bitten verify")
    commit = repo.commit(fix.patch, files, message(case)) if repo.is_git else ""
    return Closing(lesson, commit, note(case, commit))


def learnt(case: Case) -> Lesson:
    link = case.links[3] if len(case.links) > 3 else None
    gate(isinstance(link, Lesson), "close-before-lesson", "There is no lesson yet.", way="bitten learn")
    assert isinstance(link, Lesson)
    return link


def fixed(case: Case) -> Fix:
    link = case.links[1] if len(case.links) > 1 else None
    gate(isinstance(link, Fix), "verify-before-fix", "There is no fix yet.", way="bitten verify")
    assert isinstance(link, Fix)
    return link


def message(case: Case) -> str:
    """Imperative subject, the why in the body, trailers that lead back to the case."""
    evidence = confirmed(case).evidence
    return ""


def note(case: Case, commit: str) -> str:
    return ""
