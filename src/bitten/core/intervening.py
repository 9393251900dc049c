"""Interventions: which turns there are, what a run under a change and its control tell side by side, and when that decides nothing.

A vanished symptom alone names no cause, since many changes hide it: a prediction has to name what is measured, such as `changed.nan.kind`.
Knows no framework, and runs nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from .failure import Sighting
from .noun import noun
from .prediction import Facts, Json, Prediction
from .trouble import BadInput

CONTROL, CHANGED = "control.", "changed."
DEPENDS = "symptom.depends"
_OWN = frozenset(("exit", "signal", "seconds", "hung", "stdout", "stderr"))
"""Facts that every run has; of these `exit` alone is set side by side, unless another is asked for."""
ENDS = frozenset(("exit", "signal", "hung", "shows"))
"""Facts that tell of a run no more than whether it failed, and how."""
LASTED = frozenset(("steps", "seconds"))
"""A run that does not fail goes on for longer: no more is told by these."""
MOST = 80
LONGEST = 200
"""Characters of a text that is set side by side."""


@noun
class Turn:
    """A condition that can be changed inside a program: the form of its value, what it does, and why it may never be met."""

    form: str
    does: str
    unmet: str


_FACTOR, _COUNT = r"(?=.*[1-9])\d*\.?\d+(?:e-?\d+)?", r"[1-9]\d*"
TURNS: Mapping[str, Turn] = {
    "lr": Turn(_FACTOR, "times every learning rate", "no optimizer was stepped"),
    "autocast": Turn("off", "torch.autocast does nothing", "no autocast region was enabled"),
    "scaler": Turn("on", "scales losses as a GradScaler does", "no loss under float16 autocast ran backward"),
    "workers": Turn(r"\d+", "DataLoaders have so many workers", "no DataLoader was made"),
    "seed": Turn(r"\d+", "moves every seed, the first one to this", "neither random, numpy nor torch was imported"),
    "deterministic": Turn("on", "torch uses deterministic algorithms", "torch was not imported"),
    "compile": Turn("off", "torch.compile returns what it is given", "torch.compile was not called"),
    "batch": Turn(_FACTOR, "times the batch size of every DataLoader", "no DataLoader was made"),
    "overfit": Turn("one", "a training DataLoader hands out its first batch for ever", "no DataLoader handed out batches to train on"),
    "skip": Turn(_COUNT, "passes over that batch of training, counted from 0", "no DataLoader that trains came to that batch"),
    "shuffle_labels": Turn("on", "permutes the labels in each batch", "no DataLoader handed out a batch"),
    "device": Turn("cpu", "everything runs on the CPU", "no accelerator was asked for"),
    "threads": Turn(_COUNT, "so many threads compute", "neither numpy nor torch was imported"),
}


def turns_from(text: str) -> tuple[str, ...]:
    """`lr=0.5,workers=0` as turns. Raises: BadInput `bad-turn`."""
    return tuple(_turn(part.strip()) for part in text.split(","))


def _turn(part: str) -> str:
    name, _, value = part.partition("=")
    name = name.replace("-", "_")
    known = TURNS.get(name)
    if known is None:
        raise BadInput("bad-turn", f"There is no turn {part!r}.", f"There are: {', '.join(TURNS)}.", _way("lr", "0.5"))
    if not re.fullmatch(known.form, value):
        raise BadInput("bad-turn", f"The turn {name} has no value {value!r}.", f"It {known.does}.", _way(name, _example(known)))
    return f"{name}={value}"


def _way(name: str, value: str) -> str:
    return f'bitten suspect "CLAIM" --check turn:{name}={value} …'


def _example(turn: Turn) -> str:
    return turn.form if turn.form.isalpha() else "0.5" if turn.form == _FACTOR else "1"


def plain(fact: str) -> str:
    """The fact that a prediction of one side speaks of."""
    return fact.removeprefix(CHANGED).removeprefix(CONTROL)


def instruments_for(predictions: Iterable[Prediction], known: Collection[str]) -> list[str]:
    """Those of the known instruments that measure what is predicted."""
    heads = (plain(each.fact).partition(".") for each in predictions)
    return sorted({head for head, dot, _ in heads if dot and head in known})


# ---------------------------------------------------------------------------------------------- two runs side by side


def beside(facts: Facts, sightings: Sequence[Sighting], armed: Collection[str], wanted: Collection[str]) -> dict[str, Json]:
    """What of one run is set beside the other's: the wanted facts, metrics, findings by instrument, and how far it came."""
    asked = {name: facts[name] for name in wanted if facts.get(name) is not None}
    found = [each for each in sightings if each.finding and each.probe in armed]
    told = {name: value for name, value in facts.items() if name not in _OWN and _is_short(value)}
    watching = {each.probe for each in sightings} & {*armed} - {"turns"}
    counted = {f"{name}.findings": sum(each.probe == name for each in found) for name in watching}
    says = {f"{each.probe}.says": str(each.facts["says"])[:LONGEST] for each in reversed(found) if "says" in each.facts}
    return {**dict(list(told.items())[:MOST]), **asked, **counted, **says, **_steps(sightings, found)}


def _is_short(value: Json) -> bool:
    return isinstance(value, bool | int | float) or (isinstance(value, str) and len(value) <= LONGEST)


