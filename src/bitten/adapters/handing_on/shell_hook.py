"""The guest in every Python of one shell: which variables that takes, in the words of that shell. Changes no environment itself."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from bitten.guest import HOME

SHELLS = ("bash", "zsh", "sh", "fish")
OURS = ("BITTEN_SPOOLS", "BITTEN_SPOOL", "BITTEN_CACHE", "BITTEN_PROBES")


def variables(base: Path, cache: Path, probes: Sequence[Path], env: Mapping[str, str]) -> dict[str, str | None]:
    """What to set, and (None) to unset, so that each later Python tells its crash in a spool below `base`."""
    path = os.pathsep.join((HOME, *_others(env)))
    return {"PYTHONPATH": path, "BITTEN_SPOOLS": str(base), "BITTEN_CACHE": str(cache), "BITTEN_PROBES": os.pathsep.join(map(str, probes)),
            "BITTEN_SPOOL": None}


def without(env: Mapping[str, str]) -> dict[str, str | None]:
    """The same, undone: the person's own PYTHONPATH stays."""
    return {"PYTHONPATH": os.pathsep.join(_others(env)) or None, **dict.fromkeys(OURS)}


def _others(env: Mapping[str, str]) -> list[str]:
    return [entry for entry in env.get("PYTHONPATH", "").split(os.pathsep) if entry and entry != HOME]


def script(changes: Mapping[str, str | None], shell: str) -> str:
    """To be read by `eval`, or by fish's `source`."""
    put, drop = ("set -gx {} {}", "set -e {}") if shell == "fish" else ("export {}={}", "unset {}")
    quote = _fish if shell == "fish" else shlex.quote
    return "".join((drop.format(name) if value is None else put.format(name, quote(value))) + ";\n" for name, value in changes.items())


def _fish(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
