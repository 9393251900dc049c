from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitten.core.prediction import Op, Prediction, as_prediction, parse
from bitten.core.trouble import BadInput


@pytest.mark.parametrize(("text", "facts", "holds"), [
    ("val_acc >= 0.8", {"val_acc": 0.81}, True),
    ("val_acc >= 0.8", {"val_acc": 0.79}, False),
    ("val_acc >= 0.8", {}, None),
    ("val_acc >= 0.8", {"val_acc": "high"}, None),
    ("exit == 0", {"exit": 0}, True),
    ("exit != 0", {"exit": 0}, False),
    ("loss < 5", {"loss": "nan"}, False),
    ("loss < 5", {"loss": "-inf"}, True),
    ("loss is finite", {"loss": "nan"}, False),
    ("loss is finite", {"loss": 2.5}, True),
    ("loss is  finite", {"loss": "text"}, None),
    ('stdout ~ "^done"', {"stdout": "begin\ndone\n"}, True),
    ('stdout ~ "^done"', {"stdout": "not done"}, False),
    ("stdout ~ ^done", {"stdout": 3}, None),
    ("mode in [\"train\", \"eval\"]", {"mode": "eval"}, True),
    ("mode in [1, 2]", {"mode": 3}, False),
    ("ckpt exists", {"ckpt": "x.pt"}, True),
    ("ckpt exists", {}, False),
    ("training == False", {"training": False}, True),
    ("layer.got != 1024", {"layer.got": 1600}, True),
    ("flag > 0", {"flag": True}, None),
])
def test_a_prediction_holds_fails_or_was_not_measured(text, facts, holds):
    assert parse(text).holds(facts) is holds


@pytest.mark.parametrize("text", ["", "loss", "loss ==", "loss is finite 3", "x in 3", "x exists 1", 'out ~ "("', "training to start soon"])
def test_what_can_not_be_read_is_refused_with_the_form_to_type(text):
    with pytest.raises(BadInput) as refused:
        parse(text)
    assert refused.value.slug == "bad-prediction"
    assert "val_acc >= 0.8" in refused.value.way
    assert as_prediction(text) is None


VALUES = st.one_of(
    st.integers(-(10**9), 10**9), st.floats(allow_nan=False, allow_infinity=False, width=32), st.booleans(), st.text(max_size=20)
)


@given(st.from_regex(r"[a-z_][a-z_.0-9]{0,12}", fullmatch=True).filter(lambda name: name not in ("in", "is", "exists")),
       st.sampled_from([Op.EQ, Op.NE, Op.LT, Op.LE, Op.GT, Op.GE]), VALUES)
def test_a_prediction_reads_back_what_it_prints(fact, op, value):
    prediction = Prediction(fact, op, value)
    assert parse(str(prediction)) == prediction


@given(st.text(max_size=60))
def test_no_text_brings_the_parser_down(text):
    prediction = as_prediction(text)
    assert prediction is None or prediction.holds({}) in (None, False)


@given(st.sampled_from(list(Op)), st.one_of(VALUES, st.just(None), st.lists(st.integers(), max_size=3)))
def test_no_measured_value_brings_a_prediction_down(op, measured):
    value = {Op.MATCH: "a", Op.IN: [1, "a"]}.get(op, 1)
    assert Prediction("x", op, value).holds({"x": measured}) in (True, False, None)
