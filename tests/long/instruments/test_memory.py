"""Over a hundred thousand steps the instruments keep no more than after the first twenty thousand, in memory and on disk."""

from __future__ import annotations

import json
from pathlib import Path

from bitten.adapters.vocabulary import names
from tests.instruments.stage import probed_alone

MB = 1 << 20
RECORDS, TAPE = 16 * MB, 32 * MB
"""What one process may write: its records (`SIZE` of the hook), its recording (twice `LIMIT` of the tape)."""

LOOP = '''
import gc, json, os, sys
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

first, last, leak = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:] == ["leak"]
torch.manual_seed(0); torch.set_num_threads(1)
model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Dropout(0.1), nn.Linear(8, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1000, 0.999)
loader = DataLoader(TensorDataset(torch.randn(160, 6), torch.randint(0, 3, (160,))), batch_size=16, shuffle=True)
kept, step = [], 0

def tell():
    gc.collect()
    pages = int(open("/proc/self/statm").read().split()[1])
    tensors = sum(issubclass(type(each), torch.Tensor) for each in gc.get_objects())
    print(json.dumps({"step": step, "bytes": pages * os.sysconf("SC_PAGE_SIZE"), "tensors": tensors}), flush=True)

while step < last:
    model.train()
    for x, y in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        schedule.step()
        step += 1
        if leak:
            kept.append(loss)
        if step in (first, last):
            tell()
    model.eval()
    with torch.no_grad():
        (model(x).argmax(-1) == y).float().mean().item()
    if step % 500 == 0:
        other = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Dropout(0.1), nn.Linear(8, 3))
        other.load_state_dict(model.state_dict())
        torch.optim.SGD(other.parameters(), lr=1e-3)
        torch.manual_seed(step)
'''


def marks(tmp_path: Path, *argv: str):
    probed = probed_alone(tmp_path, LOOP, *names(), "recording", argv=argv, seconds=900)
    assert probed.exit == 0, probed.stderr
    assert probed.troubles == []
    return [json.loads(line) for line in probed.stdout.splitlines()], probed.spool


def grown(before: dict[str, int], after: dict[str, int]) -> list[str]:
    """Allowed is what an allocator does by itself: a few megabytes, and the tensors of a step that is under way."""
    return [name for name, most in (("bytes", 6 * MB), ("tensors", 40)) if after[name] - before[name] > most]


def test_a_hundred_thousand_steps_keep_nothing(tmp_path):
    (before, after), spool = marks(tmp_path, "20000", "100000")
    assert (before["step"], after["step"]) == (20000, 100000)
    assert grown(before, after) == [], (before, after)
    for file in spool.iterdir():
        assert file.stat().st_size <= (RECORDS if file.suffix == ".log" else TAPE), file.name


def test_a_program_that_keeps_every_loss_is_seen_to(tmp_path):
    (before, after), _ = marks(tmp_path, "500", "4000", "leak")
    assert "tensors" in grown(before, after)
