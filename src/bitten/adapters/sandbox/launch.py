"""Our end of the launcher's socket: sends it the plan of a room and then runs to start. Knows the messages, not the walls."""

from __future__ import annotations

import json
import os
import socket
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .ended import Started

LAUNCHER = str(Path(__file__).with_name("launcher.py"))


class WallError(Exception):
    """This system does not let us build the room that was asked for; the message is its reason."""


@dataclass(frozen=True)
class Plan:
    """What a room is made of. Without `walls` only the `fence` holds: paths below which alone its runs may write.

    `steps` put the root together, `open` paths are bound into it to be really written, `names` are folders whose sockets
    tell user names.
    """

    folder: str
    walls: bool
    tmp: str
    net: bool = False
    steps: Sequence[tuple[str, str]] = ()
    open: Sequence[str] = ()
    names: Sequence[str] = ("/var/lib/sss", "/run/nscd")
    fence: Sequence[str] = ()


@dataclass
class Launcher:
    """`notes` tell which paths could not be layered, `fenced` whether Landlock holds, `alone` whether a run sees its processes only."""

    control: socket.socket
    notes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    fenced: bool = False
    alone: bool = False

    def start(self, argv: Sequence[str], cwd: str, env: Mapping[str, str], stdin: bytes = b"") -> Started:
        """Start a program in the room."""
        ours, its = socket.socketpair()
        out, out_end = os.pipe()
        error, error_end = os.pipe()
        with its, tempfile.TemporaryFile() as fed:
            fed.write(stdin)
            fed.seek(0)
            message = {"argv": list(argv), "cwd": cwd, "env": dict(env)}
            try:
                _send(self.control, message, (fed.fileno(), out_end, error_end, its.fileno()))
            finally:
                os.close(out_end)
                os.close(error_end)
        return Started(out, error, ours)


@contextmanager
def launcher(plan: Plan) -> Iterator[Launcher]:
    """A launcher with its room built. Raises: WallError."""
    ours, its = socket.socketpair()
    log = Path(plan.folder, "launcher.log")
    with ours, log.open("wb") as complaints:
        with its:
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", LAUNCHER, str(its.fileno())], pass_fds=[its.fileno()],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=complaints, start_new_session=True)
        try:
            _send(ours, vars(plan))
            answer = _answer(ours)
            if reason := answer.get("error"):
                raise WallError(reason)
            yield Launcher(ours, answer["notes"], answer["fence"], answer["pids"])
        finally:
            ours.close()
            process.wait()


def _send(control: socket.socket, message: Mapping[str, Any], fds: Sequence[int] = ()) -> None:
    body = json.dumps(message).encode()
    socket.send_fds(control, [struct.pack("I", len(body))], list(fds))
    control.sendall(body)


def _answer(control: socket.socket) -> dict[str, Any]:
    with control.makefile("rb") as file:
        line = file.readline()
    return dict(json.loads(line)) if line else {"error": "the launcher ended"}
