"""How the guest comes into a command's Pythons: by environment variables only. Knows nothing of what it will see there."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from bitten.guest import HOME


def env_for(
    spool: Path, cache: Path, probes: Sequence[Path], watch: bool, base: Mapping[str, str],
    instruments: Sequence[str] = (), turns: Sequence[str] = (), stop_after: int | None = None,
) -> dict[str, str]:  # fmt: skip
    """What to add to a command's environment so that every Python below it lets the guest in; by the back door where `base` asks.

    `instruments` are armed by name, `turns` are changed conditions such as `lr=0.5`; the guest says `stop` so many steps after the
    first bad one. Raises: Unable `no-compiler`, only then.
    """
    paths = [HOME, base["PYTHONPATH"]] if base.get("PYTHONPATH") else [HOME]
    return {
        "PYTHONPATH": os.pathsep.join(paths),
        "BITTEN_SPOOL": str(spool),
        "BITTEN_CACHE": str(cache),
        "BITTEN_PROBES": os.pathsep.join(map(str, probes)),
        "BITTEN_WATCH": "1" if watch else "",
        "BITTEN_INSTRUMENTS": ",".join((*instruments, *(("turns",) if turns else ()))),
        "BITTEN_TURNS": ";".join(turns),
        "BITTEN_STOP_AFTER": "" if stop_after is None else str(stop_after),
        **(_back_door(base) if wants_back_door(base) else {}),
    }


def wants_back_door(env: Mapping[str, str]) -> bool:
    """`bitten run --native` puts this into the command's own environment, so that its checks come in the same way."""
    return env.get("BITTEN_NATIVE") == "1"


def _back_door(base: Mapping[str, str]) -> dict[str, str]:
    from bitten.adapters.runs import native  # noqa: PLC0415 - few ask for it

    return native.env_for(base)
