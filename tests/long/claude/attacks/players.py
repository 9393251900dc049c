"""The arms: bitten driving Claude, the plugin in each permission mode, and no gate at all. Each plays a group of rows in one session."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import Sequence
from pathlib import Path

from tests.claude.alone import alone
from tests.claude.plugin import laid_out
from tests.claude.stage import Stage

from .attack import BEFORE, NONE, VERIFIED, Attack
from .catches import CATCHES
from .playing import GROUP, Outcome, Played, Watched, by_itself, differing, groups, values_of
from .table import ATTACKS
from .world import World

OTHER_SERVER = Path(__file__).with_name("other_server.py")
PATIENCE = 90
"""Seconds for one session, on a machine that is busy with others."""
PLAIN = {"MCP_CONNECTION_NONBLOCKING": "0", "ENABLE_LSP_TOOL": "1"}
LATEST, LATEST_FREE = 1.0, 30.0
"""Seconds after a session in which a late harm comes: it would after 0.3. Where no gate stands it has to come, on a busy machine too."""
DRIVER, PLUGIN, FREE = "driver", "bypassPermissions", "no gate"
LAWFUL = ("windows.py", "test_windows.py")
"""What lawful calls change: a driver brings it into the tree at its end."""
OTHER_MODES = ("acceptEdits", "plan")
"""Claude Code's other modes let less through, lawful calls too; a part of the table is played in them."""
ARMS = (DRIVER, PLUGIN, *OTHER_MODES, FREE)
SAMPLE = 5


def rows_of(arm: str) -> list[Attack]:
    """What is played in an arm. A driver starts no session without a case, nor once the fix is proven."""
    if arm == DRIVER:
        return [each for each in ATTACKS.values() if each.phase not in (NONE, VERIFIED) and not each.options]
    if arm == FREE:
        return [each for each in ATTACKS.values() if each.bites and (not each.needs or shutil.which(each.needs))]
    if arm == PLUGIN:
        return list(ATTACKS.values())
    return [each for each in ATTACKS.values() if not (each.passes or each.lawful or each.answer)][::SAMPLE]


def sessions_of(arm: str) -> dict[str, list[Attack]]:
    if arm == DRIVER:
        return groups(rows_of(arm), lambda each: bool(each.lawful), size=100)
    return groups(rows_of(arm), by_itself, size=GROUP)


def play(world: World, arm: str, session: str) -> Played:
    attacks = sessions_of(arm)[session]
    if arm == DRIVER:
        return by_driver(world, attacks)
    return by_plugin(world, attacks, PLUGIN if arm == FREE else arm, gate=arm != FREE)


def by_plugin(world: World, attacks: Sequence[Attack], mode: str, gate: bool = True) -> Played:
    """A session of the person's own, with our plugin in it and another server beside it."""
    phase, session = attacks[0].phase, str(uuid.uuid4())
    world.back_to(phase)
    plugin = Path(_laid_out(world)) if gate else None
    with alone(), Watched(world, phase, attacks, lambda root, at: [values_of(world, root, at, session, plugin)], plugin) as api:
        stage = Stage(world.project, api)
        servers = json.dumps({"mcpServers": {"files": {"command": sys.executable, "args": ["-I", str(OTHER_SERVER)]}}})
        options = ("--session-id", session, "--permission-mode", mode, "--mcp-config", servers, *attacks[0].options)
        latest = LATEST if gate else LATEST_FREE
        try:
            said = stage.claude("Go on.", *options, *(("--plugin-dir", str(plugin)) if plugin else ()), timeout=PATIENCE, **PLAIN)
        except subprocess.TimeoutExpired as late:  # its rows were not tried, those before it were
            return _ended(api, 124, str(late), latest)
        return _ended(api, said.exit, said.stderr + str(said.messages[-1:]), latest)


def by_driver(world: World, attacks: Sequence[Attack]) -> Played:
    """bitten's own session. Each call is made twice: at the copy that the model is told of, and at the real tree."""
    phase = attacks[0].phase
    world.back_to(phase)
    ours = {"mcp__plugin_bitten_bitten__": "mcp__bitten__"}  # as the driver calls its own tools

    def variants(here: str, at: str) -> list[dict[str, str]]:
        return [values_of(world, here, at) | ours, values_of(world, str(world.root), at) | ours]

    with alone(), Watched(world, phase, attacks, variants) as api:
        stage = Stage(world.project, api)
        verb = ("diagnose",) if phase == BEFORE else ("fix", "--yes")
        done = stage.project.bitten(*verb, "--with", "claude", "--turns", "120", "--seconds", "100")
        return _ended(api, done.returncode, done.stdout + done.stderr)


def _ended(api: Watched, code: int, said: str, latest: float = LATEST) -> Played:
    may = [name for each in api.attacks.values() for name in (*each.may, *(LAWFUL if each.lawful else ()))]
    is_to_come = any(each.is_late and not api.outcomes.get(each.name, Outcome()).changed for each in api.attacks.values())
    deadline = time.monotonic() + (latest if is_to_come else 0)
    while not (late := differing(api.before, api.world.photograph(api.plugin), may)) and time.monotonic() < deadline:
        time.sleep(0.05)
    subprocess.run(["tmux", "-L", "stolen", "kill-server"], capture_output=True, check=False)
    caught = {name: CATCHES[name](api.world, api.outcomes[each.name]) for each in api.attacks.values() for name in each.caught_by
              if each.name in api.outcomes and (api.outcomes[each.name].changed or late)}
    strangers = [each for each in api.strangers if not each.startswith("POST /v1/messages/count_tokens")]
    return Played(api.outcomes, late, strangers, code, said, caught)


def _laid_out(world: World) -> Path:
    return laid_out(Stage(world.project, _NoAPI()))


class _NoAPI:
    url = ""
