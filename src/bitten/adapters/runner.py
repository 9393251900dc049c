"""The person's command in the person's tree, with the guest let in. Knows neither cases nor copies."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bitten.adapters import guest_facts, places, process
from bitten.adapters.observe import Redact, observe, ran
from bitten.adapters.tape import Tape
from bitten.core.failure import Command
from bitten.core.ports import Observed


@dataclass(frozen=True)
class HereRunner:
    """ports.Runner. `probes` are the files that read a crash; nothing is watched while the command is healthy."""

    root: Path
    probes: Sequence[Path]
    redact: Redact

    def run(self, command: Command) -> Observed:
        """Raises: Unable, when the command can't be started."""
        with places.spool() as spool:
            tape = Tape(spool / "output")
            env = {**os.environ, **command.env}
            env.update(guest_facts.env_for(spool, places.cache(), self.probes, False, env))
            ended = process.run(command.argv, env, tape)
            printed = (tape.read(1), tape.read(2), tape.read())
            tape.close()
            observed = observe(ran(command, ended.exit, ended.signal, ended.seconds), printed, spool, self.root, self.redact)
            return replace(observed, interrupted=ended.interrupted)
