"""Workers of real launchers that a signal ends: the report names them, whichever error their parent met."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.guest.visit import project, visit

pytest.importorskip("torch")

LOADER = '''
import ctypes, os, signal, sys
import torch
from torch.utils.data import DataLoader, Dataset

class Rows(Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, i):
        if i == 37:
            os.kill(os.getpid(), signal.SIGKILL) if sys.argv[1] == "kill" else ctypes.string_at(0)
        return torch.zeros(2)

if __name__ == "__main__":
    for batch in DataLoader(Rows(), batch_size=8, num_workers=2, multiprocessing_context=sys.argv[2]):
        pass
'''
RANKS = '''
import os, signal
import torch, torch.distributed as dist

dist.init_process_group("gloo")
dist.all_reduce(torch.ones(4))
if dist.get_rank() == 1:
    os.kill(os.getpid(), signal.SIGKILL)
dist.barrier()
'''


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_a_loaders_worker_that_is_killed_is_the_root(tmp_path, method):
    first, *others = visit(project(tmp_path, {"a.py": LOADER}), "a.py", "kill", method).story.crashes
    assert (first.type, first.role) == ("Killed", "root")
    assert first.process == f"DataLoader worker 0, pid {first.process.rpartition(' ')[2]}"
    assert {crash.role for crash in others} <= {"consequence"}


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_loaders_worker_that_faults_is_the_root_with_its_line(tmp_path, method):
    first = visit(project(tmp_path, {"a.py": LOADER}), "a.py", "fault", method).story.crashes[0]
    assert (first.type, first.role, first.site.file, first.site.line) == ("Segmentation fault", "root", "a.py", 12)
    assert first.process.startswith("DataLoader worker 0, pid ")


def test_a_rank_that_is_killed_is_the_root_and_the_others_its_consequences(tmp_path):
    program = Path(sys.executable).parent / "torchrun"
    if not program.exists():
        pytest.skip("torchrun is not installed here")
    first, *others = visit(project(tmp_path, {"a.py": RANKS}), str(program), "--nproc-per-node", "2", "a.py").story.crashes
    assert (first.type, first.role) == ("Killed", "root") and first.process.startswith("rank 1, pid ")
    assert {crash.role for crash in others} <= {"consequence"}
    assert others[-1].type.endswith("ChildFailedError")
