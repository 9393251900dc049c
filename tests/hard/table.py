"""The table of hard cases in the docs, drawn from the cases themselves. `BITTEN_REWRITE=1 pytest tests/hard` renews it."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.hard.case import GROUPS, Hard
from tests.hard.needs import words

DOCS = Path(__file__).parents[2] / "docs" / "reference" / "hard-cases.md"
HEAD = "| | case | how it is run | what the case shows | where |\n|---|---|---|---|---|\n"
MARK = "<!-- drawn by tests/hard/table.py -->\n"


def hold(cases: Sequence[Hard]) -> None:
    """Compare the table with the docs, or put it there."""
    head, mark, _ = DOCS.read_text("utf-8").partition(MARK)
    assert mark, f"{DOCS} has lost its mark"
    text = head + mark + "".join(_drawn(cases))
    if os.environ.get("BITTEN_REWRITE"):
        DOCS.write_text(text, "utf-8")
    assert DOCS.read_text("utf-8") == text, "BITTEN_REWRITE=1 pytest tests/hard/test_hard.py -k table  renews docs/reference/hard-cases.md"


def _drawn(cases: Sequence[Hard]) -> Iterator[str]:
    for group in GROUPS:
        yield f"\n## {group}\n\n{HEAD}"
        yield from (_row(case) for case in sorted(cases, key=lambda case: case.number) if case.group == group)


def _row(case: Hard) -> str:
    title = case.title + (f": {case.variant}" if case.variant else "")
    how = case.how or f"`{_shortened(case)}`"
    return f"| {case.number} | {_cell(title)} | {_cell(how)} | {_cell(case.shows)} | {_cell(_where(case))} |\n"


def _shortened(case: Hard) -> str:
    text = " ".join(shlex.join([word]) if " " in word else word for word in case.command).replace("\n", "; ")
    return text if len(text) <= 90 else text[:89] + "…"


def _where(case: Hard) -> str:
    if case.pending:
        return f"not yet: waits for {case.pending}"
    if "gpu" in case.needs:
        return "skipped where the tests run: needs a GPU"
    suite = "long suite" if case.slow else "`make test`"
    return f"{suite}, where there is {' and '.join(map(words, case.needs))}" if case.needs else suite


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
