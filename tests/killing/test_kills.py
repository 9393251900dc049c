"""`bitten` killed at every write of a journal, command by command: the next one goes on. All other moments are in tests/long."""

from __future__ import annotations

import signal

from tests.killing.story import Story, assert_is_won, finishes, goes_on, told

MOMENTS = ("write before", "write half-way", "write after", "fsync before", "fsync after")


def test_a_kill_at_any_journal_write_loses_nothing_and_the_next_bitten_goes_on(tmp_path):
    """Each write at one of its moments, in turn; the last kill of each command is also recovered from, and the story told on from there."""
    story = Story(tmp_path / "place", tmp_path / "saved")
    turn, said = 0, ""
    for name in told(story):
        had = len(story.lines())
        story.tell(name, only="events.jsonl")
        writes = len(story.moments()) // len(MOMENTS)
        for write in range(writes):
            story.back_to(name)
            code = story.tell(name, write * len(MOMENTS) + turn % len(MOMENTS) + 1, "events.jsonl")
            assert code == -signal.SIGKILL, (name, write, turn)
            said += goes_on(story, name, had)
            turn += 1
        finishes(story, name, had)
    assert_is_won(story)
    assert turn >= 18
    for words in ("kept in case 1", "journal-torn"):
        assert words in said, said
