"""The law of the first difference: reflexive, symmetric, and what follows from an earlier difference is never the first."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from bitten.core.comparing import STAGES, aligned, compare, like
from bitten.core.recording import Fingerprint, Mark, Recording

STAGE = st.sampled_from(STAGES)
HASHES = st.sampled_from(("a1", "b2", "c3"))


def fp(hash="a1", **more):
    return Fingerprint(**{"shape": (4,), "dtype": "float32", "hash": hash, "min": 0.0, "max": 1.0, "mean": 0.5, "size": 0.5,
                          "pattern": (1.0, 2.0), **more})


def other(hash="z9"):
    return fp(hash, mean=0.9)


PRINTS = st.builds(lambda hash: fp(hash, mean=ord(hash[0]) / 100), HASHES)
MARKS = st.lists(
    st.builds(Mark, stage=STAGE, step=st.integers(0, 3), key=st.sampled_from(("model 0: a", "model 0: b", "loader 0 order")),
              n=st.just(0), fps=st.builds(lambda print_: {"": print_}, PRINTS), given=st.sampled_from(("", "g1", "g2")),
              random=st.sampled_from(("", "r1", "r2"))),
    max_size=12, unique_by=lambda mark: (mark.stage, mark.step, mark.key))  # fmt: skip


def recording(*marks, name="a"):
    return Recording(name, tuple(marks))


def first(one, two):
    found = compare(recording(*one), recording(*two, name="b")).first
    return (found.stage, found.key) if found else None


@given(MARKS)
def test_a_recording_is_the_same_as_itself(marks):
    found = compare(recording(*marks), recording(*marks, name="b"))
    is_any = any(each.stage not in ("environment", "seeds") for each in marks)
    assert (found.first, found.verdict, found.conditions, found.alone) == (None, "same" if is_any else "nothing in common", (), 0)


def test_two_runs_that_share_nothing_are_not_called_the_same_and_marks_without_their_like_are_counted():
    python = Mark("environment", 0, "python", value="3.11")
    mine, theirs = Mark("loss", 0, "backward", fps={"": fp()}), Mark("update", 0, "optimizer", value="SGD")
    found = compare(recording(python, mine), recording(python, theirs))
    assert (found.verdict, found.compared, found.alone) == ("nothing in common", 0, 2)
    unread = Mark("forward", 0, "model 0: a", fps={"": Fingerprint((4,), "float32", "")})
    assert compare(recording(unread), recording(unread)).verdict == "nothing in common"
    assert compare(recording(mine, unread), recording(mine)).verdict == "same"


@settings(max_examples=300)
@given(MARKS, MARKS)
def test_both_ways_name_one_difference(mine, theirs):
    there, back = compare(recording(*mine), recording(*theirs)), compare(recording(*theirs), recording(*mine))
    assert (there.verdict, there.parted, there.noisy) == (back.verdict, back.parted, back.noisy)
    assert bool(there.first) == bool(back.first)
    if there.first is not None and back.first is not None:
        assert (there.first.step, there.first.follows) == (back.first.step, back.first.follows)


@given(PRINTS, PRINTS)
def test_likeness_has_no_direction_and_everything_is_like_itself(one, two):
    assert like(one, two) == like(two, one)
    assert like(one, one) == "same"


def test_rounding_is_drift_and_a_change_of_order_with_the_same_statistics_is_none():
    plain = fp(shape=(1000,), pattern=(30.0, -12.0))
    assert like(plain, replace(plain, hash="b", mean=0.5 + 1e-7, pattern=(30.0001, -12.0))) == "drift"
    assert like(plain, replace(plain, hash="b", pattern=(-8.0, 14.0))) == "apart"
    assert like(plain, replace(plain, hash="b", dtype="float64")) == "apart"
    whole = replace(plain, dtype="int64")
    assert like(whole, replace(whole, hash="b")) == "apart"


def test_what_was_made_of_something_that_had_parted_is_not_the_first():
    cause = Mark("preprocessing", 0, "scale", fps={"": fp()}, given="g", at="data.py:3", kind="call")
    batch = Mark("batch", 0, "loader 0 0", fps={"": fp()}, given="i")
    loss = Mark("loss", 0, "backward", fps={"": fp()})
    changed = [replace(each, fps={"": other()}) for each in (cause, batch, loss)]
    assert first([cause, batch, loss], changed) == ("preprocessing", "scale")


def test_another_random_state_makes_a_follower_and_the_seed_call_the_cause():
    seed = Mark("seeds", 0, "torch.manual_seed", value=0, at="train.py:1")
    weight = Mark("initial weights", 0, "model 0: a.weight", fps={"": fp()}, random="r1")
    metric = Mark("metric", 0, "accuracy", fps={"": fp()}, given="g")
    theirs = [replace(seed, value=1), replace(weight, fps={"": other()}, random="r2"), metric]
    assert first([seed, weight, metric], theirs) == ("seeds", "torch.manual_seed")


def test_an_order_that_other_draws_moved_is_not_the_cause_and_is_named_where_nothing_else_is():
    order = Mark("batch", 0, "loader 0 order", fps={"": fp("a1", dtype="int")}, random="r1")
    weight = Mark("initial weights", 0, "model 0: a.weight", fps={"": fp()}, random="r0")
    moved = replace(order, fps={"": fp("b2", dtype="int")}, random="r2")
    assert first([order, weight], [moved, replace(weight, fps={"": other()})]) == ("initial weights", "model 0: a.weight")
    assert compare(recording(order, weight), recording(moved, weight)).first.follows == "random"


def test_a_seed_without_effect_is_told_and_is_not_the_cause():
    seed = Mark("seeds", 0, "random.seed", value=0)
    metric = Mark("metric", 0, "accuracy", fps={"": fp()}, given="g", kind="call")
    assert first([metric], [seed, metric]) is None
    found = compare(recording(metric), recording(seed, replace(metric, fps={"": other()})))
    assert (found.first.stage, [each.key for each in found.conditions]) == ("metric", ["random.seed"])


def test_the_environment_is_told_and_does_not_stop_the_search():
    python = Mark("environment", 0, "python", value="3.11.7")
    mode = Mark("mode", 4, "model 0 over loader 1", value="eval")
    found = compare(recording(python, mode), recording(replace(python, value="3.12.1"), replace(mode, value="train")))
    assert (found.first.stage, [each.key for each in found.conditions]) == ("mode", ["python"])
    alone = compare(recording(python), recording(replace(python, value="3.12.1")))
    assert (alone.verdict, len(alone.conditions)) == ("nothing in common", 1)


def test_noise_alone_is_the_same_and_noise_that_grew_is_named_where_it_began():
    early = Mark("forward", 0, "model 0: a", fps={"": fp()}, given="x", random="")
    late = Mark("metric", 8, "accuracy", fps={"": fp()}, given="y1", kind="")
    drift = replace(early, fps={"": fp("b", mean=0.5 + 1e-7)})
    assert compare(recording(early, late), recording(drift, late)).verdict == "same within noise"
    found = compare(recording(early, late), recording(drift, replace(late, fps={"": other()}, given="y2"))).first
    assert (found.key, found.drifting) == ("model 0: a", True)


def test_modules_that_were_renamed_are_matched_by_what_they_are_in_the_order_of_their_calls():
    def model(*named):
        shapes = {"Linear(4, 8)": (2, 8), "ReLU()": (2, 8), "Linear(8, 2)": (2, 2), "Dropout(p=0.5)": (2, 8)}
        return [Mark("forward", 0, f"model 0: {name}", fps={"": fp(kind, shape=shapes[kind])}, given=f"g{at}", kind=kind)
                for at, (name, kind) in enumerate(named)]

    plain = model(("0", "Linear(4, 8)"), ("1", "ReLU()"), ("2", "Linear(8, 2)"))
    renamed = model(("body", "Linear(4, 8)"), ("act", "ReLU()"), ("head", "Linear(8, 2)"))
    assert first(plain, renamed) is None
    assert compare(recording(*plain), recording(*renamed)).renamed["model 0: head"] == "model 0: 2"
    inserted = model(("0", "Linear(4, 8)"), ("1", "ReLU()"), ("2", "Dropout(p=0.5)"), ("3", "Linear(8, 2)"))
    found = compare(recording(*plain), recording(*inserted)).first
    assert (found.stage, found.one, found.other.kind) == ("forward", None, "Dropout(p=0.5)")


def test_modules_that_have_nothing_in_common_stay_unmatched():
    assert list(aligned([], [Mark("forward", 0, "model 0: a")])) == []


def test_the_same_rows_dealt_out_in_another_way_are_a_split():
    def data(loader, rows, hash):
        return Mark("preprocessing", 0, f"loader {loader} data 0", fps={"": fp(hash, mean=ord(hash) / 9)}, kind=str(rows))

    assert first([data(0, 60, "a"), data(1, 40, "b")], [data(0, 70, "c"), data(1, 30, "d")]) == ("split", "loader 0 data 0")
    assert first([data(0, 60, "a"), data(1, 40, "b")], [data(0, 70, "c"), data(1, 31, "d")]) == ("preprocessing", "loader 0 data 0")


def test_another_loss_is_named_by_both_calls():
    named = (("nll_loss", "a.py:5"), ("mse_loss", "a.py:6"))
    calls = [Mark("loss", 0, name, fps={"": fp()}, given="g", at=at, kind="call") for name, at in named]
    ends = [Mark("loss", 0, "backward", fps={"": fp()}), Mark("loss", 0, "backward", fps={"": other()})]
    found = compare(recording(calls[0], ends[0]), recording(calls[1], ends[1])).first
    assert (found.key, found.one.at, found.other.at) == ("nll_loss or mse_loss", "a.py:5", "a.py:6")