def _steps(sightings: Iterable[Sighting], found: Iterable[Sighting]) -> dict[str, Json]:
    """`steps` that were made in all, and the `step` of the first finding; neither where nobody counted."""
    made = [int(each.facts["turn.steps"]) for each in sightings if "turn.steps" in each.facts]
    bad = [int(each.facts["step"]) for each in found if isinstance(each.facts.get("step"), int)]
    return {**({"steps": max(made)} if made else {}), **({"step": min(bad)} if bad else {})}


def turned(turns: Iterable[str], sightings: Iterable[Sighting]) -> dict[str, Json]:
    """What became of each turn, over all processes: applied in one is applied, and one that failed in any has failed."""
    told: dict[str, Json] = {}
    for each in sorted(sightings, key=_weight):
        told.update({name: value for name, value in each.facts.items() if name.startswith("turn.") and name != "turn.steps"})
    return {name: value for name, value in told.items() if name.split(".")[1] in {turn.partition("=")[0] for turn in turns}}


def _weight(seen: Sighting) -> int:
    states = [str(value) for value in seen.facts.values()]
    return 2 if any(state.startswith("failed: ") for state in states) else int("applied" in states)


# ---------------------------------------------------------------------------------------------- when it decides nothing


def unapplied(turns: Sequence[str], facts: Facts) -> str:
    """Why the changed run ran unchanged: a sentence for the first turn that was not applied."""
    for turn in turns:
        name = turn.partition("=")[0]
        state = facts.get(f"turn.{name}")
        if state != "applied":
            why = TURNS[name].unmet if state in (None, "never met") else str(state)
            return f"The turn {turn} was not applied: {why}."
    return ""


def told_beforehand(turns: Sequence[str], supports_if: Prediction) -> str:
    """That a prediction holds of any such check: that the turn was applied, or that the control run failed."""
    fact = supports_if.fact
    of_control = fact == "signature" or (fact.startswith(CONTROL) and plain(fact) in ENDS | LASTED)
    if not turns or not (of_control or re.fullmatch(r"turn\.\w+(\.times)?", fact)):
        return ""
    return f"{fact} tells nothing of what the change made. Predict what is measured under it, such as  changed.nan.kind == \"none\"."


def vanished_alone(turns: Sequence[str], supports_if: Prediction, facts: Facts, was_measured: bool) -> str:
    """That nothing was measured but that the failure is gone, or became another. What the control run did not measure is no difference.

    `was_measured`: what was missed was itself a measured fact.
    """
    if not turns or facts.get(DEPENDS) is False:
        return ""
    name, is_gone = plain(supports_if.fact), facts.get(DEPENDS) is True
    is_lone = is_gone and supports_if.fact.startswith(CHANGED) and facts.get(f"{CONTROL}{name}") is None
    says_no_more = supports_if.fact == DEPENDS or (supports_if.fact.startswith(CHANGED) and name in ENDS | LASTED)
    if not is_lone and (was_measured or not says_no_more or (name == "shows" and not is_gone)):
        return ""
    return (f"The failure {'vanished' if is_gone else 'became another'} under {', '.join(turns)}, and that alone names no cause: "
            "many changes do that. Predict what is measured with and without it, such as  changed.nan.kind == \"none\".")


def failed_otherwise(turns: Sequence[str], supports_if: Prediction, facts: Facts) -> str:
    """That a changed run ended in another failure before it was past the step of the first; its own words may speak all the same."""
    name, made, symptom = plain(supports_if.fact), facts.get(f"{CHANGED}steps"), symptom_step(facts)
    if not turns or DEPENDS in facts or name in _OWN | ENDS or (isinstance(made, int) and symptom is not None and made > symptom):
        return ""
    return f"Under {', '.join(turns)} it failed in another way before that: {facts[f'{CHANGED}shows']}."


def fell_short(facts: Facts, side: str, symptom: int | None) -> str:
    """That a run did not come to the step at which the failure was."""
    made = facts.get(f"{side}steps")
    if symptom is None or not isinstance(made, int) or made >= symptom:
        return ""
    return f"It made {made} steps; the failure came after {symptom}."


def symptom_step(facts: Facts) -> int | None:
    """The step at which the control run showed the failure: that of the first finding, else its last one where it ended there."""
    ended = () if facts.get("control.exit") == 0 else ("control.steps",)
    return next((int(facts[name]) for name in ("control.step", *ended) if isinstance(facts.get(name), int)), None)


def as_before(supports_if: Prediction, refutes_if: Prediction, facts: Facts, before: Facts) -> str:
    """On a fix: that without the change the fact is as it was in the failing run. A change that makes no difference proves nothing then."""
    for side in (supports_if, refutes_if):
        if not side.fact.startswith(CHANGED):
            continue
        there = Prediction(f"{CONTROL}{plain(side.fact)}", side.op, side.value)
        is_same = plain(side.fact) not in _OWN | ENDS and facts.get(there.fact) is not None and facts[there.fact] == before.get(there.fact)
        if is_same or (side is refutes_if and there.holds(facts) is True and there.holds(before) is True):
            return f"Without the change {there.fact} = {facts[there.fact]} still, as in the failing run."
    return ""


def both(control: Facts, changed: Facts) -> Iterator[tuple[str, Json]]:
    for side, facts in ((CONTROL, control), (CHANGED, changed)):
        yield from ((f"{side}{name}", value) for name, value in facts.items())
