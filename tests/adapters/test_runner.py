"""A command is run, and what it showed is read only when somebody asks."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from bitten.adapters.runs.runner import HereRunner
from bitten.adapters.sitting import sitting
from bitten.core.failure import Command


@pytest.fixture(autouse=True)
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path))


def test_its_end_is_known_before_anything_is_read_and_its_output_when_asked(tmp_path: Path) -> None:
    redacted: list[str] = []

    def redact(text: str) -> str:
        redacted.append(text)
        return text

    with sitting(tmp_path) as held:
        with HereRunner(tmp_path, [], redact).running(Command(("sh", "-c", "echo loss=0.5; exit 3"), str(tmp_path)), held) as ran:
            assert (ran.run.exit, ran.interrupted, "loss=0.5\n" in redacted) == (3, False, False)
        seen = ran.observed()
    assert (seen.output, seen.facts["loss"], seen.run) == ("loss=0.5\n", 0.5, ran.run)


def test_one_stream_is_read_once_and_two_keep_their_order(tmp_path: Path) -> None:
    command = Command(("sh", "-c", "echo one; echo two >&2"), str(tmp_path))
    with sitting(tmp_path) as held, HereRunner(tmp_path, [], str).running(command, held) as ran:
        seen = ran.observed()
    assert (seen.facts["stdout"], seen.facts["stderr"]) == ("one\n", "two\n")
    assert sorted(seen.output.splitlines()) == ["one", "two"]


def test_until_all_is_kept_a_hang_up_ends_nothing_and_then_it_means_what_it_did(tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGHUP)
    with sitting(tmp_path) as held, HereRunner(tmp_path, [], str).running(Command(("true",), str(tmp_path)), held):
        os.kill(os.getpid(), signal.SIGHUP)
    assert signal.getsignal(signal.SIGHUP) == before


def test_a_fact_is_what_a_person_sees_at_the_end_and_the_output_stays_whole(tmp_path: Path) -> None:
    command = Command(("printf", r"\r 50%% loss=0.9\r100%% loss=0.5\n\033[31mfailed\033[0m\n"), str(tmp_path))
    with sitting(tmp_path) as held, HereRunner(tmp_path, [], str).running(command, held) as ran:
        seen = ran.observed()
    assert (seen.facts["stdout"], seen.facts["loss"]) == ("100% loss=0.5\nfailed\n", 0.5)
    assert seen.output.startswith("\r 50%")
