from dataclasses import replace

import pytest

from bitten.core.case import Change, Likelihood
from bitten.core.failure import Crash, Sighting
from bitten.core.trouble import BadInput, Refused
from bitten.playbook import playbook, suspect

from .nouns import CRASH, failure

PREDICTIONS = {"supports_if": "items.short >= 1", "refutes_if": "items.short == 0"}


def made(wakes_on="stack expects (?P<rows>\\d+)", **written):
    @playbook("short-items", wakes_on=wakes_on)
    def short_items(seen):
        yield suspect(f"items are short by {seen.fact('items.short', '?')}", because=seen.match[0], **{**PREDICTIONS, **written})

    return short_items


def sighted(short, **changes):
    return Sighting(**{"probe": "short_items", "place": "src/a.py:cut", "facts": {"items.short": short}, "finding": bool(short), **changes})


def test_a_suspect_without_a_refutation_can_not_be_written():
    with pytest.raises(Refused) as refused:
        suspect("it is cursed", because="it feels so", supports_if="moon == 'full'")
    assert refused.value.slug == "suspect-without-refutation"


def test_a_prediction_that_can_not_be_read_is_refused_when_the_playbook_wakes():
    with pytest.raises(BadInput):
        made(refutes_if="gibberish").suspects(failure())


def test_a_playbook_sleeps_through_another_crash():
    assert made("CUDA out of memory").suspects(failure()) == ()


def test_it_wakes_on_type_and_message_of_any_crash_the_root_first():
    later = Crash("ValueError", "stack expects 7", role="consequence")
    both = replace(failure(), crashes=(later, CRASH))
    assert made().see(both).match["rows"] == "128"
    assert made("^ValueError: stack").see(both)


def test_it_wakes_on_the_output_when_no_crash_was_seen():
    unseen = replace(failure(), crashes=(), facts={"stderr": "Traceback\nRuntimeError: stack expects 9\n"})
    assert made("^RuntimeError: stack").see(unseen)


def test_a_suspect_becomes_a_hypothesis_that_names_its_probe_and_source():
    (h,) = made(probe=True, kind="shape/collate", likelihood="likely").suspects(replace(failure(), sightings=(sighted(None),)))
    assert (h.id, h.source, h.check.probes) == ("", "playbook:short-items", ("short_items",))
    assert (h.kind, h.likelihood) == ("shape/collate", "likely")
    assert h.because == "stack expects 128"


def test_measured_numbers_stand_in_the_claim_and_the_place_is_where_they_were_measured():
    (h,) = made(probe=True).suspects(replace(failure(), sightings=(sighted(3),)))
    assert h.claim == "items are short by 3" and h.place == "src/a.py:cut"


def test_without_a_sighting_the_place_is_the_innermost_line_of_the_persons_own():
    assert made(probe=True).suspects(failure())[0].place == "src/data.py:Loader.__iter__"


@pytest.mark.parametrize(("short", "likelihood"), [(2, Likelihood.LIKELY), (0, Likelihood.UNLIKELY), (None, Likelihood.POSSIBLE)])
def test_what_was_measured_outweighs_the_prior(short, likelihood):
    assert made(probe=True).suspects(replace(failure(), sightings=(sighted(short),)))[0].likelihood is likelihood


def test_a_finding_is_preferred_then_the_crashing_process():
    seen = [sighted(0, process="1"), sighted(5, process="2"), sighted(0, process="3"), sighted(7, process="1")]
    crashed = replace(failure(), crashes=(replace(CRASH, process="1"),), sightings=tuple(seen))
    assert made().see(crashed).fact("items.short") == 7
    assert made().see(replace(crashed, sightings=(seen[2], seen[0]))).sighting.process == "1"


def test_an_intervention_needs_no_probe():
    (h,) = made(change=Change(bare=True), supports_if="symptom.depends == true", refutes_if="symptom.depends == false").suspects(failure())
    assert h.check.change == Change(bare=True) and h.check.probes == () and h.place == ""
