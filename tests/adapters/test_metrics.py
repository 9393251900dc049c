from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitten.adapters.metrics import metrics, script_facts


@pytest.mark.parametrize(("text", "facts"), [
    ("step=100 loss=1.49\nstep=200 loss=0.52\n", {"step": 200, "loss": 0.52}),
    ("val_acc: 0.93", {"val_acc": 0.93}),
    ("loss=nan", {"loss": "nan"}),
    ("loss = -inf", {"loss": "-inf"}),
    ("lr=1e-4, momentum=.9", {"lr": 1e-4, "momentum": 0.9}),
    ('{"epoch": 3, "val/f1": 0.5, "done": true, "best": NaN}', {"epoch": 3, "val/f1": 0.5, "done": True, "best": "nan"}),
    ("{'eval_loss': 0.25, 'epoch': 1.0}", {"eval_loss": 0.25, "epoch": 1.0}),
    ("early_stop=True", {"early_stop": True}),
    ("shape=3x4 version=1.2.3 name=0abc", {}),
    ("nothing here", {}),
])
def test_the_last_number_printed_under_a_name_is_its_fact(text, facts):
    assert metrics(text) == facts


def test_a_flood_of_names_keeps_the_last_ones():
    found = metrics("\n".join(f"m{i}={i}" for i in range(5000)))
    assert len(found) == 300 and found["m4999"] == 4999


def test_a_script_gives_facts_as_json_and_other_words_as_text():
    text = "noise\nbitten-fact rows=127\nbitten-fact shapes=[[1, 2], [3]]\nbitten-fact odd=NaN\nbitten-fact where=data.py line 3\n"
    assert script_facts(text) == {"rows": 127, "shapes": [[1, 2], [3]], "odd": "nan", "where": "data.py line 3"}


@given(st.text(max_size=300))
def test_no_output_brings_the_reader_down(text):
    assert all(isinstance(name, str) for name in {**metrics(text), **script_facts(text)})
