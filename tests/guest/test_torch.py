"""Real torch: crashes in a DataLoader's workers, tensors in frames, and numbers that no watching changes."""

from __future__ import annotations

import sys

import pytest

from tests.guest.visit import bare_environment, probe, project, run, visit

pytest.importorskip("torch")

SEAMS = '''
"""What the loss and stack were given."""
SEAMS = ("torch.nn.functional:cross_entropy", "torch:stack")

def look(variables):
    rows = variables.get("rows")
    return {"args": (rows,), "seam": "torch:stack"} if type(rows) is list else None

def read(call, frames):
    if call["seam"] == "torch:stack":
        rows = call["args"][0] if "args" in call else call["tensors"]
        return {"sizes": sorted({tuple(row.shape) for row in rows})}
    target = call["target"]
    return {"labels.max": int(target.max()), "outputs": int(call["input"].shape[1])}
'''
WORKER = '''
import torch
from torch.utils.data import DataLoader, Dataset

class Windows(Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, i):
        x = torch.arange(64.0)
        return self.cut(x, i)

    def cut(self, x, i):
        rows = [x[:8], x[: 8 - (i == 3)]]
        return torch.stack(rows)

def main():
    for batch in DataLoader(Windows(), batch_size=2, num_workers=1, multiprocessing_context="fork"):
        print(tuple(batch.shape))

if __name__ == "__main__":
    main()
'''
TRAIN = '''
import torch
import torch.nn.functional as F

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Dropout(0.5), torch.nn.Linear(16, 4))
optimizer = torch.optim.Adam(model.parameters())

def step(top):
    rows = [torch.randn(8) for _ in range(32)]
    x = torch.stack(rows)
    loss = F.cross_entropy(model(x), torch.randint(0, top, (32,)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item().hex()

def main(top):
    for _ in range(20):
        print(step(4))
    if top > 4:
        step(top)

if __name__ == "__main__":
    import sys
    main(int(sys.argv[1]))
    print(torch.rand(1).item().hex())
'''


def test_a_workers_crash_is_read_in_the_worker_and_is_the_root(tmp_path):
    root = project(tmp_path, {"data.py": WORKER})
    plain = run(root, bare_environment(), sys.executable, "data.py")
    done = visit(root, "data.py", probes=(probe(tmp_path, SEAMS),))
    assert (done.done.returncode, done.done.stdout) == (plain.returncode, plain.stdout)
    assert _without_pids(done.done.stderr) == _without_pids(plain.stderr)
    root_cause, *others = done.story.crashes
    assert root_cause.role == "root" and not root_cause.handled
    assert root_cause.process.startswith("DataLoader worker 0, pid ")
    assert root_cause.message == "stack expects each tensor to be equal size, but got [8] at entry 0 and [7] at entry 1"
    assert (root_cause.site.file, root_cause.site.function) == ("data.py", "Windows.cut")
    assert root_cause.site.text == "return torch.stack(rows)"
    assert root_cause.site.variables["rows"].startswith("[Tensor shape=(8,) float32 cpu values=[0.0, 1.0,")
    assert [crash.role for crash in others] == ["consequence"]
    (seen,) = done.story.sightings
    assert (seen.place, seen.facts) == ("data.py:Windows.cut", {"sizes": [[7], [8]]})
    assert done.story.environment["torch"] and done.story.environment["cpu capability"]


