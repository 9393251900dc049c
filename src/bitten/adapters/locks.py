"""A lock on a file of ours that dies with its holder. Where a file system gives none, a marker that names its holder serves instead.

Where nobody can write there is nothing to guard, and no lock is taken.
"""

from __future__ import annotations

import errno
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from filelock import BaseFileLock

_READ_ONLY = (errno.EACCES, errno.EPERM, errno.EROFS)
_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)


class Busy(Exception):  # noqa: N818 - somebody else's work is no error
    """Another holds it."""


@dataclass
class Lock:
    """Waits for `timeout` seconds, without end when it is negative. Raises: Busy."""

    path: Path
    timeout: float = -1
    _held: ExitStack = field(default_factory=ExitStack)

    def __enter__(self) -> Lock:
        import filelock  # noqa: PLC0415 - as long in coming as all else that a look at a case needs

        hard = filelock.FileLock(self.path, self.timeout, mode=0o600)
        soft = filelock.SoftFileLock(f"{self.path}.holder", self.timeout, mode=0o600)
        try:
            self._take(hard, soft)
        except filelock.Timeout:
            raise Busy from None
        return self

    def _take(self, hard: BaseFileLock, soft: BaseFileLock) -> None:
        try:
            self._held.enter_context(hard)
        except OSError as why:
            if why.errno in _NO_LOCKS:
                self._held.enter_context(soft)
            elif why.errno not in _READ_ONLY:
                raise

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._held.close()
