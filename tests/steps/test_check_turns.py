"""What an intervention inside a program tells: beside its control run, whether it was applied, and when it decides nothing."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace

import pytest
from tests import nouns

from bitten.core.case import Change, Check, Evidence, Hypothesis, Verdict
from bitten.core.failure import Crash, Run, Sighting
from bitten.core.intervening import TURNS, turns_from
from bitten.core.ladder import advance, fold
from bitten.core.ports import Observed
from bitten.core.prediction import Prediction, parse
from bitten.core.trouble import BadInput
from bitten.steps.check import Bench, check
from bitten.steps.suspect import check_from, suspect

NAN = {"nan.kind": "loss", "step": 7, "says": "the loss is NaN from step 7 on"}
HEALTHY = {"nan.kind": "none"}
CRASH = Crash("ValueError", "the loss is NaN", (), "main", "root")


def ran(exit_code: int, nan: dict, steps: int, applied: str = "", **facts) -> Observed:
    """As observe makes it: what instruments measured is a fact of the run."""
    told = [Sighting("nan", "", nan, finding="says" in nan), Sighting("turns", "", {"turn.steps": steps})]
    if applied:
        told.append(Sighting("turns", "", {"turn.lr": applied, "turn.lr.times": steps}))
    run = Run(nouns.COMMAND, exit_code, 1.0)
    measured = {name: value for name, value in nan.items() if name.startswith("nan.")}
    return Observed(run, {"exit": exit_code, **measured, **facts}, () if exit_code == 0 else (CRASH,), tuple(told))


BROKEN = ran(1, NAN, 7, loss="nan")
WELL = ran(0, HEALTHY, 20, "applied", loss=0.25)


class Room:
    """Gives these runs one after the other, and remembers how each was asked for."""

    def __init__(self, *runs: Observed) -> None:
        self.left, self.asked = list(runs), []

    def run(self, command, **how):
        self.asked.append(how)
        return self.left.pop(0)


def suspicion(supports: str = 'changed.nan.kind == "none"', refutes: str = 'changed.nan.kind != "none"', turns=("lr=0.1",)) -> Hypothesis:
    return Hypothesis("h1", "the rate is too high", "-", Check(parse(supports), parse(refutes), change=Change(turns=turns)), "person:a")


def asked(wanted: Hypothesis, *runs: Observed, on_base: bool = True, known: Evidence | None = None,
          expected: tuple[Prediction, ...] = ()) -> tuple[Evidence, Room]:
    room = Room(*runs)
    base = fold([nouns.failure(), wanted])
    shows = f"missed: {expected[0]}" if expected else "ValueError: the loss is NaN @ - > -"
    case = replace(base, failure=replace(base.failure, facts={**base.failure.facts, "signature": shows}, expected=expected))
    case = advance(case, known) if known else case
    kept = SimpleNamespace(keep=lambda *args: "evidence/h1-1")
    bench = Bench(SimpleNamespace(copy=lambda allowed: nullcontext(room)), None, kept, instruments=("nan", "mode"))
    (found,) = check(case, [wanted], bench, on_base=on_base)
    return found, room


def test_facts_of_both_runs_say_what_vanished_and_what_did_not():
    found, room = asked(suspicion(), BROKEN, WELL)
    assert found.verdict is Verdict.SUPPORTS, found.unclear
    assert {name: found.facts[name] for name in ("control.nan.kind", "changed.nan.kind", "control.loss", "changed.loss", "turn.lr",
                                                 "control.nan.findings", "changed.nan.findings", "symptom.depends")} == {
        "control.nan.kind": "loss", "changed.nan.kind": "none", "control.loss": "nan", "changed.loss": 0.25, "turn.lr": "applied",
        "control.nan.findings": 1, "changed.nan.findings": 0, "symptom.depends": True}
    assert room.asked[0]["instruments"] == ["turns", "nan"] and "turns" not in room.asked[0]
    assert room.asked[1]["turns"] == ("lr=0.1",)


def test_whatever_is_predicted_is_measured_on_both_sides_among_many_metrics_and_in_long_texts():
    many = {f"metric_{number}": number for number in range(200)}
    printed = "done=1\n" + "a line\n" * 2000
    base, well = ran(1, NAN, 7, **many, stdout="nothing"), ran(0, HEALTHY, 20, "applied", **many, stdout=printed)
    found, _ = asked(suspicion('changed.stdout ~ "^done"', "changed.metric_199 < 0"), base, well)
    assert found.verdict is Verdict.SUPPORTS and found.facts["control.metric_199"] == 199, found.unclear
    assert len(found.facts) < 250 and len(found.facts["changed.stdout"]) < 5000


def test_a_turn_that_was_never_applied_decides_nothing_and_says_why():
    found, _ = asked(suspicion(), BROKEN, ran(0, HEALTHY, 20, "never met"))
    assert found.verdict is Verdict.UNCLEAR and found.unclear == "The turn lr=0.1 was not applied: no optimizer was stepped."
    found, _ = asked(suspicion(), BROKEN, ran(0, HEALTHY, 20, "refused: because"))
    assert found.unclear == "The turn lr=0.1 was not applied: refused: because."


def test_a_vanished_failure_alone_names_no_cause():
    found, _ = asked(suspicion("symptom.depends == true", "symptom.depends == false"), BROKEN, WELL)
    assert found.verdict is Verdict.UNCLEAR and "that alone names no cause" in found.unclear


@pytest.mark.parametrize(
    "supports", ['turn.lr == "applied"', "turn.lr.times > 0", "control.exit == 1", 'control.shows != ""', "signature exists"])
def test_what_holds_of_any_such_check_supports_nothing(supports):
    found, _ = asked(suspicion(supports, "changed.exit == 1"), BROKEN, WELL)
    assert found.verdict is Verdict.UNCLEAR and "tells nothing of what the change made" in found.unclear


KILLED = replace(ran(1, {}, 7), run=Run(nouns.COMMAND, None, 1.0, signal=9), facts={"exit": None, "signal": 9}, crashes=())


@pytest.mark.parametrize(("supports", "refutes", "control"), [
    ("changed.exit == 0", "changed.exit != 0", BROKEN), ('changed.shows == ""', 'changed.shows != ""', BROKEN),
    ('changed.nan.kind == "none"', 'changed.nan.kind != "none"', replace(BROKEN, facts={"exit": 1})),
    ("changed.steps > 7", "changed.steps <= 7", BROKEN),
])  # fmt: skip
def test_nor_does_it_by_another_name_or_by_a_fact_that_the_control_run_did_not_measure(supports, refutes, control):
    found, _ = asked(suspicion(supports, refutes), control, WELL)
    assert found.verdict is Verdict.UNCLEAR and "that alone names no cause" in found.unclear


def test_a_run_that_was_killed_before_it_measured_what_was_expected_missed_no_measured_fact():
    wanted, expected = suspicion("symptom.depends == true", "symptom.depends == false"), (parse("val_acc >= 0.8"),)
    well = ran(0, HEALTHY, 20, "applied", val_acc=0.9)
    low = ran(0, {"nan.kind": "none"}, 20, val_acc=0.3)
    assert asked(wanted, KILLED, well, expected=expected)[0].verdict is Verdict.UNCLEAR
    assert asked(wanted, low, well, expected=expected)[0].verdict is Verdict.SUPPORTS


def test_another_failure_under_the_change_decides_nothing_unless_it_came_later_or_its_own_words_are_asked_for():
    other = (Crash("TypeError", "half is not for this device", (), "main", "root"),)
    early, late = (replace(ran(1, HEALTHY, steps, "applied", stderr="TypeError"), crashes=other) for steps in (7, 8))
    found, _ = asked(suspicion(), BROKEN, early)
    assert found.verdict is Verdict.UNCLEAR and "it failed in another way before that: TypeError: half" in found.unclear
    assert asked(suspicion(), BROKEN, late)[0].verdict is Verdict.SUPPORTS
    assert asked(suspicion('changed.stderr ~ "TypeError"', "changed.exit == 0"), BROKEN, early)[0].verdict is Verdict.SUPPORTS
    killed = replace(late, run=replace(late.run, exit=2))
    assert asked(suspicion("changed.exit != 1", "changed.exit == 1"), BROKEN, killed)[0].verdict is Verdict.UNCLEAR


def test_a_changed_run_that_ended_well_before_the_step_of_the_finding_did_not_come_to_it():
    found, _ = asked(suspicion(), BROKEN, ran(0, HEALTHY, 4, "applied"))
    assert found.verdict is Verdict.UNCLEAR and "It made 4 steps; the failure came after 7." in found.unclear


def test_a_turn_that_failed_in_one_process_was_not_applied():
    half = replace(WELL, sightings=(Sighting("turns", "", {"turn.lr": "failed: TypeError: no"}), *WELL.sightings))
    found, _ = asked(suspicion(), BROKEN, half)
    assert found.verdict is Verdict.UNCLEAR and "failed: TypeError: no" in found.unclear


def test_a_failure_that_stays_under_the_change_refutes():
    found, _ = asked(suspicion("symptom.depends == true", "symptom.depends == false"), BROKEN, ran(1, NAN, 7, "applied"))
    assert found.verdict is Verdict.REFUTES


def test_a_changed_run_that_ends_before_the_failure_could_come_decides_nothing():
    found, _ = asked(suspicion(), BROKEN, ran(1, HEALTHY, 2, "applied"))
    assert found.verdict is Verdict.UNCLEAR and "It made 2 steps; the failure came after 7." in found.unclear


def test_what_the_control_run_shows_as_well_is_no_merit_of_the_change():
    wanted = suspicion("changed.loss is finite", "changed.loss exists")
    assert Evidence(wanted, {"changed.loss": 0.2, "control.loss": "nan"}).verdict is Verdict.UNCLEAR, "both predictions hold"
    wanted = suspicion("changed.val_acc >= 0.8", "changed.val_acc < 0.8")
    assert Evidence(wanted, {"changed.val_acc": 0.9, "control.val_acc": 0.5}).verdict is Verdict.SUPPORTS
    assert Evidence(wanted, {"changed.val_acc": 0.9, "control.val_acc": 0.85}).verdict is Verdict.REFUTES
    assert Evidence(wanted, {"changed.val_acc": 0.6, "control.val_acc": 0.5}).verdict is Verdict.REFUTES


def test_a_fact_that_is_well_in_the_failing_control_run_does_not_tell_the_failure():
    found, _ = asked(suspicion(), ran(1, HEALTHY, 7), WELL)
    assert found.verdict is Verdict.UNCLEAR
    assert found.unclear == "Without the change too control.nan.kind = none, while it fails: this fact does not tell the failure."


def test_on_a_fix_the_control_run_refutes_when_it_passes_the_step_where_the_failure_was():
    wanted = suspicion()
    known, _ = asked(wanted, BROKEN, WELL)
    fixed, never_met = ran(0, HEALTHY, 20), ran(0, HEALTHY, 20, "never met")
    for changed in (WELL, never_met):
        again, _ = asked(wanted, fixed, changed, on_base=False, known=known)
        assert again.verdict is Verdict.REFUTES, again.unclear
    short, _ = asked(wanted, ran(0, HEALTHY, 5), WELL, on_base=False, known=known)
    assert short.verdict is Verdict.UNCLEAR and short.unclear == "It made 5 steps; the failure came after 7."
    ill, _ = asked(wanted, ran(0, {**NAN, "step": 9}, 20), WELL, on_base=False, known=known)
    assert ill.verdict is Verdict.SUPPORTS, "the numbers are still bad where nothing changes them"
    crashed, _ = asked(wanted, BROKEN, WELL, on_base=False, known=known)
    assert crashed.verdict is Verdict.UNCLEAR and "did not complete" in crashed.unclear


def test_on_a_fix_numbers_that_are_bad_with_and_without_the_change_are_no_proof():
    wanted = suspicion()
    known, _ = asked(wanted, BROKEN, WELL)
    hidden = replace(ran(0, NAN, 20), crashes=())
    again, _ = asked(wanted, hidden, hidden, on_base=False, known=known)
    assert again.verdict is Verdict.UNCLEAR and again.unclear == "Without the change control.nan.kind = loss still, as in the failing run."
    low, lower = (ran(0, HEALTHY, 20, acc=value) for value in (0.3, 0.2))
    wanted = suspicion("changed.acc >= 0.8", "changed.acc < 0.8")
    known, _ = asked(wanted, ran(1, NAN, 7, acc=0.1), ran(0, HEALTHY, 20, "applied", acc=0.9))
    again, _ = asked(wanted, low, lower, on_base=False, known=known)
    assert (known.verdict, again.verdict) == (Verdict.SUPPORTS, Verdict.UNCLEAR)


def test_on_a_fix_a_failure_that_is_still_there_is_no_proof_whatever_the_change_does():
    wanted, expected = suspicion("symptom.depends == true", "symptom.depends == false"), (parse("acc >= 0.8"),)
    again, _ = asked(wanted, ran(0, HEALTHY, 20, acc=0.3), ran(0, HEALTHY, 20, acc=0.3), on_base=False, expected=expected)
    assert again.verdict is Verdict.UNCLEAR and again.unclear == "Without the change it still shows: missed: acc >= 0.8."


def test_on_a_fix_that_makes_fewer_steps_a_run_that_missed_its_expectation_at_its_end_is_proven_by_its_end():
    wanted, expected = suspicion("changed.acc >= 0.8", "changed.acc < 0.8"), (parse("acc >= 0.8"),)
    low, high = ran(0, HEALTHY, 200, acc=0.3), ran(0, HEALTHY, 100, "applied", acc=0.9)
    known, _ = asked(wanted, low, high, expected=expected)
    again, _ = asked(wanted, high, high, on_base=False, known=known, expected=expected)
    assert (known.verdict, again.verdict) == (Verdict.SUPPORTS, Verdict.REFUTES), (known.unclear, again.unclear)


def test_on_a_fix_a_failure_that_is_gone_depends_on_nothing_however_the_changed_run_ends():
    wanted = suspicion("symptom.depends == true", "symptom.depends == false", turns=())
    again, _ = asked(wanted, ran(0, HEALTHY, 20), ran(1, HEALTHY, 1), on_base=False)
    assert again.verdict is Verdict.REFUTES


def test_a_probe_that_is_an_instrument_is_armed_in_the_shared_run():
    wanted = Hypothesis("h1", "numbers are bad", "-", Check(parse('nan.kind == "loss"'), parse('nan.kind == "none"'), probes=("nan",)), "-")
    found, room = asked(wanted, BROKEN)
    assert found.verdict is Verdict.SUPPORTS and room.asked[0]["instruments"] == ["nan"]


def test_an_instrument_that_finds_nothing_on_the_fix_speaks_of_the_whole_run():
    wanted = Hypothesis("h1", "numbers are bad", "-", Check(parse('nan.kind == "loss"'), parse('nan.kind == "none"'), probes=("nan",)), "-")
    bad = replace(BROKEN, sightings=(Sighting("nan", "train.py:step", NAN, finding=True), Sighting("nan", "", {"nan.kind": "loss"})))
    known, _ = asked(wanted, bad)
    again, _ = asked(wanted, ran(0, HEALTHY, 20), on_base=False, known=known)
    assert (known.place, again.place, again.verdict) == ("train.py:step", "", Verdict.REFUTES)
    proof = nouns.verification(again=nouns.evidence(rows=128, run=nouns.FINE, place=""))
    assert proof.again.place == ""


@pytest.mark.parametrize(
    "text", ["warp=1", "lr=0", "lr=-1", "lr=x", "lr", "autocast=on", "workers=-1", "skip=0", "threads=0", "overfit=two", ""])
def test_a_turn_that_there_is_not_is_refused(text):
    with pytest.raises(BadInput) as refused:
        turns_from(text)
    assert refused.value.slug == "bad-turn"


def test_turns_are_read_as_typed():
    assert turns_from("lr=0.5, workers=0,shuffle-labels=on") == ("lr=0.5", "workers=0", "shuffle_labels=on")
    assert check_from("turn:lr=1e-3", parse("a == 1"), parse("a == 2"), str).change == Change(turns=("lr=1e-3",))


def test_the_guest_has_a_seam_for_each_turn():
    from bitten.adapters import vocabulary  # noqa: PLC0415 - only here

    assert set(vocabulary._literal(vocabulary.FOLDER / "turns.py", "PARTS")) == set(TURNS)


def test_an_unknown_probe_is_refused_with_the_known_ones():
    person = SimpleNamespace(name="ana")
    with pytest.raises(BadInput) as refused:
        suspect(fold([nouns.failure()]), "it is", "probe:nam", "a == 1", "a == 2", (), person, str, ("nan", "unequal_items"))
    assert refused.value.slug == "no-such-probe" and "nan, unequal_items" in str(refused.value)
