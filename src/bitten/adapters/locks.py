"""A lock on a file of ours that dies with its holder. Where a file system gives none, a marker that names its holder serves instead.

Where nobody can write there is nothing to guard, and no lock is taken.
"""

from __future__ import annotations

import errno
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

import filelock

_READ_ONLY = (errno.EACCES, errno.EPERM, errno.EROFS)
_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)


@dataclass
class Lock:
    """Waits for `timeout` seconds, without end when it is negative. Raises: filelock.Timeout."""

    path: Path
    timeout: float = -1
    _held: ExitStack = field(default_factory=ExitStack)

    def __enter__(self) -> Lock:
        try:
            self._held.enter_context(filelock.FileLock(self.path, self.timeout, mode=0o600))
        except OSError as why:
            if why.errno in _NO_LOCKS:
                self._held.enter_context(filelock.SoftFileLock(f"{self.path}.holder", self.timeout, mode=0o600))
            elif why.errno not in _READ_ONLY:
                raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._held.close()
