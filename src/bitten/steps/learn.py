"""Step 6: the lesson, drafted from facts in the recipe's form, for the person to edit. Knows nothing of Markdown files."""

from __future__ import annotations

from bitten.core.ladder import Case
from bitten.core.proof import Lesson, Verification
from bitten.core.trouble import gate


def learn(case: Case, text: str, local: str = "") -> Lesson:
    """The lesson as the person left it, or the reason why it is only local. Raises: Refused `learn-before-verification`."""
    return Lesson(proven(case), "" if local else text, local)


def proven(case: Case) -> Verification:
    """The verification that stands. Raises: Refused `learn-before-verification`."""
    link = case.links[2] if len(case.links) > 2 else None
    gate(isinstance(link, Verification), "learn-before-verification", "The fix is not proven yet.", way="bitten verify")
    assert isinstance(link, Verification)
    return link


def draft(case: Case, date: str) -> str:
    """- (date) what happened. Caught by …, not by a test. Added test_…. Lesson: …"""
    verification = proven(case)
    hypothesis = verification.fix.confirmation.evidence.hypothesis
    tests = ", ".join(sorted({outcome.test.split("::")[-1] for outcome in verification.green.outcomes}))
    rule = hypothesis.cure or "say here what to do, or to look for, next time."
    return f"- ({date}) {_sentence(hypothesis.claim)} Caught by {_caught(case)}, not by a test. Added {tests}.\n  Lesson: {rule}"


def _sentence(claim: str) -> str:
    return claim[0].upper() + claim[1:].rstrip(".") + "."


def _caught(case: Case) -> str:
    failure = case.failure
    if failure.root is not None:
        return f"a {failure.root.type} in {failure.root.site.function if failure.root.site else failure.root.process or 'a library'}"
    return f"an expectation ({failure.missed[0]})" if failure.missed else "its exit code"
