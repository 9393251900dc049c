"""The table of bad weather in the docs, kept by the tests that make the weather: a row says what its test has just seen.

`BITTEN_REWRITE=1 pytest tests/weather` puts rows in; without it a row that differs, or is missing, fails its test.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import filelock

DOCS = Path(__file__).parents[2] / "docs" / "reference" / "bad-weather.md"
SECTIONS = ("Kills and clashes", "Strange places", "Strange programs", "Strange files")
HEAD = "| what | what happens | what is said | exit code |\n|---|---|---|---|\n"


@dataclass(frozen=True)
class Row:
    """`what` is the item; `happens` one clause; `said` the slug or the words a person sees; `code` the exit code, or a dash."""

    section: str
    what: str
    happens: str
    said: str
    code: int | str

    def __str__(self) -> str:
        return f"| {self.what} | {self.happens} | {self.said or 'nothing'} | {self.code} |\n"


def hold(row: Row) -> None:
    """Compare a row with the docs, or put it there."""
    assert row.section in SECTIONS
    if os.environ.get("BITTEN_REWRITE"):
        with filelock.FileLock(DOCS.with_suffix(".lock")):
            DOCS.write_text(_with(DOCS.read_text("utf-8"), row), "utf-8")
    assert str(row) in DOCS.read_text("utf-8"), f"docs/reference/bad-weather.md lacks:\n{row}\nBITTEN_REWRITE=1 puts it in"


def _with(text: str, row: Row) -> str:
    """The text with this row in its section, in the place of an older one about the same thing; rows are sorted."""
    before, heading, rest = text.partition(f"## {row.section}\n\n{HEAD}")
    assert heading, f"no section {row.section!r}"
    lines = rest.splitlines(keepends=True)
    end = next((n for n, line in enumerate(lines) if not line.startswith("| ")), len(lines))
    rows = [line for line in lines[:end] if not line.startswith(f"| {row.what} |")]
    return before + heading + "".join(sorted([*rows, str(row)])) + "".join(lines[end:])
