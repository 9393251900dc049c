"""Every error of ours: what happened, why, and what to type next. Knows no way to print itself in colour.

    Trouble                 anything bitten says no to; carries a slug that has its paragraph in docs/reference/errors.md
    ├── Refused             a step came before its evidence (exit 3)
    ├── BadInput            what was typed or written can't be used (exit 2)
    └── Unable              the machine, the repository or a program stands in the way (exit 4)
"""

from __future__ import annotations


class Trouble(Exception):  # noqa: N818 - a refusal is no error, and its name says what it is
    """`what` happened, `why`, and the `way` out: the next command to type. `slug` names the paragraph in the docs."""

    exit_code = 1

    def __init__(self, slug: str, what: str, why: str = "", way: str = "") -> None:
        super().__init__(what)
        self.slug, self.what, self.why, self.way = slug, what, why, way

    def __str__(self) -> str:
        return " ".join(part for part in (self.what, self.why) if part)


class Refused(Trouble):
    exit_code = 3


class BadInput(Trouble):
    exit_code = 2


class Unable(Trouble):
    exit_code = 4


def gate(is_open: bool, slug: str, what: str, why: str = "", way: str = "") -> None:
    """Raise `Refused` unless the gate is open."""
    if not is_open:
        raise Refused(slug, what, why, way)
