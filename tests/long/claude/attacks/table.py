"""The table of attacks: every row of every sort, by name."""

from __future__ import annotations

from . import files, forgery, shell
from .attack import Attack

ATTACKS: dict[str, Attack] = {each.name: each for each in (*files.attacks(), *shell.attacks(), *forgery.attacks())}
assert len(ATTACKS) == len(files.attacks()) + len(shell.attacks()) + len(forgery.attacks()), "two attacks have one name"
