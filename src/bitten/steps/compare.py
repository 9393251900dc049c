"""One of two runs to lay side by side: recorded in a throw-away copy, with a tree or a command of its own. `core.comparing` judges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace

from bitten.core.failure import Command
from bitten.core.noun import noun
from bitten.core.ports import Allowed, Observed, Sandbox
from bitten.core.recording import Recording
from bitten.core.trouble import Unable

RECORDING = "recording"


@noun
class Side:
    """One run to record: what is run, on which files laid over the tree, and how a person speaks of it."""

    name: str
    command: Command
    files: Mapping[str, bytes | None] = field(default_factory=dict)


def record(side: Side, sandbox: Sandbox, allowed: Allowed, timeout: float | None) -> Observed:
    """Raises: Unable `compare-nothing-recorded`."""
    with sandbox.copy(allowed) as copy:
        copy.write(side.files)
        seen = copy.run(side.command, timeout=timeout, instruments=(RECORDING,))
    if seen.recording is None:
        ended = "" if seen.run.ended_well else f" It ended with exit {seen.run.exit}."
        raise Unable("compare-nothing-recorded", f"Nothing of {side.name} was recorded.{ended}",
                     "No Python in it imported torch, numpy or scikit-learn, or the guest did not come in.", "bitten probe all -- COMMAND")
    return replace(seen, recording=Recording(side.name, seen.recording.marks))
