"""The long form of "nothing is lost": a kill at every moment of every command, and at 200 random instants of the whole story."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import time

import pytest

from tests.killing.story import ANSWERS, COMMANDS, Story, assert_is_won, finishes, goes_on, told
from tests.stories import BITTEN

EVERY = {"verify": 4}
"""A slow command is killed at every so many moments only, a different one in each round."""
ROUNDS = 3
SEEDS = range(25)
KILLS = 8


@pytest.mark.parametrize("share", range(ROUNDS))
@pytest.mark.parametrize("name", COMMANDS)
def test_a_kill_at_any_moment_loses_nothing(tmp_path, name, share):
    """Every third moment of one command, so that its cost is spread over the shards."""
    story = Story(tmp_path / "place", tmp_path / "saved")
    for each in told(story):
        if each == name:
            break
        assert story.tell(each) == (1 if each == "run" else 0)
    had = len(story.lines())
    story.tell(name)
    for moment in range(1 + share, len(story.moments()) + 1, ROUNDS * EVERY.get(name, 1)):
        story.back_to(name)
        assert story.tell(name, moment) == -signal.SIGKILL, moment
        goes_on(story, name, had)
        finishes(story, name, had)


@pytest.mark.parametrize("seed", SEEDS)
def test_kills_at_random_instants_of_a_story(tmp_path, seed):
    """Eight kills a story, of bitten alone or of its whole process group; what was killed is typed again until it is done."""
    chance = random.Random(seed)
    story = Story(tmp_path / "place", tmp_path / "saved")
    doomed = [name for name in COMMANDS if name != "confirm"]
    victims = [chance.choice(doomed) for _ in range(KILLS)]
    for name in told(story):
        had = len(story.lines())
        for _ in range(victims.count(name)):
            story.back_to(name)
            kill_within(story, name, chance)
            (story.saved / "moments").write_text("", "utf-8")
            goes_on(story, name, had)
        if name == "confirm":
            assert story.project.typed(*COMMANDS[name], answers=ANSWERS)[0] == 0
        else:
            finishes(story, name, had)
    assert_is_won(story)


def kill_within(story, name, chance):
    """Start a command and kill it at some instant; one that was quicker has simply ended."""
    began = subprocess.Popen([*BITTEN, *COMMANDS[name]], cwd=story.project.root, env=story.project.env, stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    time.sleep(chance.uniform(0.05, 2.5 if name == "verify" else 0.8))
    with contextlib.suppress(ProcessLookupError):
        os.killpg(began.pid, signal.SIGKILL) if chance.random() < 0.5 else began.kill()
    began.wait()
    story.settle()
