"""The sentinel: what it names when a step goes bad, by the kind of what made it bad, and that it says nothing of healthy steps."""

from __future__ import annotations

import pytest

from tests.instruments.stage import line_of, probed, probed_alone

HEAD = """
import torch
from torch import nn
torch.manual_seed(0)
def batch(step):
    chance = torch.Generator().manual_seed(step)
    return torch.randn(8, 4, generator=chance), torch.randn(8, 2, generator=chance)
class Net(nn.Module):
    def __init__(self, middle=None):
        super().__init__()
        self.first, self.middle, self.head = nn.Linear(4, 4), middle or nn.Identity(), nn.Linear(4, 2)
    def forward(self, x):
        return self.head(self.middle(self.first(x)))
"""
LOOP = HEAD + """
{before}
net = Net({middle})
opt = {opt}
for step in range(6):
    x, y = batch(step)
    {each}
    opt.zero_grad()
    out = net(x)  # <- call
    loss = {loss}  # <- loss
    loss.backward()
    opt.step()  # <- step
    print(loss.item())
"""
SGD = "torch.optim.SGD(net.parameters(), lr=0.1)"


def loop(before="", middle="", opt=SGD, each="pass", loss="nn.functional.mse_loss(out, y)"):
    return LOOP.format(before=before, middle=middle, opt=opt, each=each, loss=loss)


def test_a_healthy_run_has_no_finding_and_says_so_and_its_numbers_are_the_same(tmp_path):
    source = loop(before="class Masked(nn.Module):\n    def forward(self, h):\n        mask = torch.ones(8, 8).triu(1).bool()\n"
                         "        return torch.softmax((h @ h.T).masked_fill(mask, float('-inf')), -1) @ h\n", middle="Masked()")
    plain, seen = probed(tmp_path, source), probed(tmp_path, source, "nan")
    assert (seen.troubles, seen.stdout, seen.stderr, seen.findings) == ([], plain.stdout, "", [])
    assert (seen.fact("nan.kind"), seen.fact("nan.steps"), seen.fact("nan.bad_steps")) == ("none", 6, 0)


FAULTS = {
    "input": (loop(each="x[5, 1] = float('nan') if step == 3 else 0.0"), "call",
              {"nan.argument": "x", "nan.rows": [5], "nan.columns": [1]}),
    "weight": (loop(each="step == 3 and net.head.weight.data.fill_(float('inf'))"), "call",
               {"nan.tensor": "head.weight", "nan.what": "inf"}),
    "buffer": (loop(middle="nn.BatchNorm1d(4).eval()", each="step == 3 and net.middle.running_mean.fill_(float('nan'))"), "call",
               {"nan.tensor": "middle.running_mean", "nan.module": "middle"}),
    "forward op": (loop(before="class Level(nn.Module):\n    def forward(self, h):\n"
                               "        return h * torch.log(h.abs() - LEVEL[0])  # <- op\nLEVEL = [0]",
                        middle="Level()", each="LEVEL[0] = 0 if step < 3 else 1e6"), "op",
                   {"nan.op": "log", "nan.module": "middle", "nan.overflow": False}),
    "loss": (loop(loss="nn.functional.mse_loss(out, y) + torch.tensor(float(step != 3)).log() * 0"), "loss",
             {"nan.op": "log", "nan.module": "", "nan.chain": "Inf at log -> NaN at mul"}),
    "backward op": (loop(loss="torch.sqrt(((out - (out.detach() if step == 3 else y)) ** 2).sum())"), "loss",
                    {"nan.op": "SqrtBackward0", "nan.module": ""}),
    "optimizer step": (loop(opt="torch.optim.Adam(net.parameters(), eps=0.0)", each="x[:, 0] = 0.0 if step == 3 else x[:, 0]")
                       .replace("loss.backward()", "loss.backward(); step == 3 and net.first.weight.grad.zero_() is not None and "
                                                   "opt.state[net.first.weight]['exp_avg_sq'].zero_() is not None and "
                                                   "opt.state[net.first.weight]['exp_avg'].zero_()"), "step",
                       {"nan.tensor": "first.weight", "nan.op": "Adam"}),
}


