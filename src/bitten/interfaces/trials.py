"""Checks and the proof, run in throw-away copies for whoever asks: a command or an agent's tool. Prints nothing, decides nothing."""

from __future__ import annotations

from collections.abc import Sequence

from bitten.core import rank
from bitten.core.case import IMPORTED, Evidence, Hypothesis
from bitten.core.ports import Allowed, Sandbox
from bitten.core.proof import Verification
from bitten.core.trouble import Refused
from bitten.interfaces import text
from bitten.interfaces.wiring import OpenCase
from bitten.steps import check as checking
from bitten.steps import verify as verifying


def run(opened: OpenCase, wanted: Sequence[Hypothesis], allowed: Allowed = Allowed(), timeout: float | None = None) -> list[Evidence]:
    """The checks of these, exactly as they stand; each one's evidence is on disk before the next begins."""
    if not wanted:
        return []
    bench = opened.bench(allowed, timeout)
    with opened.house.person.progress(f"{text.short(text.command(opened.case.failure), 60)} in a throw-away copy"):
        found = [each for each in opened.add(checking.check(opened.case, wanted, bench)) if isinstance(each, Evidence)]
    say_limits(opened, bench.sandbox)
    return found


def proven(opened: OpenCase, allowed: Allowed = Allowed(), timeout: float | None = None) -> Verification:
    """The proof of the fix, on disk. Raises: Refused, with the slug of the gate that stayed shut; what was learnt is in the case."""
    bench = opened.bench(allowed, timeout)
    try:
        opened.add(verifying.verify(opened.case, bench, opened.house.person))
    finally:
        say_limits(opened, bench.sandbox)
    verification = opened.case.links[-1]
    assert isinstance(verification, Verification)
    opened.keep_proof(verification)
    return verification


def say_limits(opened: OpenCase, sandbox: Sandbox) -> None:
    """What these copies could not promise."""
    for each in sandbox.limits:
        opened.house.say(f"copy: {each}")


def costs(opened: OpenCase, wanted: Sequence[Hypothesis]) -> str:
    """Why a re-run may not start without asking; empty when it may (promise P8)."""
    failure = opened.case.failure
    if failure.surroundings.environment.get("accelerator"):
        return "The failing run used an accelerator."
    if any(note.text.startswith(IMPORTED) for note in opened.case.notes) and any(rank.runs(each.check) >= 1 for each in wanted):
        return "The command came with an imported case."
    if not failure.run.seconds and any(rank.runs(each.check) >= 1 for each in wanted):
        return "Nobody saw how long the failing run took."
    if failure.run.seconds > opened.house.settings.ask_after and checking.cost(opened.case, wanted) > 0:
        return f"The failing run took {failure.run.seconds:.0f} s."
    return ""


def agreed(opened: OpenCase, wanted: Sequence[Hypothesis], way: str = "bitten check --yes") -> None:
    """Ask before a costly re-run; where nobody can answer, refuse and say what it would cost. Raises: Refused `check-costs`."""
    why = costs(opened, wanted)
    if not why:
        return
    cost = checking.cost(opened.case, wanted)
    price = (f"About {cost:.0f} s: " if cost else "It would run ") + text.command(opened.case.failure)
    asked = opened.house.person.channel == "terminal" and opened.house.person.ask(f"{why} {price}. Run it?", "y").lower().startswith("y")
    if not asked:
        raise Refused("check-costs", why, price, way)


def plain(found: Evidence) -> dict[str, object]:
    """Evidence as a script would read it."""
    return {"hypothesis": found.hypothesis.id, "claim": found.hypothesis.claim, "verdict": found.verdict.value, "place": found.place,
            "supports_if": str(found.hypothesis.check.supports_if), "refutes_if": str(found.hypothesis.check.refutes_if),
            "unclear": found.unclear, "facts": dict(found.facts)}
