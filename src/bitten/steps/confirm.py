"""Step 3, the person's half: evidence was read, the value that decided is named, the scope agreed. No model gets here."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePosixPath

from bitten.core.case import PERSON_CHANNELS, Confirmation, Evidence, Hypothesis, Note, Rejection, Scope, Verdict
from bitten.core.ladder import Case
from bitten.core.ports import Person, Repo
from bitten.core.trouble import BadInput, gate


def confirm(case: Case, wanted: str, person: Person, repo: Repo) -> Confirmation:
    """Ask for the deciding value and for the scope. The evidence must have been shown by the caller.

    Raises: Refused by `confirm-not-a-person`, `confirm-without-evidence`, or what `Confirmation` itself refuses.
    """
    gate(person.channel in PERSON_CHANNELS, "confirm-not-a-person", "Only a person who has read the evidence confirms.",
         f"This came by {person.channel}.", f"in a terminal, type:  bitten confirm {wanted}")
    evidence = evidence_to_confirm(case, wanted)
    typed = person.ask(f"Which value of {evidence.deciding[0]} decided it?")
    if by_agent(case, evidence.hypothesis):
        person.show(f"  an agent proposed the scope below; the hypothesis names {', '.join(evidence.hypothesis.scope) or 'none'}")
    agreed = scope_from(person.ask("Scope of the fix (Enter accepts, or name others)", " ".join(_words(proposed(case, evidence, repo)))))
    return Confirmation(evidence, person.name, person.channel, typed, agreed, repo.snapshot())


def reject(case: Case, wanted: str, reason: str) -> Rejection:
    """A person's no, in spite of any support."""
    return Rejection(hypothesis_named(case, wanted), reason)


def hypothesis_named(case: Case, name: str) -> Hypothesis:
    """The hypothesis called `h1`, or just `1`. Raises: BadInput `no-such-hypothesis`."""
    found = next((h for h in case.hypotheses if name.lower() in (h.id, h.id[1:])), None)
    if found is None:
        raise BadInput(
            "no-such-hypothesis",
            f"There is no {name}.",
            f"This case has: {', '.join(h.id for h in case.hypotheses) or 'none'}.",
            "bitten show --all",
        )
    return found


def evidence_to_confirm(case: Case, wanted: str) -> Evidence:
    """The latest evidence for a hypothesis. Raises: Refused, when there is none, or it does not support."""
    hypothesis = hypothesis_named(case, wanted)
    evidence = case.latest(hypothesis)
    way = f"bitten check {hypothesis.id}"
    gate(evidence is not None, "confirm-without-evidence", f"{hypothesis.id} is untested.", way=way)
    assert evidence is not None
    gate(
        evidence.verdict is Verdict.SUPPORTS,
        "confirm-without-support",
        f"The evidence for {hypothesis.id} says: {evidence.verdict.value}.",
        evidence.unclear,
        way,
    )
    return evidence


def suggested(case: Case, wanted: str, parts: Sequence[str], test: str, paths: Sequence[str]) -> Note:
    """An agent's proposal of where the fix for a hypothesis may touch: what the person who confirms is shown first. It allows nothing.

    Raises: BadInput `bad-scope`, `no-such-hypothesis`.
    """
    hypothesis, words = hypothesis_named(case, wanted), (*parts, test)
    stray = [word for word in parts if is_test_path(word) or word.split(":")[0] not in paths]
    odd = [word for word in words if not word.isprintable() or re.search(r"[\s,]|^[/~]|(^|/)\.\.(/|$)", word)]
    if stray or odd or not is_test_path(test):
        raise BadInput("bad-scope", f"{(stray or odd or [test])[0]!r} can't stand in a scope.",
                       "It names files of the project by their path from its root, and one test, in a file called like one.",
                       "name the functions and the test:  src/data.py:DataLoader.__iter__ tests/test_data.py")
    return Note("scope", f"{hypothesis.id}: {' '.join(words)}")


def by_agent(case: Case, hypothesis: Hypothesis) -> Scope | None:
    """What an agent proposed last; None where none did."""
    start = f"{hypothesis.id}: "
    said = [note.text.removeprefix(start) for note in case.notes if note.about == "scope" and note.text.startswith(start)]
    return scope_from(said[-1]) if said else None


def proposed(case: Case, evidence: Evidence, repo: Repo) -> Scope:
    """What an agent proposed, else the hypothesis' own scope or the innermost function of the crash, and the test that belongs there."""
    if suggestion := by_agent(case, evidence.hypothesis):
        return suggestion
    parts = evidence.hypothesis.scope or _of_crash(case)
    return Scope(parts, test_path(parts[0].split(":")[0] if parts else "", repo.paths()))


def _of_crash(case: Case) -> tuple[str, ...]:
    site = case.failure.root.site if case.failure.root else None
    if site is None:
        return ()
    return (f"{site.file}:{site.function}" if site.function != "<module>" else site.file,)


def test_path(source: str, paths: Sequence[str]) -> str:
    """Where the test of a source file stands, or would stand, by the project's own layout."""
    name = f"test_{PurePosixPath(source).stem or 'fix'}.py"
    tests = [path for path in paths if re.fullmatch(r"(.*/)?(test_[^/]*|[^/]*_test)\.py", path)]
    same = next((path for path in tests if PurePosixPath(path).name == name), None)
    if same:
        return same
    folders = sorted(
        {str(PurePosixPath(path).parent) for path in tests}, key=lambda folder: (-sum(t.startswith(folder) for t in tests), folder)
    )
    folder = folders[0] if folders else "tests"
    return name if folder == "." else f"{folder}/{name}"


test_path.__test__ = False  # type: ignore[attr-defined]  # pytest would collect it by its name


def scope_from(text: str) -> Scope:
    """Read `FILE[:NAME]… TEST`, blanks or commas between; the last file called like a test is the test's path.

    Raises: BadInput `scope-without-test` or `scope-empty`.
    """
    words = text.replace(",", " ").split()
    tests = [word for word in words if is_test_path(word)]
    parts = tuple(word for word in words if not is_test_path(word))
    way = "name the functions and the test:  src/data.py:DataLoader.__iter__ tests/test_data.py"
    if not tests:
        raise BadInput("scope-without-test", "The scope names no test file.", "A fix is proven by a test.", way)
    if not parts:
        raise BadInput("scope-empty", "The scope names nothing to mend.", way=way)
    return Scope(parts, tests[-1])


def is_test_path(path: str) -> bool:
    name = PurePosixPath(path.split(":", maxsplit=1)[0]).name
    return name.startswith("test_") or name.endswith("_test.py")


def _words(scope: Scope) -> tuple[str, ...]:
    return (*scope.parts, scope.test)
