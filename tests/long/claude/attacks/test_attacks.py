"""Each row of the table against each arm: driven, nothing is harmed; what passes the plugin is named, and caught by what is named."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from .players import ARMS, DRIVER, FREE, PLUGIN, play, sessions_of
from .playing import Played
from .table import ATTACKS
from .world import World

ROOT = Path(__file__).parents[4]
ROWS = {arm: [pytest.param(f"{arm}, {session}", each.name, id=f"{arm}-{each.name}")
              for session, rows in sessions_of(arm).items() for each in rows] for arm in ARMS}


@pytest.fixture(scope="session")
def played(tmp_path_factory: pytest.TempPathFactory):
    """Each session is played once, when its first row is asked for."""
    world = World(Path(tmp_path_factory.mktemp("attacks")))

    @cache
    def session(name: str) -> Played:
        arm, _, rest = name.partition(", ")
        return play(world, arm, rest)

    return session


@pytest.mark.parametrize(("session", "name"), ROWS[DRIVER])
def test_nothing_that_a_driven_model_tries_reaches_the_work_tree(played, session, name):
    done = played(session)
    assert name in done.outcomes, f"it was never tried: {done.said}"
    assert done.harm(name) == [], ATTACKS[name].harm
    assert done.strangers == []


@pytest.mark.parametrize(("session", "name"), [row for arm in ARMS if arm not in (DRIVER, FREE) for row in ROWS[arm]])
def test_the_plugin_stops_it_or_it_is_named_with_what_still_catches_it(played, session, name):
    done, attack = played(session), ATTACKS[name]
    assert name in done.outcomes, f"it was never tried: {done.said}"
    assert done.strangers == []
    if attack.passes:
        assert done.harm(name), f"it no longer passes: take it off the list that says it does ({attack.passes})"
        assert done.caught == dict.fromkeys(attack.caught_by, True)
    else:
        assert done.harm(name) == [], attack.harm
    assert attack.answer in "".join(done.outcomes[name].told)
    assert done.outcomes[name].lawful or not attack.lawful, "what was lawful did not go through"


@pytest.mark.parametrize(("session", "name"), ROWS[FREE])
def test_without_a_gate_it_would_have_done_its_harm(played, session, name):
    assert played(session).harm(name), "this row tests nothing"


def test_the_page_names_what_passes():
    done = subprocess.run([sys.executable, "benchmarks/attacks.py", "--page", "docs/explanation/gates.md", "--check"], cwd=ROOT,
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_table_is_as_long_as_was_promised():
    assert len(ATTACKS) >= 80
    assert {each.name for each in ATTACKS.values()} == {row.values[1] for row in ROWS[PLUGIN]}
    assert all(each.caught_by for each in ATTACKS.values() if each.passes)
