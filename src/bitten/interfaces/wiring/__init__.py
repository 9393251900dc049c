"""Where everything meets: the only package that knows which adapter stands behind which port. Has no rule of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bitten.adapters.terminal import Terminal

from .house import House
from .open_case import OpenCase
from .single import end_like, functions_called, instruments, keep_report, lay_out, mend, picture_of, proofs, recent_events, redact, selftest

if TYPE_CHECKING:
    from bitten.adapters.handing_on.spools import Left
    from bitten.adapters.runs.runner import Ran
    from bitten.adapters.sizes import Tidied

__all__ = [
    "House", "Left", "OpenCase", "Ran", "Terminal", "Tidied", "end_like", "functions_called", "instruments", "keep_report",
    "lay_out", "mend", "picture_of", "proofs", "recent_events", "redact", "selftest",
]  # fmt: skip
