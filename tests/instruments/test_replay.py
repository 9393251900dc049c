"""A replay leaves the program as it was: numbers drawn, buffers, attributes, gradients, hooks, modes."""

from __future__ import annotations

from tests.instruments.stage import line_of, probed

STATE = """
import random, sys
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)
random.seed(0)
BAD = 4
class Noisy(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin, self.norm, self.drop = nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Dropout(0.5)
        self.calls, self.kept, self.memory = 0, [], torch.zeros(4)
    def forward(self, x, scale):
        self.calls += 1
        self.kept.append(self.calls)
        self.memory += 1
        h = self.norm(self.drop(self.lin(x)))
        h = checkpoint(torch.relu, h, use_reentrant=False)
        return (h * random.random()).sum(-1) / scale
net = Noisy()
heard = []
net.lin.register_forward_hook(lambda *_: heard.append("forward"))
net.lin.register_full_backward_hook(lambda *_: heard.append("backward"))
net.lin.weight.register_hook(lambda grad: heard.append("weight"))
opt = torch.optim.Adam(net.parameters(), lr=0.01)
for step in range(6):
    opt.zero_grad()
    x = torch.randn(8, 4)
    out = net(x, scale=torch.tensor(0.0 if step == BAD else 1.0))
    loss = out.mean()
    loss.backward()
    versions = [each._version for each in net.parameters()]
    grads = [each.grad.clone() for each in net.parameters()]
    hooks = [len(vars(each)[name]) for each in net.modules() for name in ("_forward_hooks", "_backward_hooks", "_forward_pre_hooks")]
    if step == BAD:
        plain = opt.step
        def step_then_look():
            opt.register_step_pre_hook(lambda *_: print(
                step, [each._version for each in net.parameters()] == versions,
                [torch.equal(a.grad.nan_to_num(), b.nan_to_num()) for a, b in zip(net.parameters(), grads)],
                torch.is_grad_enabled(), torch.is_anomaly_enabled(), torch.is_autocast_enabled("cpu"), x._version,
                hooks == [len(vars(each)[name]) for each in net.modules()
                          for name in ("_forward_hooks", "_backward_hooks", "_forward_pre_hooks")]))
            plain()
        step_then_look()
        break
    opt.step()
print(net.calls, net.kept, net.memory.tolist(), heard, sorted(vars(net)))
print(net.norm.running_mean.tolist(), net.norm.num_batches_tracked.item(), net.norm.running_mean._version)
print(torch.rand(3).tolist(), random.random(), len(nn.modules.module._global_forward_hooks) < 3)
print(sum(each.sum().item() for each in opt.state[net.lin.weight].values()))
"""


def test_the_program_is_after_a_replay_as_it_was_before(tmp_path):
    plain, seen = probed(tmp_path, STATE), probed(tmp_path, STATE, "nan")
    assert (seen.troubles, seen.exit, seen.stderr.count("Warning")) == ([], 0, plain.stderr.count("Warning")), seen.stderr
    assert seen.stdout == plain.stdout and "True [True, True, True, True]" in seen.stdout
    told = seen.findings[0].facts
    assert (told["nan.kind"], told["nan.op"], told["step"], told["nan.replayed"]) == ("forward op", "div", 4, True)


DROPPED = """
import torch
from torch import nn
torch.manual_seed(3)
class Sparse(nn.Module):
    def forward(self, h):
        kept = (torch.rand(4) > 0.6).float()
        return h * kept / kept.sum()  # <- op
net = nn.Sequential(nn.Linear(4, 4), Sparse(), nn.Dropout(0.2))
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for step in range(40):
    opt.zero_grad()
    loss = net(torch.randn(8, 4)).pow(2).mean()
    loss.backward()
    opt.step()
"""


def test_a_fault_by_chance_is_shown_again_by_the_same_random_numbers(tmp_path):
    seen = probed(tmp_path, DROPPED, "nan")
    told = seen.findings[0].facts
    assert (told["nan.kind"], told["nan.op"], told["nan.module"]) == ("forward op", "div", "1")
    assert told["nan.replayed"] is True and seen.troubles == []


SLOPES = """
import torch
from torch import nn
torch.manual_seed(0)
class Physical(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(2, 1)
    def forward(self, x):
        x = x.requires_grad_()
        out = torch.tanh(self.lin(x))
        slope, = torch.autograd.grad(out.sum(), x, create_graph=True)
        return out + slope.sum(-1, keepdim=True) / (x[:, :1] + 9).sqrt()  # <- op
net = Physical()
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for step in range(6):
    opt.zero_grad()
    net(torch.randn(4, 2) * (100 if step == 4 else 1)).pow(2).mean().backward()
    opt.step()
"""


def test_a_forward_that_asks_for_gradients_itself_is_played_again_with_them(tmp_path):
    seen = probed(tmp_path, SLOPES, "nan")
    told = seen.findings[0].facts
    assert (told["nan.kind"], told["nan.op"], told["step"], told["nan.replayed"], seen.troubles) == ("forward op", "sqrt", 4, True, [])
    assert told["at"] == f"main.py:{line_of(SLOPES, '# <- op')}"


