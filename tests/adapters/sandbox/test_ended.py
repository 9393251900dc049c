"""What is kept of a run's output, and how often it is asked whether the run is to go on."""

from __future__ import annotations

import os
import socket
import threading

import pytest

from bitten.adapters.sandbox import ended
from bitten.adapters.sandbox.ended import Bounded, Started, follow


def test_the_head_and_the_tail_of_a_long_output_are_kept_and_what_was_lost_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ended, "HEAD", 4)
    monkeypatch.setattr(ended, "TAIL", 3)
    kept = Bounded()
    for part in (b"ab", b"cdef", b"ghijklmn", b"op"):
        kept.add(part)
    assert bytes(kept) == b"abcd\n[bitten: 9 bytes left out]\nnop"


def test_a_short_output_is_kept_whole() -> None:
    kept = Bounded()
    kept.add(b"ab")
    kept.add(b"cd")
    assert bytes(kept) == b"abcd"


def test_a_run_that_prints_a_lot_is_not_kept_waiting_by_questions_whether_it_is_to_go_on() -> None:
    (out, write_out), (err, write_err), (line, other) = os.pipe(), os.pipe(), socket.socketpair()
    asked: list[int] = []

    def program() -> None:
        for _ in range(2000):
            os.write(write_out, b"a line\n")
        os.close(write_out)
        os.close(write_err)
        other.sendall(b"0")
        other.close()

    printing = threading.Thread(target=program)
    printing.start()
    seen = follow(Started(out, err, line), None, lambda: asked.append(1) or False)  # type: ignore[func-returns-value]
    printing.join()
    assert seen.stdout == b"a line\n" * 2000 and seen.exit == 0
    assert 1 <= len(asked) <= 2 + seen.seconds / ended.TICK