@pytest.mark.parametrize("kind", FAULTS)
def test_the_first_bad_thing_is_named_by_its_kind_at_the_users_line(tmp_path, kind):
    source, mark, facts = FAULTS[kind]
    seen = probed(tmp_path, source, "nan")
    assert (seen.troubles, len(seen.findings), seen.stdout) == ([], 1, probed(tmp_path, source).stdout), seen.stderr
    told = seen.findings[0].facts
    assert {name: told.get(name) for name in ("nan.kind", "step", *facts)} == {"nan.kind": kind, "step": 3, **facts}, told
    assert told["at"] == f"main.py:{line_of(source, '# <- ' + mark)}"
    assert [each["step"] for each in told["nan.last_batches"]] == list(range(5 if mark == "step" else 4))
    assert told["nan.last_batches"][0]["input"]["has_nan"] is False


def test_what_the_very_last_step_wrote_is_found_at_the_end(tmp_path):
    source = FAULTS["optimizer step"][0].replace("range(6)", "range(4)")
    seen = probed_alone(tmp_path, source, "nan")
    told = seen.findings[0].facts
    assert (told["nan.kind"], told["step"], told["nan.what"], seen.troubles) == ("optimizer step", 3, "nan", [])
    assert seen.fact("nan.kind") == "optimizer step"


def test_a_checkpoint_that_was_bad_as_it_was_loaded_is_named_at_the_line_of_its_load(tmp_path):
    save = "state = net.state_dict()\nstate['head.bias'] = torch.tensor([1.0, float('nan')])\ntorch.save(state, 'last.pt')\n"
    source = loop(each="step or net.load_state_dict(torch.load('last.pt'))  # <- load").replace("for step", save + "for step", 1)
    seen = probed(tmp_path, source, "nan")
    told = seen.findings[0].facts
    assert (told["nan.kind"], told["nan.tensor"], told["nan.checkpoint"], told["step"]) == ("checkpoint", "head.bias", "last.pt", 0)
    assert told["at"] == f"main.py:{line_of(source, '# <- load')}" and seen.troubles == []


def test_huge_finite_gradients_whose_norm_overflows_are_not_reported(tmp_path):
    seen = probed(tmp_path, loop(opt="torch.optim.SGD(net.parameters(), lr=0.0)", loss="out.sum() * 1e25 / 1e5 * 1e5"), "nan")
    assert (seen.troubles, seen.findings, seen.fact("nan.kind")) == ([], [], "none")


def test_of_weights_that_grew_the_schedule_is_told_as_worth_reading(tmp_path):
    source = loop(before="", opt="torch.optim.SGD(net.parameters(), lr=1.0)\n"
                  "sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda step: 10.0 ** (2 * step))  # <- schedule")
    source = source.replace("    print(", "    sched.step()\n    print(").replace("range(6)", "range(12)")
    seen = probed(tmp_path, source, "nan")
    told = seen.findings[0].facts
    assert told["nan.largest_weight"] > 1e3 < told["nan.lr"] and "weights had grown to" in told["says"] and seen.troubles == []
    assert f"main.py:{line_of(source, '# <- schedule')}" in told["also"]


def test_the_micro_batch_in_which_it_was_born_is_named(tmp_path):
    source = HEAD + f"""
net = Net()
opt = {SGD}
for step in range(5):
    for micro in range(4):
        x, y = batch(step)
        x = x / (0.0 if (step, micro) == (3, 2) else 1.0)
        (net(x=x) - y).pow(2).mean().backward()  # <- call
    opt.step()
    opt.zero_grad()
"""
    seen = probed(tmp_path, source, "nan")
    told = seen.findings[0].facts
    assert (told["nan.kind"], told["nan.argument"], told["step"], told["nan.micro_batch"], seen.troubles) == ("input", "x", 3, 2, [])
    assert told["at"] == f"main.py:{line_of(source, '# <- call')}"


