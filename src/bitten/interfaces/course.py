"""Who is told of a run's course, step by step. Knows neither the run nor what becomes of the news."""

from __future__ import annotations

from typing import Protocol

from bitten.core.failure import Run


class Told(Protocol):
    """`stopped` says that a person had it ended: then nothing failed."""

    @property
    def stopped(self) -> bool: ...

    def started(self, pid: int) -> None: ...

    def ended(self, run: Run) -> None: ...

    def complete(self, missed: bool, case: int | None) -> None:
        """All that follows from its end is on disk."""


class Untold:
    """Nobody needs to be told: the terminal sees it."""

    stopped = False

    def started(self, pid: int) -> None:
        pass

    def ended(self, run: Run) -> None:
        pass

    def complete(self, missed: bool, case: int | None) -> None:
        pass