def test_watching_changes_no_number_and_reads_what_a_crash_reads(tmp_path):
    root = project(tmp_path, {"train.py": TRAIN})
    loss = probe(tmp_path, SEAMS.replace(', "torch:stack")', ",)").replace("type(rows) is list", "False"), "loss")
    stack = probe(tmp_path, SEAMS.replace('"torch.nn.functional:cross_entropy"', '"torch:no_such_name"'), "stack")
    plain = run(root, bare_environment(), sys.executable, "train.py", "400")
    crashed = visit(root, "train.py", "400", probes=(loss, stack))
    watched = visit(root, "train.py", "400", probes=(loss, stack), watch=True, name="watched")
    assert len(plain.stdout.split()) == 20
    assert crashed.done.stdout == watched.done.stdout == plain.stdout
    assert crashed.done.stderr == plain.stderr
    at_crash, in_watch = ({each.probe: each for each in done.story.sightings} for done in (crashed, watched))
    assert at_crash["loss"].facts == in_watch["loss"].facts and at_crash["loss"].facts["labels.max"] > 4
    assert at_crash["stack"].facts == in_watch["stack"].facts == {"sizes": [[8]]}
    assert {each.place for each in (*at_crash.values(), *in_watch.values())} == {"train.py:step"}
    assert in_watch["stack"].calls == in_watch["loss"].calls == 21
    assert not any("bitten" in frame.file for frame in watched.story.crashes[0].frames)


TENSORS = '''
import torch, numpy as np
def f(nan, half, ints, flags, meta, sparse, empty, model, grid, size):
    raise ValueError
nan = torch.ones(100, 100); nan[3, 4] = float("nan")
f(nan, torch.full((9, 9), 2.0, dtype=torch.float16), torch.arange(12), torch.arange(12) > 3, torch.empty(3, device="meta"),
  torch.eye(3).to_sparse(), torch.empty(0, 4), torch.nn.Linear(3, 2), np.arange(24.0).reshape(4, 6), torch.Size([2, 3]))
'''


def test_tensors_and_arrays_are_told_as_a_person_of_the_field_would(tmp_path):
    told = next(iter(visit(project(tmp_path, {"a.py": TENSORS}), "a.py").log.of("exc")))["exc"]["frames"][-1]["vars"]
    assert told == {
        "nan": "Tensor shape=(100, 100) float32 cpu NaN=1/10000 min=1 max=1",
        "half": "Tensor shape=(9, 9) float16 cpu min=2 max=2",
        "ints": "Tensor shape=(12,) int64 cpu min=0 max=11",
        "flags": "Tensor shape=(12,) bool cpu true=8/12",
        "meta": "Tensor shape=(3,) float32 meta (values not read: not plain CPU memory)",
        "sparse": "Tensor shape=(3, 3) float32 cpu sparse_coo nnz=3",
        "empty": "Tensor shape=(0, 4) float32 cpu EMPTY",
        "model": "torch.nn.modules.linear.Linear (nn.Module, 0 submodules, 8 parameters of float32 cpu, training=True)",
        "grid": "ndarray shape=(4, 6) float64 min=0 max=23",
        "size": "torch.Size((2, 3))",
    }


def _without_pids(text: str) -> str:
    return " ".join("0x" if word.startswith("0x") else word for word in text.split())


CALLS = """
'How many layers were called.'
SEAMS = ("torch.nn.modules.linear:Linear.forward",)

def look(variables):
    return None

def read(call, frames):
    return {"is_linear": True}
"""
COMPILED = """
import torch
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU())

@torch.compile(backend="eager")
def step(x):
    return net(x).sum()

for _ in range(2):
    print(step(torch.randn(5, 4)).item())
print(net[0](torch.randn(5, 4)).sum().item())
counters = torch._dynamo.utils.counters
print(dict(counters["graph_break"]), counters["stats"]["unique_graphs"])
"""


def test_what_is_compiled_is_compiled_as_if_nobody_watched(tmp_path):
    root, calls = project(tmp_path, {"train.py": COMPILED}), probe(tmp_path, CALLS, "calls")
    plain = run(root, bare_environment(), sys.executable, "train.py")
    watched = visit(root, "train.py", probes=(calls,), watch=True)
    assert watched.done.returncode == 0 and watched.done.stdout == plain.stdout, watched.done.stderr
    assert [each.calls for each in watched.story.sightings] == [1], "only the call that nobody compiled"