def test_what_is_only_met_in_evaluation_and_what_a_step_by_hand_meets_is_named_too(tmp_path):
    evaluated = HEAD + """
net = Net(nn.BatchNorm1d(4)).eval()
net.middle.running_var.fill_(float("nan"))
with torch.no_grad():
    for step in range(5):
        net(batch(step)[0])  # <- call
"""
    by_hand = HEAD + """
net = Net()
for step in range(30):
    x, y = batch(step)
    net.zero_grad()
    loss = (net(x) - y).pow(2).mean() / (0.0 if step == 12 else 1.0)  # <- loss
    loss.backward()
    with torch.no_grad():
        for each in net.parameters():
            each -= 0.01 * each.grad
"""
    first, second = probed(tmp_path, evaluated, "nan"), probed(tmp_path, by_hand, "nan")
    assert (first.fact("nan.kind"), first.fact("nan.tensor"), first.troubles) == ("buffer", "middle.running_var", [])
    assert (second.fact("nan.kind"), second.fact("nan.op"), second.troubles) == ("loss", "div", [])
    assert second.findings[0].facts["at"] == f"main.py:{line_of(by_hand, '# <- loss')}"


SCALED = HEAD + """
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.01)
scaler = torch.amp.GradScaler("cpu", init_scale={scale})
for step in range(12):
    x, y = batch(step)
    opt.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        out = net(x)
        loss = nn.functional.mse_loss(out, y)
    {each}
    scaler.scale(loss).backward()
    scaler.step(opt)
    scaler.update()
"""


def test_planned_skips_of_a_scaler_are_counted_and_one_that_runs_away_is_told_by_its_cause(tmp_path):
    planned = probed(tmp_path, SCALED.format(scale=2.0**20, each="pass"), "nan")
    assert (planned.troubles, planned.findings, planned.fact("nan.kind")) == ([], [], "none")
    assert 1 <= planned.fact("nan.scaler_skips") <= 8
    source = SCALED.format(scale=2.0**10, each="loss = loss * torch.log(torch.tensor(5.0 - step))  # <- log")
    runaway = probed(tmp_path, source, "nan")
    told = runaway.findings[0].facts
    assert (told["nan.kind"], told["nan.op"], told["nan.scaler_skips"], runaway.troubles) == ("scaler skips", "log", 3, [])
    assert told["at"] == f"main.py:{line_of(source, '# <- log')}"
    once = SCALED.format(scale=2.0**10, each="loss = loss * torch.log(torch.tensor(-1.0 if step == 5 else 3.0))  # <- log")
    seen = probed(tmp_path, once, "nan")
    assert (seen.fact("nan.kind"), seen.fact("nan.scaler_skips"), len(seen.findings)) == ("loss", 1, 1)


def test_a_step_with_a_closure_is_judged_before_it_writes(tmp_path):
    source = HEAD + """
net = Net()
opt = torch.optim.LBFGS(net.parameters(), max_iter=2)
for step in range(5):
    x, y = batch(step)
    if step == 3:
        x[2] = float("nan")
    def closure():
        opt.zero_grad()
        loss = nn.functional.mse_loss(net(x), y)
        loss.backward()
        return loss
    opt.step(closure)
"""
    seen = probed(tmp_path, source, "nan")
    told = seen.findings[0].facts
    assert (told["nan.kind"], told["nan.rows"], told["step"], seen.troubles) == ("input", [2], 3, [])


def test_anomaly_mode_that_was_left_on_is_a_finding_at_the_line_that_switched_it_on(tmp_path):
    source = loop().replace("range(6)", "range(25)").replace("net = Net", "torch.autograd.set_detect_anomaly(True)  # <- on\nnet = Net", 1)
    seen = probed(tmp_path, source, "nan")
    assert [each.facts["at"] for each in seen.findings] == [f"main.py:{line_of(source, '# <- on')}"] and seen.troubles == []
    assert seen.fact("nan.anomaly_steps") == 20 and seen.fact("nan.kind") == "none"


def test_a_program_that_enters_and_leaves_modes_around_the_loss_finds_torchs_stack_as_it_left_it(tmp_path):
    source = HEAD + f"""
from torch.overrides import TorchFunctionMode, _get_current_function_mode_stack
class Mine(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {{}}))
net = Net()
opt = {SGD}
for step in range(4):
    x, y = batch(step)
    opt.zero_grad()
    with Mine(), torch.device("cpu"):
        out = net(x)
    with Mine():
        loss = (out - y).pow(2).mean()
        with torch.device("cpu"):
            loss.backward()
        opt.step()
    print([type(each).__name__ for each in _get_current_function_mode_stack()], loss.item())
"""
    seen = probed(tmp_path, source, "nan")
    assert (seen.troubles, seen.stdout, seen.exit) == ([], probed(tmp_path, source).stdout, 0), seen.stderr
    assert seen.stdout.count("[]") == 4


