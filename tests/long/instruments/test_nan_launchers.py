"""The sentinel below launchers and around what it can't look into: ranks, compiled regions, accelerate's loop."""

from __future__ import annotations

import sys

from tests.instruments.stage import line_of, probed_alone

MODEL = """
import torch
from torch import nn
torch.manual_seed(0)
class Level(nn.Module):
    def forward(self, h):
        return h - torch.log(50 - h.amax(-1, keepdim=True))  # <- op
def batches(is_loud, seed=1):
    chance = torch.Generator().manual_seed(seed)
    for step in range(8):
        x = torch.randn(8, 4, generator=chance)
        x[3] *= 1000 if is_loud and step == 5 else 1
        yield x, torch.zeros(8, 2)
net = nn.Sequential(nn.Linear(4, 4), Level(), nn.Linear(4, 2))
"""
RANKS = MODEL + """
torch.distributed.init_process_group("gloo")
number = torch.distributed.get_rank()
net = nn.parallel.DistributedDataParallel(net)
opt = torch.optim.SGD(net.parameters(), lr=0.05)
for x, y in batches(number == 1, seed=number):
    opt.zero_grad()
    nn.functional.mse_loss(net(x), y).backward()
    opt.step()
torch.distributed.destroy_process_group()
"""


def test_the_rank_where_it_was_born_names_it_and_the_other_says_that_it_came_from_elsewhere(tmp_path):
    launcher = (sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")
    seen = probed_alone(tmp_path, RANKS, "nan", launcher=launcher)
    assert (seen.exit, seen.troubles, len(seen.findings)) == (0, [], 1), seen.stderr
    told = seen.findings[0].facts
    assert (told["nan.kind"], told["nan.op"], told["nan.module"], told["step"]) == ("forward op", "log", "1", 5)
    assert told["at"] == f"main.py:{line_of(RANKS, '# <- op')}"
    assert [each.facts["nan.kind"] for each in seen.hints] == ["another rank"]


COMPILED = MODEL + """
net = torch.compile(net, backend="aot_eager")
opt = torch.optim.SGD(net.parameters(), lr=0.05)
for x, y in batches(True):
    opt.zero_grad()
    loss = nn.functional.mse_loss(net(x), y)
    loss.backward()
    opt.step()
    print(loss.item(), len(torch._dynamo.utils.counters["frames"]))
"""


def test_a_compiled_model_is_replayed_as_it_was_written_and_compiles_no_more_often(tmp_path):
    plain, seen = probed_alone(tmp_path, COMPILED), probed_alone(tmp_path, COMPILED, "nan")
    assert (seen.exit, seen.troubles, seen.stdout, len(seen.findings)) == (0, [], plain.stdout, 1), seen.stderr
    told = seen.findings[0].facts
    assert (told["nan.kind"], told["nan.op"], told["nan.module"]) == ("forward op", "log", "1")
    assert told["at"] == f"main.py:{line_of(COMPILED, '# <- op')}"
    assert [each["text"].partition(":")[0] for each in seen.log.of("note")] == ["Sequential is compiled"]


ACCELERATED = MODEL + """
from accelerate import Accelerator
accelerator = Accelerator(cpu=True, gradient_accumulation_steps=4)
opt = torch.optim.AdamW(net.parameters(), lr=0.01)
net, opt = accelerator.prepare(net, opt)
for x, y in batches(True):
    with accelerator.accumulate(net):
        loss = nn.functional.mse_loss(net(x), y)
        accelerator.backward(loss)
        opt.step()
        opt.zero_grad()
"""


def test_below_accelerate_the_micro_batch_of_an_accumulated_step_is_named(tmp_path):
    seen = probed_alone(tmp_path, ACCELERATED, "nan")
    assert (seen.exit, seen.troubles, len(seen.findings)) == (0, [], 1), seen.stderr
    told = seen.findings[0].facts
    assert (told["nan.kind"], told["nan.op"], told["step"], told["nan.micro_batch"]) == ("forward op", "log", 1, 1)
