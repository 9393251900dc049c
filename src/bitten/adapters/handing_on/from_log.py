"""A log that somebody pasted, made into what was observed. It is text alone, of a run that nobody here saw, and every note says so."""

from __future__ import annotations

import re
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from bitten.adapters import metrics, pasted
from bitten.adapters.folder import Redact, masked
from bitten.core.failure import Command, Run, Surroundings
from bitten.core.ports import Observed
from bitten.core.trouble import BadInput

HEAD, TAIL = 1 << 20, 4 << 20
"""Bytes from a log's beginning, where its command stands, and from its end, where its failure does: as of a run's own output."""
UNSEEN = "captured from a log: bitten did not see it run"
_SHELL = re.compile(r"[|&;<>$`*?~]|^\w+=")


def text_of(file: str) -> str:
    """A log, its middle left out where it is long; `-` is standard input. Raises: BadInput `no-such-file`."""
    try:
        if file == "-":
            return _ends(sys.stdin.buffer)
        with Path(file).open("rb") as log:
            return _ends(log)
    except OSError as error:
        raise BadInput("no-such-file", f"Can't read {file}: {error.strerror}.", way="name a file that is there") from None


def _ends(log: BinaryIO) -> str:
    """Cut between lines: half a secret is none that the redactor knows."""
    head, tail, lost = log.read(HEAD), b"", 0
    while part := log.read(TAIL):
        lost += max(0, len(tail) + len(part) - TAIL)
        tail = (tail + part)[-TAIL:]
    if lost:
        head, tail = head[: head.rfind(b"\n") + 1], tail[tail.find(b"\n") + 1:]
        head += b"[bitten: some %d bytes not kept]\n" % lost
    return (head + tail).decode("utf-8", "replace")


def observed(log: str, typed: str, exit_code: int | None, cwd: Path, root: Path, redact: Redact) -> Observed:
    """`typed` is the command; empty where the log shows it. `exit_code` is None where it is left to the log.

    Raises: BadInput `log-shows-no-failure`, `log-without-command`, `not-understood`.
    """
    text = redact(log)
    told = pasted.read(text, root)
    end = replace(told.end, exit=exit_code, signal=None) if exit_code is not None else told.end
    if not told.crashes and end.exit is None and end.signal is None:
        raise BadInput("log-shows-no-failure", "Nothing in this log says that the command failed.",
                       "There is no exception in it, and no exit code.", "bitten capture --log FILE --exit 1")
    command = Command(masked(_argv(typed or told.command), redact), str(cwd))
    run = Run(command, end.exit, told.seconds, end.signal)
    own = {"exit": run.exit, "signal": run.signal, "seconds": told.seconds or None, "hung": False, "stdout": text, "stderr": ""}
    facts = {**metrics.metrics(text), **metrics.script_facts(text), **own}
    return Observed(run, facts, told.crashes, surroundings=Surroundings(notes=tuple(_notes(told)), ending=end.notes), output=text)


def _argv(command: str) -> tuple[str, ...]:
    """As a shell would split it; what needs a shell gets one."""
    if not command.strip():
        raise BadInput("log-without-command", "No line of this log shows the command that failed.", "Later steps run it again.",
                       'bitten capture --log FILE --command "python train.py"')
    try:
        words = tuple(shlex.split(command))
    except ValueError as why:
        raise BadInput("not-understood", f"{command!r} is no command: {why}.",
                       way='bitten capture --log FILE --command "python train.py"') from None
    return ("bash", "-c", command) if _SHELL.search(command) else words


def _notes(told: pasted.Pasted) -> list[str]:
    """What it can't have, and whether the tree that is photographed is the one that failed."""
    notes = [UNSEEN, *([pasted.UNSEEN] if told.crashes else [])]
    if told.differing:
        differ = "differs" if len(told.differing) == 1 else "differ"
        notes.append(f"the code is another one than in the log: {', '.join(told.differing[:8])} {differ}")
    elif any(frame.mine and frame.text for crash in told.crashes for frame in crash.frames):
        notes.append("the tree is kept as it is now; each of its lines that the log shows is the same")
    else:
        notes.append("the tree is kept as it is now: whether it is the one that failed, the log can't tell")
    return notes
