# ruff: noqa: E501 - a row of the table and a small program are easier read unbroken
"""All hard cases, in the order of their numbers."""

from __future__ import annotations

from tests.hard import entry, exceptions, hangs, launch, native, secrets, state, terminal, workers
from tests.hard.case import Hard

CASES: tuple[Hard, ...] = tuple(sorted((case for group in (launch, workers, exceptions, native, hangs, entry, state, secrets, terminal) for case in group.CASES), key=lambda case: case.number))
