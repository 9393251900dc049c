"""Pictures of real processes that really hang; all of them live on."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from bitten.adapters.runs import invitation
from bitten.adapters.watching import hanging, proc, stacks
from bitten.adapters.watching.picture import picture
from bitten.adapters.watching.watch import Seen

pytestmark = pytest.mark.skipif(shutil.which("py-spy", path=Path(sys.executable).parent) is None, reason="py-spy is not installed")

REFUSED = stacks.Answer(trouble="py-spy: Permission denied")
LOCKS = """
import threading
here, there, both = threading.Lock(), threading.Lock(), threading.Barrier(2)

def first():
    with here:
        both.wait()
        with there:
            pass

def second():
    with there:
        both.wait()
        here.acquire()

threading.Thread(target=second, name="B", daemon=True).start()
first()
"""
WORKER = """
import os, sys
from torch.utils.data import DataLoader, Dataset

class Rows(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, at):
        return load(at) if at == 2 else at

def load(at):
    with open(sys.argv[1], "rb") as file:
        return len(file.read())

def main():
    for batch in DataLoader(Rows(), batch_size=2, num_workers=2):
        pass

main()
"""
RANKS = """
import time
import torch
import torch.distributed as dist

def sync_grads(step):
    dist.all_reduce(torch.ones(2, 3))

def evaluate():
    while True:
        time.sleep(0.5)

def main():
    dist.init_process_group("gloo")
    for step in range(5):
        if dist.get_rank() == 1 and step == 3:
            evaluate()
        sync_grads(step)

main()
"""


@contextmanager
def hanging_program(tmp_path, text, *arguments, launcher=()):
    """The guest is in, as under `bitten run`; whatever is left of it is gone afterwards."""
    (tmp_path / "prog.py").write_text(text, "utf-8")
    spool, cache = tmp_path / "spool", tmp_path / "cache"
    spool.mkdir()
    cache.mkdir()
    env = {name: value for name, value in os.environ.items() if not name.startswith(("BITTEN", "PYTHON"))}
    env |= invitation.env_for(spool, cache, (), False, env) | {"OMP_NUM_THREADS": "1"}
    program = subprocess.Popen([*(launcher or [sys.executable]), "prog.py", *map(str, arguments)], cwd=tmp_path, env=env,
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield program
    finally:
        hanging.end([Seen(pid, 0, "", since=stat.since) for pid in proc.tree(program.pid) if (stat := proc.stat(pid))])
        program.wait(20)


def until(program, root, is_there, seconds=90):
    """Pictures until one shows it; every process of the last one is alive afterwards, and runs on."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        taken = picture(program.pid, root)
        if is_there(taken):
            assert all(proc.stat(each.pid) and proc.stat(each.pid).state not in "ZXtT" for each in taken.processes)
            return taken
        time.sleep(0.2)
    raise AssertionError(taken)


def test_threads_that_wait_for_each_other_s_locks_are_shown_with_their_lines(tmp_path):
    with hanging_program(tmp_path, LOCKS) as program:
        taken = until(program, tmp_path, lambda taken: taken.odd.count("lock acquire") == 2)
    assert taken.odd == ("prog.py is in first (prog.py:8), in lock acquire; "
                         "prog.py, thread B is in second (prog.py:14), in lock acquire")


def test_a_worker_stuck_in_a_read_is_named_with_what_it_reads(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    hold = os.open(pipe, os.O_RDWR)  # a writer who never writes
    try:
        with hanging_program(tmp_path, WORKER, pipe) as program:
            taken = until(program, tmp_path, lambda taken: "read of" in taken.odd and "queue.get" in taken.odd)
    finally:
        os.close(hold)
    assert taken.odd == (f"DataLoader worker 1 is in load (prog.py:14), in read of {pipe}; "
                         "prog.py is in main (prog.py:17), waiting for queue.get")


def test_of_two_ranks_the_one_that_left_the_collective_is_named_and_all_live_on(tmp_path, monkeypatch):
    """The second picture is taken where nothing may look from outside: then the ranks answer for themselves."""
    with ranks(tmp_path, 2) as program:
        taken = until(program, tmp_path, lambda taken: "never entered" in taken.odd)
        monkeypatch.setattr(stacks, "by_spy", lambda pid: REFUSED)
        again = until(program, tmp_path, lambda taken: "never entered" in taken.odd)
    assert sum("comes by its own word" in note for note in again.notes) == 2
    assert any("Permission denied" in note and "sudo bitten picture PID" in note for note in again.notes)
    assert taken.odd == again.odd == (
        "rank 1 is in evaluate (prog.py:11), asleep; rank 0 waits in all_reduce (sync_grads, prog.py:7); rank 1 never entered collective 4"
    )
    assert [each.pid for each in taken.processes] == [each.pid for each in again.processes]
    assert {each.rank: each.collective for each in taken.processes if each.rank is not None} == {
        0: "4 all_reduce [2, 3], not finished", 1: "3 all_reduce [2, 3]"}


def ranks(tmp_path, count):
    torchrun = Path(sys.executable).with_name("torchrun")
    return hanging_program(tmp_path, RANKS, launcher=[str(torchrun), "--standalone", f"--nproc-per-node={count}"])


def test_where_nothing_may_look_from_outside_a_hung_process_answers_a_signal_and_a_healthy_one_is_left_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(stacks, "by_spy", lambda pid: REFUSED)
    with hanging_program(tmp_path, LOCKS) as program:
        deadline = time.monotonic() + 60
        while not (stacks.by_signal(program.pid, tmp_path / "spool") or time.monotonic() > deadline):
            time.sleep(0.1)
        sent = []
        monkeypatch.setattr(os, "kill", lambda pid, number: sent.append(number))
        assert stacks.ask([program.pid])[program.pid].threads == () and not sent
        monkeypatch.undo()
        monkeypatch.setattr(stacks, "by_spy", lambda pid: REFUSED)
        answer = stacks.ask([program.pid], is_hung=True)[program.pid]
        assert (answer.how, answer.threads[0].lines[-1].function, proc.stat(program.pid) is not None) == ("a signal", "<module>", True)


def test_a_process_that_has_no_handler_for_the_signal_is_never_sent_it(tmp_path):
    plain = subprocess.Popen(["sleep", "60"])
    try:
        (tmp_path / f"p{plain.pid}.log").write_text("", "utf-8")
        assert stacks.by_signal(plain.pid, tmp_path) is None
        assert plain.poll() is None
    finally:
        plain.send_signal(signal.SIGKILL)
        plain.wait()