ODD = HEAD + """
import copy, pickle
from collections import namedtuple
from dataclasses import dataclass
@dataclass
class Out:
    logits: torch.Tensor
    more: object = None
class Dicts(Net):
    def forward(self, batch, *, wanted=None):
        out = super().forward(batch["x"])
        return Out(out, (None, [out * 2])) if wanted is None else {"loss": (out - wanted).pow(2).mean(), "logits": out}
def train(step, net, make=torch.optim.SGD, count=4, **more):
    opt = make([each for each in net.parameters() if each.requires_grad], lr=0.01, **more)
    for number in range(count):
        opt.zero_grad()
        loss = step(net, *batch(number))
        loss.backward()
        opt.step()
        print(number, float(loss))
print("dicts")
train(lambda net, x, y: net({"x": x, "name": "a"}, wanted=y)["loss"], Dicts())
train(lambda net, x, y: net({"x": x}).logits.pow(2).mean() + net({"x": x}).more[1][0].mean(), Dicts())
print("sparse")
bag = nn.Embedding(10, 4, sparse=True)
train(lambda net, x, y: net(torch.arange(5)).pow(2).mean(), bag, torch.optim.SparseAdam)
print("half")
train(lambda net, x, y: net(x.bfloat16()).float().pow(2).mean(), Net().bfloat16())
train(lambda net, x, y: (net(x.half()) * 3).float().pow(2).mean(), Net().half())
print("complex")
train(lambda net, x, y: net(x.to(torch.complex64)).abs().pow(2).mean(), nn.Linear(4, 2, dtype=torch.complex64))
print("double", end=" ")
train(lambda net, x, y: net(x.double()).pow(2).mean(), Net().double())
print("penalty")
def penalised(net, x, y):
    x = x.clone().requires_grad_()
    out = net(x)
    slope, = torch.autograd.grad(out.sum(), x, create_graph=True)
    return out.mean() + ((slope.norm(dim=-1) - 1) ** 2).mean()
train(penalised, Net(nn.Tanh()))
print("no batch, retained, frozen, shared")
def twice(net, x, y):
    loss = net(x).pow(2).mean()
    loss.backward(retain_graph=True)
    return loss
train(twice, Net())
net = Net()
net.first.requires_grad_(False)
net.head.weight = nn.Parameter(net.head.weight.detach().clone())
train(lambda net, x, y: net(x[:1]).sum() * 0 + net(x[:0]).sum(), net)
print("recurrent")
train(lambda net, x, y: net(x.reshape(2, 4, 4))[0].mean(), nn.LSTM(4, 3, batch_first=True))
print("inference")
with torch.inference_mode():
    for number in range(5):
        print(net(batch(number)[0]).sum().item())
net.eval()
for number in range(20):  # a gradient is kept, and never asked for
    print(net(batch(number)[0]).sum().item())
copy.deepcopy(net), pickle.dumps(net), net.state_dict()
kept = net(batch(0)[0])
torch.save(kept, "kept.pt")
print("raises")
for number in range(3):
    try:
        net(torch.randn(3, 3))
    except RuntimeError as error:
        print(type(error).__name__)
    try:
        (net(batch(0)[0]).mean() + torch.zeros(3) @ torch.zeros(4)).backward()
    except RuntimeError as error:
        print(type(error).__name__)
train(lambda net, x, y: net(x).mean(), net.requires_grad_(True))
"""


def test_odd_but_healthy_programs_run_the_same_and_give_no_finding(tmp_path):
    plain, seen = probed(tmp_path, ODD), probed(tmp_path, ODD, "nan")
    assert (plain.exit, plain.stderr.count("Error")) == (0, 0), plain.stderr
    assert (seen.exit, seen.troubles, seen.stdout) == (0, [], plain.stdout), seen.stderr
    assert (seen.findings, seen.fact("nan.kind")) == ([], "none") and seen.stderr.count("Warning") == plain.stderr.count("Warning")


