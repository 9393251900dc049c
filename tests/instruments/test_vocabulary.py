"""The vocabulary of facts against the code that tells them: no name without a meaning, no threshold without its source."""

from __future__ import annotations

import ast
import re

import pytest

from bitten.adapters import vocabulary

NAMES = vocabulary.names()
FORM = re.compile(rf"({'|'.join(NAMES)})\.[a-z][a-z0-9_.]*")


def told_names() -> dict[str, str]:
    """Each text in the instruments' code that has a fact's form, with the file that has it; names of listeners are none."""
    listeners = {"tables.folds", "tables.class"}
    found = {}
    for file in vocabulary.FOLDER.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and FORM.fullmatch(node.value):
                found[node.value] = file.name
    return {name: file for name, file in found.items() if name not in listeners}


def declared() -> dict[str, vocabulary.Meaning]:
    return {name: meaning for each in vocabulary.instruments() for name, meaning in each.facts.items()}


def test_every_instrument_that_all_stands_for_is_there_and_says_what_it_watches():
    assert [each.name for each in vocabulary.instruments()] == list(NAMES)
    assert all(len(each.about.split()) > 5 and each.facts for each in vocabulary.instruments())


def test_every_fact_that_an_instrument_tells_has_its_meaning():
    known = declared()
    assert {name: file for name, file in told_names().items() if name not in known} == {}


def test_every_declared_fact_is_told_by_some_code():
    sources = "\n".join(file.read_text("utf-8") for file in vocabulary.FOLDER.glob("*.py"))
    composed = set(re.findall(r'f"(\w+)\.', sources))
    assert [name for name in declared() if sources.count(f'"{name}"') < 2 and name.partition(".")[0] not in composed] == []


@pytest.mark.parametrize("instrument", vocabulary.instruments(), ids=lambda each: each.name)
def test_a_meaning_is_whole(instrument):
    for name, meaning in instrument.facts.items():
        assert FORM.fullmatch(name) and name.startswith(f"{instrument.name}."), name
        assert len(meaning.says.split()) >= 2, name
        assert bool(meaning.threshold) <= bool(meaning.source), f"{name} has a threshold of unknown source"
        assert bool(meaning.threshold) <= bool(meaning.misfires), f"{name} does not say how its threshold misfires"


def test_an_instrument_is_known_by_its_facts_name():
    assert vocabulary.instrument_of("nan.kind") == "nan"
    assert vocabulary.instrument_of("labels.shift") == vocabulary.instrument_of("nan") == ""
