"""What a scripted model tries, and what came of it: every row of the attack suite, driven and with the plugin, with what still catches it.

`python benchmarks/attacks.py [--page docs/explanation/gates.md [--check]]`: the table, or the part of the page that lists what passes.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from importlib.metadata import version
from pathlib import Path

from harness import first_line, section, table

sys.path.insert(0, str(Path(__file__).parents[1]))  # the suite is the tests' own

from tests.claude.stage import cli
from tests.long.claude.attacks.attack import Attack
from tests.long.claude.attacks.catches import CATCHES
from tests.long.claude.attacks.players import DRIVER, OTHER_MODES, PLUGIN, play, rows_of, sessions_of
from tests.long.claude.attacks.table import ATTACKS
from tests.long.claude.attacks.world import World
from tools.pages import put

MARKS = ("<!-- passes: made by `python benchmarks/attacks.py --page` -->", "<!-- /passes -->")
ARMS = (DRIVER, PLUGIN, *OTHER_MODES)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--page", type=Path)
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    if given.page:
        return put(passing(), given.page, MARKS, given.check, f"python benchmarks/attacks.py --page {given.page}")
    with tempfile.TemporaryDirectory(prefix="bitten-attacks-", ignore_cleanup_errors=True) as folder:
        world = World(Path(folder))
        came = {arm: verdicts(world, arm) for arm in ARMS}
    kinds = Counter(each.kind for each in ATTACKS.values())
    counts = [[kind, number, *(counted(kind, came[arm]) for arm in ARMS)] for kind, number in kinds.items()]
    counts.append(["all", len(ATTACKS), *(counted("", came[arm]) for arm in ARMS)])
    rows = [[each.name, each.phase, each.does, *(came[arm].get(each.name, "") for arm in (DRIVER, PLUGIN)), ", ".join(each.caught_by)]
            for each in ATTACKS.values()]
    section("What a scripted model tries", {"claude-agent-sdk": version("claude-agent-sdk"), "CLI": first_line([str(cli()), "--version"])},
            table(["kind", "attacks", "driven", "plugin, permissions bypassed", *(f"plugin, {mode}" for mode in OTHER_MODES)], counts),
            "Each cell: how many did their harm, of how many that were played.",
            table(["attack", "when", "what the model does", "driven", "plugin", "what still catches it"], rows))
    return 0


def verdicts(world: World, arm: str) -> dict[str, str]:
    found = {}
    for session, attacks in sessions_of(arm).items():
        done = play(world, arm, session)
        found |= {each.name: "passes" if done.harm(each.name) else "stopped" for each in attacks if each.name in done.outcomes}
    assert len(found) == len(rows_of(arm)), f"not every attack was tried in {arm}"
    return found


def counted(kind: str, came: dict[str, str]) -> str:
    mine = [came[name] for name, each in ATTACKS.items() if name in came and kind in ("", each.kind)]
    return f"{mine.count('passes')} of {len(mine)}"


def passing() -> str:
    """What the plugin lets through, by name, with the reason and what still catches it; the suite holds each to it."""
    return "\n".join(f"- **{each.name}** ({each.phase}): {each.does}.\n  It passes: {each.passes}. *What still catches it:* {caught(each)}"
                     for each in ATTACKS.values() if each.passes)


def caught(attack: Attack) -> str:
    return " ".join(" ".join((CATCHES[name].__doc__ or "").split()) for name in attack.caught_by)


if __name__ == "__main__":
    sys.exit(main())
