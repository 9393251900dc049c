"""When a command is called hung, from looks made by hand: time passes as fast as the test likes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from bitten.adapters.watching import proc
from bitten.adapters.watching.hanging import IN_CI, HangWatch, Means, Patience, Silence, end, patience, seconds_of
from bitten.adapters.watching.watch import Look, Seen
from bitten.core.failure import Picture
from bitten.core.trouble import BadInput

MINUTES = 60.0
FIVE = Patience(5 * MINUTES, spins=True)


def look(at, cpu=0.0, state="S", late=False, since=0):
    return Look(at, cpu, 0, (Seen(os.getpid(), 1, "python", state=state, since=since),), late)


def idle_after(looks, written=lambda at: 0, moved=lambda: 0):
    """Seconds of idleness and of silence at the last look."""
    silence = Silence()
    for each in looks:
        silence.feed(each, written(each.at), moved)
    return looks[-1].at - silence.idle_since, looks[-1].at - silence.silent_since


def test_a_tree_that_neither_prints_nor_computes_is_idle_from_the_start():
    assert idle_after([look(float(at)) for at in range(301)]) == (300, 300)


def test_two_percent_of_a_core_is_work_and_less_is_not():
    assert idle_after([look(float(at), cpu=at * 0.03) for at in range(301)])[0] <= 10
    assert idle_after([look(float(at), cpu=at * 0.01) for at in range(301)])[0] == 300


def test_a_burst_now_and_then_is_work():
    assert idle_after([look(float(at), cpu=float(at // 60)) for at in range(301)])[0] <= 60


def test_whatever_is_printed_ends_the_silence():
    idle, silent = idle_after([look(float(at)) for at in range(301)], written=lambda at: int(at // 100))
    assert idle == silent == 0


def test_data_that_moves_is_work_though_it_costs_no_cpu():
    bytes_so_far = iter(range(0, 1 << 40, 8 << 20))
    assert idle_after([look(float(at)) for at in range(301)], moved=lambda: next(bytes_so_far))[0] <= 10


def test_who_waits_for_a_processor_is_at_work():
    assert idle_after([look(float(at), state="R") for at in range(301)])[0] <= 10


def test_a_stop_by_the_person_is_no_silence():
    looks = [*(look(float(at)) for at in range(100)), look(5000.0, late=True), *(look(5000.0 + at) for at in range(1, 20))]
    assert idle_after(looks) == (19, 19)


class Judge:
    """A hang watch whose means are told beforehand, and what it did by them."""

    def __init__(self, monkeypatch, patience=FIVE, note=0.0, variables=lambda: ("same",), person=False):
        self.said, self.ended = [], []
        monkeypatch.setattr("bitten.adapters.watching.hanging.end", self.ended.append)
        means = Means(lambda: 0, lambda look: Picture(odd="it"), lambda pids: variables(), lambda pid: person, self.said.append)
        self.watch = HangWatch(patience, means, note)

    def looks(self, seconds, cpu=0.0):
        for at in range(seconds):
            self.watch.looked(look(float(at), cpu=at * cpu))
        return self


def test_after_the_patience_the_picture_is_taken_and_then_it_is_ended(monkeypatch):
    judge = Judge(monkeypatch).looks(299)
    assert not judge.watch.hung and not judge.ended
    judge.looks(330)
    assert judge.watch.hung and judge.watch.picture == Picture(odd="it") and len(judge.ended) == 1
    assert judge.watch.why == "nothing was printed and no CPU used for 5 min"


def test_a_loop_that_changes_nothing_is_called_hung_and_one_that_does_is_not(monkeypatch):
    numbers = iter(range(10**6))
    assert Judge(monkeypatch).looks(400, cpu=1.0).watch.why.endswith("stacks and variables only repeat themselves")
    assert not Judge(monkeypatch, variables=lambda: (next(numbers),)).looks(4000, cpu=1.0).watch.hung


def test_a_loop_that_goes_through_the_same_few_lines_is_called_hung(monkeypatch):
    lines = iter(range(10**6))
    assert Judge(monkeypatch, variables=lambda: (next(lines) % 3,)).looks(400, cpu=1.0).watch.hung


def test_a_loop_that_makes_something_is_at_work_though_it_shows_nothing_new(monkeypatch):
    pages = iter(range(0, 10**9, 50))
    monkeypatch.setattr(proc, "faults", lambda pid: next(pages))
    assert not Judge(monkeypatch).looks(400, cpu=1.0).watch.hung


def test_a_loop_of_which_nothing_can_be_seen_is_left_alone(monkeypatch):
    assert not Judge(monkeypatch, variables=lambda: ()).looks(4000, cpu=1.0).watch.hung


def test_in_ci_a_busy_command_is_left_alone_without_being_asked(monkeypatch):
    assert not Judge(monkeypatch, patience(None, 0, is_ci=True)).looks(4000, cpu=1.0).watch.hung


def test_who_waits_for_a_person_does_not_hang(monkeypatch):
    assert not Judge(monkeypatch, person=True).looks(4000).watch.hung


def test_without_a_patience_there_is_one_note_and_nothing_is_ended(monkeypatch):
    judge = Judge(monkeypatch, Patience(), note=5 * MINUTES).looks(4000)
    assert judge.said == [f"nothing printed and no CPU used for 5 min: bitten picture {os.getpid()} shows where each process stands"]
    assert not judge.watch.hung and not judge.ended


def test_the_option_comes_before_the_setting_and_that_before_ci():
    assert patience("90", "5m", is_ci=True) == Patience(90, spins=True)
    assert patience(None, "5m", is_ci=True) == Patience(300, spins=True)
    assert patience(None, 0.0, is_ci=True) == Patience(IN_CI)
    assert patience(None, 0.0, is_ci=False) == Patience()
    assert patience("0", "5m", is_ci=True).seconds == 0


@pytest.mark.parametrize(("text", "seconds"), [("90", 90), ("90s", 90), ("5m", 300), ("1.5 h", 5400), ("10min", 600)])
def test_a_duration_is_seconds_or_has_its_unit(text, seconds):
    assert seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["soon", "5 weeks", "-3", ""])
def test_what_is_no_duration_is_refused(text):
    with pytest.raises(BadInput) as refused:
        seconds_of(text)
    assert refused.value.slug == "bad-duration"


def test_who_does_not_heed_the_request_to_end_is_ended_and_nobody_else(monkeypatch):
    monkeypatch.setattr("bitten.adapters.watching.hanging.GRACE", 0.3)
    code = "import signal, sys; signal.signal(15, signal.SIG_IGN); print(flush=True); sys.stdin.read()"
    deaf, other = (subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(2))
    for each in (deaf, other):
        each.stdout.readline()
    reborn = Seen(other.pid, 1, "python", since=1)
    end([Seen(deaf.pid, 1, "python", since=proc.stat(deaf.pid).since), reborn])
    assert deaf.wait(20) == -signal.SIGKILL
    other.communicate(b"")
    assert other.returncode == 0
    deaf.communicate()
