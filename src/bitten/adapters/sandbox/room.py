"""A room: where runs of the failing command can do no harm. Composes environment, launcher and complaints; builds nothing itself."""

from __future__ import annotations

import base64
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Protocol

from bitten.core.trouble import BadInput, Unable

from .ended import Ended, follow, never
from .launch import Launcher
from .layers import is_in
from .offline import offline
from .refusals import refusals

HAND = str(Path(__file__).with_name("hand.py"))


class Room(Protocol):
    """Gone when its context ends, with all that was written in it. Runs see each other's writes."""

    @property
    def how(self) -> str:
        """How the room was made, and what this way can't promise."""
        ...

    @property
    def is_strong(self) -> bool:
        """Whether no write of a run can reach anything of the person's."""
        ...

    @property
    def root(self) -> str:
        """The project's path inside."""
        ...

    def run(
        self, argv: Sequence[str], cwd: str, env: Mapping[str, str], timeout: float | None = None, is_over: Callable[[], bool] = never
    ) -> Ended:
        """Run a program with this whole environment, but for the room's own variables. Its tree of processes ends with it.

        `is_over` is asked a few times a second, and ends the run when it says so.
        """
        ...

    def write(self, files: Mapping[str, bytes | None]) -> None:
        """Put files in the project, by path from its root; None removes one."""
        ...

    def apply(self, patch: str) -> None:
        """Apply a unified diff to the project. Raises: BadInput `patch-does-not-apply`."""
        ...

    def refused(self) -> tuple[str, ...]:
        """What the room seems to have kept from its latest run: a sentence each, with the flag that lifts it."""
        ...


@dataclass
class LaunchedRoom:
    """Either way's room. `own` are its variables; without `net` trackers are asked to be quiet, and in namespaces the network is off.

    `inside` turns words that name the project's real path into those that name the room's.
    """

    how: str
    root: str
    launcher: Launcher
    own: Mapping[str, str]
    net: bool = False
    inside: Callable[[str], str] = str
    is_strong: bool = True
    _refused: tuple[str, ...] = field(default=())

    def run(
        self, argv: Sequence[str], cwd: str, env: Mapping[str, str], timeout: float | None = None, is_over: Callable[[], bool] = never
    ) -> Ended:
        ended = self._run(argv, cwd, env, timeout, is_over=is_over)
        self._refused = refusals(ended.stderr.decode("utf-8", "replace"), self._may_have_denied, net=not self.net)
        return ended

    def write(self, files: Mapping[str, bytes | None]) -> None:
        content = {name: None if data is None else base64.b64encode(data).decode() for name, data in files.items()}
        for name in files:
            if name.startswith("/") or ".." in PurePosixPath(name).parts:
                raise BadInput("path-outside-project", f"{name} does not lie in the project.", way="name it by its path from the root")
        ended = self._run([sys.executable, "-I", "-S", HAND], self.root, os.environ, None, json.dumps(content).encode())
        if ended.exit != 0:
            raise Unable("copy-not-writable", f"Could not write {', '.join(files)} in the copy.", _last_line(ended.stderr),
                         "make room on the disk, then try again")

    def apply(self, patch: str) -> None:
        """By git, which also applies outside a repository; it must not find one above the project and leave paths out."""
        env = {**os.environ, "GIT_CEILING_DIRECTORIES": str(PurePosixPath(self.root).parent)}
        ended = self._run(["git", "apply", "--whitespace=nowarn", "-"], self.root, env, None, patch.encode())
        if ended.exit != 0:
            raise BadInput("patch-does-not-apply", "The patch does not apply to the tree as it stands.",
                           ended.stderr.decode("utf-8", "replace").strip(), "make it anew against the tree, as a unified diff")

    def refused(self) -> tuple[str, ...]:
        return self._refused

    def _run(
        self, argv: Sequence[str], cwd: str, env: Mapping[str, str], timeout: float | None, stdin: bytes = b"",
        is_over: Callable[[], bool] = never,
    ) -> Ended:  # fmt: skip
        quiet = offline(env, self.own["TMPDIR"]) if not self.net else {}
        whole = {**{name: self.inside(value) for name, value in env.items()}, **quiet, **self.own}
        return follow(self.launcher.start([self.inside(word) for word in argv], self.inside(cwd), whole, stdin), timeout, is_over)

    def _may_have_denied(self, path: str) -> bool:
        """In its own project a room denies nothing; elsewhere it may have where the person could have written."""
        place = path if os.path.exists(path) else os.path.dirname(path)  # noqa: PTH110, PTH120 - a word of the program, hardly a path
        return not is_in(path, self.root) and os.access(place, os.W_OK)


def _last_line(stderr: bytes) -> str:
    return (stderr.decode("utf-8", "replace").strip().splitlines() or [""])[-1]
