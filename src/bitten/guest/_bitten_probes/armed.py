"""Which instruments watch this process, and since when: each is put in place as soon as its framework has been imported. Knows no fact."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]

NAMES = ("nan", "batches", "loss", "optimizer", "mode", "weights", "tokens", "seeds", "metrics", "time", "tables")
"""What `all` stands for."""
BESIDE = ("recording", "turns")
"""Asked for by name: what writes the recording, and what changes a condition."""


def wanted() -> list[str]:
    asked = [name for name in os.environ.get("BITTEN_INSTRUMENTS", "").split(",") if name]
    every = [*asked, *(NAMES if "all" in asked else ())]
    return [name for name in (*BESIDE, *NAMES) if name in every]


def install() -> None:
    """Called by the hook when instruments were asked for; once a process, and again by whoever forked a warm one."""
    names = wanted()
    if not names:
        return
    hook.load("_bitten_probes.bus").install()
    armed = [name for name in names if _install(name)]
    hook.emit("armed", probes=armed, refused=[name for name in names if name not in armed])


def _install(name: str) -> bool:
    """One that can't be put in place is named, and the others are."""
    try:
        hook.load("_bitten_probes." + name).install()
    except Exception as error:  # the program goes on without it
        hook.emit("hookerr", where="instrument " + name, err=f"{type(error).__name__}: {str(error)[:200]}")
        return False
    return True