HARD = """
import torch, weakref, gc
from torch import nn
torch.manual_seed(0)
class Written(nn.Module):
    '''Writes into its input, which the loop then frees.'''
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 1)
    def forward(self, x):
        return self.lin(x.div_(x.abs().amax()))  # <- op
net = Written()
opt = torch.optim.SGD(net.parameters(), lr=0.01)
alive = []
for step in range(6):
    x = torch.randn(8, 4) * (0.0 if step == 4 else 1.0)
    loss = net(x).mean()
    loss.backward()
    alive.append(weakref.ref(x))
    del x
    opt.step()
    opt.zero_grad()
    print([each() is not None for each in alive])
"""


def test_an_input_that_the_model_writes_into_is_replayed_from_what_it_was_and_none_lives_longer_than_its_step(tmp_path):
    seen = probed(tmp_path, HARD, "nan")
    told = seen.findings[0].facts
    assert (told["nan.kind"], told["nan.op"], told["step"], seen.troubles) == ("forward op", "div_", 4, [])
    assert "True" not in seen.stdout, seen.stdout


REFUSED = """
import torch
from torch import nn
torch.manual_seed(0)
class Once(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin, self.spent = nn.Linear(4, 1), set()
    def forward(self, x):
        key = x.sum().item()
        if key in SPENT:
            raise RuntimeError("played twice")
        SPENT.add(key)
        return self.lin(x) / x[0, 0]
SPENT = set()
net = Once()
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for step in range(6):
    x = torch.randn(8, 4)
    if step == 4:
        x[0, 0] = 0
    opt.zero_grad()
    loss = net(x).mean()  # <- call
    loss.backward()
    opt.step()
    print(loss.item())
"""


def test_a_call_that_cant_be_played_again_is_told_as_it_was_seen_from_outside(tmp_path):
    seen = probed(tmp_path, REFUSED, "nan")
    told = seen.findings[0].facts
    assert (told["nan.kind"], told["nan.replayed"], told["step"], seen.troubles, seen.exit) == ("forward op", False, 4, [], 0)
    assert any("played twice" in each["text"] for each in seen.log.of("note")) and seen.stdout == probed(tmp_path, REFUSED).stdout


LOUD = """
import logging, os, sys, warnings
import torch
import torch.distributed as dist
from torch import nn
torch.manual_seed(0)
warnings.simplefilter("always")
logging.basicConfig(level=logging.INFO)
dist.init_process_group("gloo", init_method="file://" + os.path.abspath("store"), rank=0, world_size=1)
class Shared(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()
    @staticmethod
    def backward(ctx, grad):
        WAITED.append(dist.all_reduce(grad))
        return grad
WAITED = []
class Loud(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 1)
    def forward(self, x):
        print("forward")
        warnings.warn("careful")
        logging.info("logged")
        return torch.sqrt((SHARE(self.lin(x)) - self.lin(x).detach()) ** 2)
def train():
    net = Loud()
    opt = torch.optim.SGD(net.parameters(), lr=0.01)
    for step in range(3):
        opt.zero_grad()
        net(torch.randn(8, 4)).sum().backward()
        opt.step()
        print(len(WAITED), file=sys.stderr)
SHARE = {share}
train()
logging.info("after")
dist.destroy_process_group()
"""


def test_what_the_modules_print_warn_and_log_is_printed_once(tmp_path):
    source = LOUD.replace("{share}", "lambda x: x")
    plain, seen = probed(tmp_path, source), probed(tmp_path, source, "nan")
    assert (seen.stdout, seen.stderr, seen.troubles) == (plain.stdout, plain.stderr, []) and plain.stderr.endswith("INFO:root:after\n")
    assert (seen.fact("nan.op"), seen.fact("nan.replayed")) == ("SqrtBackward0", True)


def test_a_backward_that_would_wait_for_other_ranks_is_not_played_and_claims_nothing_that_was_not_seen(tmp_path):
    source = LOUD.replace("{share}", "Shared.apply")
    plain, seen = probed(tmp_path, source), probed(tmp_path, source, "nan")
    assert (seen.stdout, seen.stderr, seen.troubles) == (plain.stdout, plain.stderr, [])
    assert any("allreduce" in each["text"] for each in seen.log.of("note")) and seen.fact("nan.replayed") is False
    assert "the loss is finite and gradients are not" in seen.findings[0].facts["says"]


MASKED = """
import torch
from torch import nn
torch.manual_seed(0)
class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 2)
    def forward(self, x):
        return self.lin(x).masked_fill(torch.tensor([False, True]), float("-inf"))
net = Policy()
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for step in range(5):
    opt.zero_grad()
    loss = net(torch.randn(8, 4))[:, 0].mean() * torch.tensor(2.0 - step).log()  # <- op
    loss.backward()
    opt.step()
"""


def test_the_inf_of_a_mask_in_the_output_is_no_cause(tmp_path):
    seen = probed(tmp_path, MASKED, "nan")
    told = seen.findings[0].facts
    assert (told["nan.kind"], told["nan.op"], told["step"], seen.troubles) == ("loss", "log", 2, [])
    assert told["at"] == f"main.py:{line_of(MASKED, '# <- op')}"
