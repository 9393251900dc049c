"""What the gate reads from a journal is what the ladder says of it, in every state that any sequence of events can reach."""

from __future__ import annotations

from collections import deque
from typing import get_args

import pytest

from bitten.adapters.journal import START, Envelope, _digest, _line, _plain
from bitten.core.case import IMPORTED, Guard, Note, Recurrence, Reproducer, Reset, Visit
from bitten.core.ladder import Event, Step, advance
from bitten.core.trouble import Refused
from bitten.interfaces.claude_plugin.hooks import reading as gate
from tests import nouns
from tests.claude_plugin.cases import AFTER_FAILURE, add, project
from tests.core.test_ladder import ALPHABET, key

PHASES = {Step.CAPTURED: "open", Step.SUSPECTED: "open", Step.TESTED: "open", Step.CONFIRMED: "confirmed", Step.FIXED: "fixed",
          Step.VERIFIED: "verified", Step.LEARNED: "learned", Step.CLOSED: "closed"}
ASIDES = [Note("expected", "x"), Recurrence(nouns.BROKEN), Reproducer("a = 1"), Visit("run", 0, 1), Guard("claude-code", "s", True),
          Reset("still", "x = 1", 1, "same", "same")]


def walked():
    """Every state that the ladder's own walk reaches, each with one way to it."""
    seen, queue = {None}, deque([(None, ())])
    while queue:
        case, events = queue.popleft()
        yield case, events
        for event in ALPHABET.values() if len(events) < 10 else ():
            try:
                after = advance(case, event)
            except Refused:
                continue
            if key(after) not in seen:
                seen.add(key(after))
                queue.append((after, (*events, event)))


def journal(events):
    lines = []
    for event in events:
        prev = _digest(lines[-1:]) if lines else START
        lines.append(_line(Envelope(1, 0.0, "ana", "terminal", prev, type(event).__name__, _plain(event))))
    return lines


def read(events):
    return gate.replay(gate.Reading("/project", "7"), journal(events))


def test_the_gate_reads_every_move_from_every_reachable_state_as_the_ladder_does():
    """Every move, and not every state alone: two ways lead to one state, and the gate must read both."""
    seen = set()
    for before, events in walked():
        for event in (*ALPHABET.values(), *ASIDES):
            try:
                case = advance(before, event)
            except Refused:
                continue
            told = read((*events, event))
            seen.add(case.step)
            assert told.phase == ("dropped" if case.dropped else PHASES[case.step]), [type(each).__name__ for each in (*events, event)]
            assert told.is_open is case.is_open
            assert (told.parts, told.test) == ((case.scope.parts, case.scope.test) if case.scope else ((), ""))
            assert told.argv == case.failure.run.command.argv and told.cwd == case.failure.run.command.cwd
    assert seen == set(Step)


def test_a_link_out_of_turn_makes_a_journal_that_can_not_be_read():
    for state, events in AFTER_FAILURE.items():
        for name in ("confirm", "fix", "verify", "learn", "close", "rescope", "back"):
            whole = [nouns.failure(), *events]
            case = None
            for each in whole:
                case = advance(case, each)
            kinds = [type(link).__name__ for link in case.links]
            follows = {"confirm": not kinds and case.evidence, "rescope": len(kinds) == 1, "back": bool(kinds)}
            order = dict(zip(("fix", "verify", "learn", "close"), range(1, 5), strict=True))
            if case.is_open and (follows[name] if name in follows else len(kinds) == order[name]):
                continue
            with pytest.raises(gate.Unreadable):
                read((*whole, ALPHABET[name]))
            assert state


def test_every_kind_of_event_is_known():
    assert set(gate.KINDS) == {kind.__name__ for kind in get_args(Event)}
    assert gate.IMPORTED == IMPORTED


def test_the_current_case_is_found_with_its_command_and_what_it_writes(tmp_path):
    root = project(tmp_path, "confirmed")
    case = gate.reading(str(root))
    assert (case.number, case.phase, case.files) == ("1", "confirmed", ("src/data.py", "tests/test_data.py"))
    assert case.argv == ("make", "train", "RUN=a b") and case.wrote == {"metrics.json"}


def test_where_commands_speak_of_no_case_there_is_none(tmp_path):
    root = project(tmp_path, "none")
    assert gate.reading(str(root)) is None
    add(root, [nouns.failure()])
    (root / ".bitten" / "current").write_text("9-gone\n")
    assert gate.reading(str(root)) is None


def damaged(file, how):
    lines = file.read_bytes().splitlines(keepends=True)
    if how == "a bit flipped":
        lines[1] = lines[1].replace(b"the last window", b"the best window")
    elif how == "a line gone":
        del lines[1]
    elif how == "a newer version":
        lines = [lines[0].replace(b'"v":1', b'"v":2')]
    elif how == "another kind":
        lines = [lines[0].replace(b'"kind":"Failure"', b'"kind":"Magic"')]
    elif how == "no JSON":
        lines = [b"hello\n", *lines]
    elif how == "nothing":
        lines = []
    file.write_bytes(b"".join(lines))


@pytest.mark.parametrize("how", ["a bit flipped", "a line gone", "a newer version", "another kind", "no JSON", "nothing"])
def test_a_journal_that_can_not_be_read_counts_as_open_with_no_cause_confirmed(tmp_path, how):
    root = project(tmp_path, "closed")
    damaged(next((root / ".bitten").glob("1-*/events.jsonl")), how)
    case = gate.reading(str(root))
    assert case.is_open and case.phase == "open" and "events.jsonl" in case.trouble


def test_a_torn_last_line_never_happened(tmp_path):
    root = project(tmp_path, "confirmed")
    file = next((root / ".bitten").glob("1-*/events.jsonl"))
    whole = file.read_bytes()
    for cut in (b"", b"\n"):
        file.write_bytes(whole[:-40] + cut)
        case = gate.reading(str(root))
        assert (case.phase, case.trouble) == ("open", "")
