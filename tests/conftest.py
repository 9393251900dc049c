"""What holds for all tests."""

from __future__ import annotations

import os
import signal

from hypothesis import settings

os.environ.setdefault("BITTEN_REPRODUCER", "0")  # each look for one starts two interpreters; who tests that asks for it

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell's background job: what is tested here would inherit that
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("repeatable", derandomize=True, deadline=None)
if os.environ.get("CI"):  # a landing must not hang on luck; new examples are sought wherever else the tests run
    settings.load_profile("repeatable")
