"""The real CLI at a pseudo-terminal: what is typed there, and waiting for what comes of it. No screen is drawn of what it prints."""

from __future__ import annotations

import json
import re
import signal
import time
from collections.abc import Callable
from contextlib import suppress

import pexpect

from tests.claude.stage import Stage, cli

SECONDS = 50
"""For any one thing to happen, on a machine that is busy with others."""


class Screen:
    """One interactive session; `seen` is all that it printed, without the codes that move the cursor."""

    def __init__(self, stage: Stage, *options: str) -> None:
        root = str(stage.project.root)
        known = {"hasCompletedOnboarding": True, "theme": "dark", "customApiKeyResponses": {"approved": ["dummy"], "rejected": []},
                 "projects": {root: {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}}}
        (stage.config / ".claude.json").write_text(json.dumps(known), "utf-8")
        self._printed = ""
        self._child = pexpect.spawn(str(cli()), list(options), cwd=root, env={**stage.project.env, "TERM": "xterm-256color"},
                                    encoding="utf-8", codec_errors="replace", dimensions=(50, 140))

    def __enter__(self) -> Screen:
        self.until(lambda: "❯" in self._printed)
        return self

    def __exit__(self, *_: object) -> None:
        """It may take its time over the end of its own programs, and the terminal stays until it is gone."""
        self._child.kill(signal.SIGTERM)
        deadline = time.monotonic() + 10
        while self._child.isalive() and time.monotonic() < deadline:
            self._drain()
        self._child.kill(signal.SIGKILL)
        self._child.wait()
        self._child.close()

    @property
    def seen(self) -> str:
        return re.sub(r"\x1b\[[0-9;?<>=]*[A-Za-z]", " ", self._printed)

    def types(self, line: str) -> None:
        """A line, and Enter once it stands on the screen."""
        self._printed = ""
        self._child.send(line)
        self.until(lambda: line.rsplit(maxsplit=1)[-1] in self.seen)
        self._child.send("\r")

    def until(self, happened: Callable[[], bool]) -> None:
        deadline = time.monotonic() + SECONDS
        while not happened():
            assert time.monotonic() < deadline, self.seen[-3000:]
            self._drain()

    def _drain(self) -> None:
        with suppress(pexpect.TIMEOUT, pexpect.EOF):
            self._printed += self._child.read_nonblocking(65536, 0.1)
