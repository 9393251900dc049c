"""What is kept of a run's output."""

from __future__ import annotations

import pytest

from bitten.adapters.sandbox import ended
from bitten.adapters.sandbox.ended import Bounded


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