METRIC = HEAD + f"""
class Correlation(nn.Module):
    def forward(self, out, y):
        out, y = out - out.mean(), y - y.mean()
        return (out * y).sum() / (out.norm() * y.norm())
net, metric = Net(), Correlation()
opt = {SGD}
for step in range(3):
    x, y = batch(step)
    opt.zero_grad()
    nn.functional.mse_loss(net(x), y).backward()
    opt.step()
with torch.no_grad():
    for step in range(4):
        x, y = batch(step)
        print(metric(net(x)[:1, 0], y[:1, 0]).item())
"""
OWN_SCALER = HEAD + f"""
net, scale = Net(), 1e38
opt = {SGD}
for step in range(6):
    x, y = batch(step)
    opt.zero_grad()
    loss = nn.functional.mse_loss(net(x), y) * 100
    (loss * scale).backward()
    for each in net.parameters():
        each.grad.div_(scale)
    if all(torch.isfinite(each.grad).all() for each in net.parameters()):
        opt.step()
        print(loss.item())
    else:
        scale /= 1e6
        print("left out")
"""
KINDS = HEAD + """
from dataclasses import dataclass
from torch._subclasses.fake_tensor import FakeTensorMode
@dataclass
class Batch:
    __slots__ = ("x",)
    x: object
class Any(Net):
    def forward(self, given):
        x = given.x if isinstance(given, Batch) else torch.stack(given.unbind()) if given.is_nested else given.float()
        return super().forward(x)
for make in (Batch, lambda x: (x.abs() * 10).to(torch.uint16), lambda x: x.to(torch.float8_e4m3fn),
             lambda x: torch.nested.nested_tensor(list(x))):
    net = Any()
    opt = torch.optim.SGD(net.parameters(), lr=0.001)
    for step in range(3):
        x, y = batch(step)
        opt.zero_grad()
        loss = nn.functional.mse_loss(net(make(x)), y)
        loss.backward()
        opt.step()
        print(loss.item())
for where in (torch.device("meta"), FakeTensorMode()):
    with where:
        net = Net()
        outs = [net(torch.empty(8, 4)) for _ in range(3)]
    with torch.no_grad():
        print([net(torch.empty_like(outs[0])[:, :1].expand(8, 4)).shape for _ in range(4)])
"""


@pytest.mark.parametrize("source", [METRIC, OWN_SCALER, KINDS], ids=["metric", "own scaler", "kinds of tensors"])
def test_what_a_healthy_program_may_meet_is_no_finding(tmp_path, source):
    plain, seen = probed(tmp_path, source), probed(tmp_path, source, "nan")
    assert (plain.exit, seen.exit, seen.troubles, seen.stdout) == (0, 0, [], plain.stdout), seen.stderr
    assert (seen.findings, seen.fact("nan.kind")) == ([], "none") and seen.stderr == plain.stderr


def test_a_loop_that_fails_and_begins_anew_finds_its_model_and_its_graph_freed(tmp_path):
    """As one that looks for the largest batch that memory takes."""
    source = HEAD + f"""
import gc, weakref
class Full(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()
    @staticmethod
    def backward(ctx, grad):
        raise RuntimeError("out of memory")
def attempt(where):
    net = Net()
    opt = {SGD}
    for step in range(2):
        x, y = batch(step)
        twice = net(x) * 2
        kept.extend(weakref.ref(each) for each in (net, opt, twice))
        if where == "loss" and step:
            raise RuntimeError("out of memory")
        (Full.apply(twice) if step else twice).pow(2).mean().backward()
        opt.step()
        opt.zero_grad()
for where in ("loss", "backward"):
    kept = []
    try:
        attempt(where)
    except RuntimeError as error:
        print(error)
    gc.collect()
    print([each() is None for each in kept])
"""
    seen = probed(tmp_path, source, "nan")
    assert (seen.stdout.count("[True, True, True, True, True, True]"), seen.troubles) == (2, []), seen.stdout
