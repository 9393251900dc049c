"""A log of any length: its command is at the beginning, its failure at the end, and what lies between is said to be left out."""

from __future__ import annotations

import io

from bitten.adapters.handing_on import from_log


def test_of_a_long_log_whole_lines_of_both_ends_are_read(tmp_path, monkeypatch):
    monkeypatch.setattr(from_log, "HEAD", 40)
    monkeypatch.setattr(from_log, "TAIL", 50)
    lines = [f"line {at} of many\n" for at in range(40)]
    (tmp_path / "log").write_text("".join(lines))
    read = from_log.text_of(str(tmp_path / "log")).splitlines(keepends=True)
    gap = next(line for line in read if "bytes not kept" in line)
    assert read[0] == lines[0] and read[-2:] == lines[-2:] and set(read) - {gap} < set(lines)


def test_a_short_log_is_read_as_it_is(monkeypatch):
    monkeypatch.setattr("sys.stdin", type("Stdin", (), {"buffer": io.BytesIO(b"one\n\xff two")}))
    assert from_log.text_of("-") == "one\n\ufffd two"
