"""What is announced while a run goes on is heard once, to its last word, and a run that has ended is stopped by nothing."""

from __future__ import annotations

from pathlib import Path

from bitten.adapters.copies import Listener

LIVE, STOP = "{'t': 1.0, 'step': 3, 'loss': '', 'k': 'live'}\n", "{'t': 2.0, 'step': 4, 'k': 'stop'}\n"


def test_the_last_words_of_a_run_that_ended_between_two_questions_are_heard_but_do_not_stop_it(tmp_path: Path) -> None:
    told: list[str] = []
    listener = Listener(tmp_path, lambda kind, facts: told.append(kind) or kind == "stop")  # type: ignore[func-returns-value]
    log = tmp_path / "p7.log"
    log.write_text(LIVE + LIVE[:9])
    assert not listener()
    log.write_text(LIVE + LIVE + STOP)
    listener.drain()
    assert told == ["tick", "live", "live"] and not listener.stopped


def test_a_run_is_ended_when_whoever_hears_it_says_so(tmp_path: Path) -> None:
    (tmp_path / "p7.log").write_text(STOP)
    listener = Listener(tmp_path, lambda kind, facts: kind == "stop")
    assert listener() and listener.stopped
