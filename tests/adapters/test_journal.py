import json
import multiprocessing
import os
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests import nouns

from bitten.adapters import journal as module
from bitten.adapters.journal import FileJournal
from bitten.core.case import Check, Evidence, Hypothesis, Likelihood, Note, Visit
from bitten.core.failure import Command, Crash, Failure, FileSeen, Frame, Run, Sighting, Surroundings
from bitten.core.ladder import fold
from bitten.core.prediction import Op, Prediction
from bitten.core.trouble import Refused, Unable


def at(folder: Path) -> FileJournal:
    (folder / ".bitten" / "1-case").mkdir(mode=0o700, parents=True, exist_ok=True)
    return FileJournal(folder / ".bitten" / "1-case", folder / "state", now=lambda: 7.0)


def filled(folder: Path) -> FileJournal:
    journal = at(folder)
    for event in EVENTS:
        journal.append(event, "ann", "terminal")
    return journal


H = Hypothesis("h1", "rows \udcff differ", "because", Check(Prediction("rows", Op.EQ, 127), Prediction("rows", Op.EQ, 128)), "playbook:x",
               Likelihood.LIKELY)
FAILURE = Failure(
    Run(Command(("make", "caf\udce9"), "/p", {"A": "1"}), 1, 4.25),
    {"exit": 1, "big": 10**30, "loss": "nan"}, (Prediction("acc", Op.GE, 0.5),),
    (Crash("RuntimeError", "stack", (Frame("src/data.py", 41, "f", "x = 1", True, {"x": "1"}),)),),
    (Sighting("p", "place", {"rows": [1, 2]}),), Surroundings((FileSeen("a", "data"),), {"python": "3"}))
EVENTS = (FAILURE, H, Evidence(H, {"rows": 127, "odd": float("nan")}), Note("tried", "nothing"))


def test_events_come_back_as_they_were(tmp_path):
    journal = filled(tmp_path)
    entries = at(tmp_path).entries()
    assert entries[0].event == FAILURE
    assert (entries[1].who, entries[1].channel, entries[1].at, entries[1].event) == ("ann", "terminal", 7.0, H)
    assert entries[2].event.facts == {"rows": 127, "odd": "nan"}
    assert at(tmp_path).load() == journal.load() == fold(entry.event for entry in entries)
    assert journal.reports == []


def test_a_whole_life_comes_back(tmp_path):
    journal = at(tmp_path)
    life = (nouns.failure(), nouns.hypothesis(), nouns.evidence(), nouns.confirmation(), nouns.fix(), nouns.verification(), nouns.lesson(),
            nouns.closing())
    for event in life:
        journal.append(event, "ann", "terminal")
    assert journal.load() == fold(life)


def test_a_line_is_an_envelope_that_holds_the_digest_of_the_line_before(tmp_path):
    lines = filled(tmp_path).file.read_bytes().splitlines()
    first = json.loads(lines[0])
    assert {key: first[key] for key in ("v", "at", "who", "channel", "prev", "kind")} == {
        "v": 1, "at": 7.0, "who": "ann", "channel": "terminal", "prev": "0" * 64, "kind": "Failure"}
    assert json.loads(lines[1])["prev"] == module.hashlib.sha256(lines[0]).hexdigest()


def test_only_the_person_may_read_it(tmp_path):
    file = filled(tmp_path).file
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)


def test_cut_anywhere_no_completed_line_is_lost(tmp_path):
    first = at(tmp_path / "whole")
    for event in (Failure(Run(Command(("a",), "/"), 1, 1.0), {}), Note("tried", "one"), Note("tried", "two")):
        first.append(event, "ann", "terminal")
    whole = first.file.read_bytes()
    ends = [n + 1 for n, byte in enumerate(whole) if byte == ord("\n")]
    expected = {count: fold(entry.event for entry in first.entries()[:count]) for count in range(len(ends) + 1)}
    journal = at(tmp_path / "cut")
    for cut in range(len(whole) + 1):
        journal.file.write_bytes(whole[:cut])
        complete = sum(end <= cut for end in ends)
        try:
            case = journal.load()
        except Unable as trouble:
            assert (trouble.slug, complete) == ("journal-empty", 0)
        else:
            assert case == expected[complete]
        is_torn = cut != 0 and cut not in ends
        assert [report.split(":")[0] for report in journal.reports] == ["journal-torn"] * is_torn
        for aside in journal.file.parent.glob("events.torn-*"):
            assert aside.name == "events.torn-1" and is_torn
            assert journal.file.read_bytes() + aside.read_bytes() == whole[:cut]
            aside.unlink()


def test_a_last_line_of_zeros_is_torn_and_the_next_event_follows_the_whole_ones(tmp_path):
    journal = filled(tmp_path)
    with journal.file.open("ab") as file:
        file.write(b"\0" * 40 + b"\n")
    journal.append(Note("tried", "more"), "ann", "terminal")
    assert "events.torn-1" in journal.reports[0]
    assert [note.text for note in journal.load().notes] == ["nothing", "more"]


