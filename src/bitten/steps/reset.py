"""The hour: stop, and show the bug in ten lines, or admit that it is not understood yet. Does not run the script itself."""

from __future__ import annotations

import ast
import tokenize
from collections.abc import Iterator

from bitten.core.case import Note, Reset
from bitten.core.failure import Command
from bitten.core.ladder import Case, Event
from bitten.core.ports import Copy, Observed
from bitten.core.trouble import BadInput
from bitten.steps.capture import shows

FREE = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)


def reset(case: Case, symptom: str, source: str, path: str, copy: Copy, interpreter: str) -> Iterator[Event]:
    """The person's updated symptom, and their reproducer, run and compared by us.

    Raises: Refused `reproducer-too-long`, `reproducer-shows-another`; BadInput `reproducer-not-python`.
    """
    lines = lines_of_code(source)
    seen = copy.run(Command((interpreter, path), case.failure.run.command.cwd, case.failure.run.command.env))
    yield Note("symptom", symptom)
    yield Reset(symptom, source, lines, _shown(case, seen), str(case.failure.facts.get("signature", "")))


def lines_of_code(source: str) -> int:
    """Lines that hold code; blank lines and comments are free, and a string over many lines counts for them all.

    Raises: BadInput `reproducer-not-python`.
    """
    try:
        ast.parse(source)
    except SyntaxError as error:
        what = f"The reproducer is no Python: {error.msg}, line {error.lineno}."
        raise BadInput("reproducer-not-python", what, way="bitten reset --script FILE") from None
    tokens = tokenize.generate_tokens(iter(source.splitlines(keepends=True)).__next__)
    return len({line for each in tokens if each.type not in FREE for line in range(each.start[0], each.end[0] + 1)})


def _shown(case: Case, seen: Observed) -> str:
    """The case's own signature when the script fails with the same type and message, wherever its line stands."""
    own = str(case.failure.facts.get("signature", ""))
    shown = shows(seen, case.failure.expected)
    return own if shown.split(" @ ")[0] == own.split(" @ ", maxsplit=1)[0] else shown
