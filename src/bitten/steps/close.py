"""The win: one commit of fix, test and lesson, and the note for the team. Does not know how a commit is made.

A dirty tree is the normal state of ML work: the commit is HEAD plus the fix, and is proven again where that tree is not
the one that was verified.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from bitten.core import gating
from bitten.core.ladder import Case
from bitten.core.ports import Copy, Person, Repo
from bitten.core.proof import Closing, Fix, Lesson
from bitten.core.trouble import Refused, gate
from bitten.steps.capture import shows
from bitten.steps.check import Bench
from bitten.steps.confirm import is_test_path
from bitten.steps.fix import confirmed, patch_of
from bitten.steps.verify import in_its_python

UNCOMMITTED = ("The cause lies in uncommitted work: committed were test and lesson; the fix stays in your tree. "
               "`bitten close --all` would have taken the touched files whole.")


@dataclass(frozen=True)
class Plan:
    """What will be committed: a patch on HEAD, and whole files; `said` is what the person has to know of it."""

    patch: str
    files: Mapping[str, bytes] = field(default_factory=dict)
    said: str = ""


def plan(case: Case, repo: Repo, lesson: Mapping[str, bytes], everything: bool = False) -> Plan:
    """The fix on HEAD; where it rests on uncommitted work, test and lesson alone, or (`everything`) the touched files whole.

    Raises: Refused `close-before-lesson`, `fix-stale`.
    """
    learnt(case)
    fix = fixed(case)
    now = repo.snapshot()
    stale = set(repo.difference(fix.tree, now).files) & {touch.split(":")[0] for touch in fix.touches}
    gate(not stale, "fix-stale", f"Changed since the fix was proven: {', '.join(sorted(stale))}.", way="bitten verify")
    patch = patch_of(case, fix, repo)
    if not repo.is_git or (not everything and _mends_head(repo, fix, patch, lesson)):
        return Plan(patch, lesson)
    whole = repo.files_at(fix.tree, [each.split(":")[0] for each in fix.touches])
    taken = {path: content for path, content in whole.items() if content is not None and (everything or is_test_path(path))}
    return Plan("", {**taken, **lesson}, "" if everything else UNCOMMITTED)


def close(case: Case, chosen: Plan, bench: Bench, person: Person) -> Closing:
    """Commit what was planned. Raises: Refused `commit-does-not-hold`; what the repository refuses."""
    repo = bench.repo
    if not repo.is_git:
        return Closing(learnt(case), "", note(case, ""))
    _holds(case, chosen, bench, person)
    commit = repo.commit(chosen.patch, chosen.files, message(case))
    return Closing(learnt(case), commit, note(case, commit) + (f"\n{chosen.said}" if chosen.said else ""))


def resumed(case: Case, repo: Repo) -> Closing | None:
    """The end of a closing that was killed after its commit; None where no commit was made."""
    lesson = learnt(case)
    commit = repo.finished(trailers(case)) if repo.is_git else ""
    return Closing(lesson, commit, note(case, commit)) if commit else None


def _mends_head(repo: Repo, fix: Fix, patch: str, lesson: Mapping[str, bytes]) -> bool:
    """Whether the fix applies to HEAD and changes more there than its test: otherwise the cause lies in uncommitted work."""
    try:
        tree = repo.would_commit(patch, lesson)
    except Refused as refused:
        if refused.slug == "fix-entangled":
            return False
        raise
    code = {path for touch in fix.touches if not is_test_path(path := touch.split(":")[0])}
    return repo.revision("HEAD") is None or bool(code & set(repo.difference("HEAD", tree).files))


def _holds(case: Case, chosen: Plan, bench: Bench, person: Person) -> None:
    """Prove the commit's own tree, where it is not the one that was verified."""
    tree = bench.repo.would_commit(chosen.patch, chosen.files)
    differing = [
        path for path in bench.repo.difference(bench.repo.snapshot(), tree).files if path not in chosen.files or is_test_path(path)
    ]
    if not differing:
        return
    with person.progress("the commit's own tree, which is not the verified one"), bench.sandbox.copy(bench.allowed) as copy:
        copy.write(bench.repo.files_at(tree, differing))
        why = _broken(case, copy, bench)
    gate(not why, "commit-does-not-hold", "HEAD with the fix alone does not hold.",
         f"{why} It rests on uncommitted work in: {', '.join(differing[:5])}.", "commit that work first, or:  bitten close --all")


def _broken(case: Case, copy: Copy, bench: Bench) -> str:
    fix = fixed(case)
    names = bench.repo.new_tests(fix.scope.test, fix.confirmation.tree, fix.tree)
    tests = copy.test(fix.scope.test, names, in_its_python(case), timeout=bench.timeout)
    if not tests.run.ended_well:
        return "The test fails there."
    shown = shows(copy.run(case.failure.run.command, timeout=bench.timeout), case.expected)
    return f"The command fails there: {shown}." if shown else ""


def learnt(case: Case) -> Lesson:
    """The lesson that stands. Raises: Refused `close-before-lesson`."""
    link = case.links[3] if len(case.links) > 3 else None
    gate(isinstance(link, Lesson), "close-before-lesson", "There is no lesson yet.", way="bitten verify, then bitten close")
    assert isinstance(link, Lesson)
    return link


def fixed(case: Case) -> Fix:
    """The fix that stands. Raises: Refused `verify-before-fix`."""
    link = case.links[1] if len(case.links) > 1 else None
    gate(isinstance(link, Fix), "verify-before-fix", "There is no fix yet.", way="bitten verify")
    assert isinstance(link, Fix)
    return link


def message(case: Case) -> str:
    """Imperative subject, the why in the body, trailers that lead back to the case."""
    evidence, fix = confirmed(case).evidence, fixed(case)
    fact, value = evidence.deciding
    return (
        f"{subject(evidence.hypothesis.claim, fix.scope.parts[0].split(':')[-1])}\n\n"
        f"{evidence.hypothesis.claim}.\n{evidence.hypothesis.because}\n"
        f"Decided by {fact} = {value}; the test in {fix.scope.test} failed without this.\n\n"
        + "".join(f"{line}\n" for line in trailers(case))
    )


def trailers(case: Case) -> tuple[str, ...]:
    """Lines that no other commit has: the signature may come again, the tree that was proven does not."""
    check = confirmed(case).evidence.hypothesis.check
    return (f"Bitten-Signature: {case.failure.facts.get('signature')}", f"Bitten-Check: {check.supports_if}",
            f"Bitten-Tree: {fixed(case).tree}")


def subject(claim: str, name: str) -> str:
    """`Fix NAME: first clause of the claim`, at most 72 characters, cut between words."""
    clause = claim.removeprefix(name).strip().split(", ")[0]
    line = f"Fix {name}: {clause}"
    return line if len(line) <= 72 else line[:71].rsplit(" ", 1)[0] + "…"


def note(case: Case, commit: str) -> str:
    """Three lines for chat or stand-up: what bit, why, and what holds it now; a fourth where agents took part."""
    evidence, fix, root = confirmed(case).evidence, fixed(case), case.failure.root
    what = f"{root.type}: {root.message.strip()}".split("\n")[0] if root else str(case.failure.facts.get("signature"))
    held = f"Held by {fix.scope.test}" + (f", commit {commit[:12]}." if commit else ", see fix.patch.")
    return f"{what}\nCause: {evidence.hypothesis.claim} ({evidence.place or ', '.join(fix.scope.parts)}).\n{held}" + _agents(case)


def _agents(case: Case) -> str:
    said = gating.words(case)
    return f"\nAgents: {said}." if said else ""