@pytest.mark.parametrize("line", [1, 2, 3])
def test_an_edit_in_the_middle_is_named_at_its_line(tmp_path, line):
    journal = filled(tmp_path)
    lines = journal.file.read_bytes().splitlines(keepends=True)
    for edited in (lines[line - 1].replace(b'"ann"', b'"bob"'), b"{}\n", b"\n"):
        journal.file.write_bytes(b"".join((*lines[:line - 1], edited, *lines[line:])))
        with pytest.raises(Unable) as trouble:
            journal.load()
        assert trouble.value.slug == "journal-damaged"
        assert f"events.jsonl:{line} " in trouble.value.what


def rewritten(journal: FileJournal, events, **changes) -> None:
    """A journal with a lawful chain, by another hand."""
    journal.file.unlink()
    lines: list[bytes] = []
    for event in events:
        envelope = module.Envelope(1, 7.0, "eve", "terminal", module._digest(lines[-1:]), type(event).__name__, module._plain(event))
        lines.append(module._line(module.msgspec.structs.replace(envelope, **changes)))
    journal.file.write_bytes(b"".join(line + b"\n" for line in lines))


def test_an_unlawful_line_is_named_with_its_reason(tmp_path):
    journal = filled(tmp_path)
    rewritten(journal, (FAILURE, H, H))
    with pytest.raises(Unable) as trouble:
        journal.load()
    assert trouble.value.slug == "journal-unlawful"
    assert "events.jsonl:3 " in trouble.value.what and "hypothesis-id-taken" in trouble.value.why


def test_an_event_that_refuses_to_exist_is_unlawful(tmp_path):
    journal = filled(tmp_path)
    rewritten(journal, (FAILURE,))
    journal.file.write_bytes(journal.file.read_bytes().replace(b'"exit":1,', b'"exit":0,').replace(b'"acc"', b'"big"'))
    with pytest.raises(Unable) as trouble:
        journal.load()
    assert trouble.value.slug == "journal-unlawful" and "nothing-failed" in trouble.value.why


def test_a_newer_version_and_an_unknown_kind_are_named(tmp_path):
    journal = filled(tmp_path)
    for changes, slug in (({"v": 2}, "journal-newer"), ({"kind": "Miracle"}, "journal-damaged")):
        rewritten(journal, EVENTS, **changes)
        with pytest.raises(Unable) as trouble:
            journal.load()
        assert trouble.value.slug == slug


def test_a_rewritten_journal_shows_and_goes_on_showing(tmp_path):
    journal = filled(tmp_path)
    rewritten(journal, EVENTS)
    journal.load()
    assert journal.reports[0].startswith("journal-rewritten")
    journal.append(Note("tried", "more"), "ann", "terminal")
    later = at(tmp_path)
    later.load()
    assert later.reports[0].startswith("journal-rewritten")


def test_a_new_case_in_the_place_of_an_old_one_is_not_called_rewritten(tmp_path):
    filled(tmp_path).file.unlink()
    journal = at(tmp_path)
    journal.append(FAILURE, "ann", "terminal")
    journal.load()
    assert journal.reports == []


def test_what_may_not_follow_is_refused_before_it_is_written(tmp_path):
    journal = filled(tmp_path)
    before = journal.file.read_bytes()
    with pytest.raises(Refused):
        journal.append(H, "ann", "terminal")
    with pytest.raises(Refused):
        at(tmp_path / "new").append(H, "ann", "terminal")
    assert journal.file.read_bytes() == before


def test_a_write_that_falls_short_is_taken_back(tmp_path, monkeypatch):
    journal = filled(tmp_path)
    before, write = journal.file.read_bytes(), os.write
    monkeypatch.setattr(module.os, "write", lambda descriptor, line: write(descriptor, line[:9]))
    with pytest.raises(Unable) as trouble:
        journal.append(Note("tried", "more"), "ann", "terminal")
    assert trouble.value.slug == "journal-not-written"
    assert journal.file.read_bytes() == before


def _append_many(folder: Path, who: str) -> None:
    for n in range(20):
        at(folder).append(Visit("check", float(n), n + 0.5), who, "terminal")


def test_two_commands_at_once_write_one_chain(tmp_path):
    filled(tmp_path)
    spawn = multiprocessing.get_context("fork")
    both = [spawn.Process(target=_append_many, args=(tmp_path, who)) for who in ("ann", "bob")]
    for process in both:
        process.start()
    for process in both:
        process.join()
    assert len(at(tmp_path).load().visits) == 40


WORDS = st.text(st.characters(codec=None), max_size=9)
PLAIN = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | WORDS
FACTS = st.dictionaries(WORDS, st.recursive(PLAIN, lambda inner: st.lists(inner, max_size=3), max_leaves=5), max_size=4)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(st.lists(st.builds(Note, st.sampled_from(["tried", "expected"]), WORDS), max_size=3), FACTS)
def test_any_words_and_facts_come_back(tmp_path, notes, facts):
    journal = at(tmp_path)
    journal.file.unlink(missing_ok=True)
    events = [replace(FAILURE, facts=facts), *notes]
    for event in events:
        journal.append(event, "ann", "terminal")
    assert [entry.event for entry in journal.entries()] == events
