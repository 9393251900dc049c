"""Whether loaded weights arrive, and whether a state that is kept is a copy."""

from __future__ import annotations

import hashlib

import pytest

from tests.instruments.stage import line_of, probed

WARM = ("torch", "numpy", "torch._dynamo")
HEAD = """
import copy, torch
from collections import OrderedDict
from torch import nn
torch.manual_seed(0)
x, y = torch.randn(32, 4), torch.randn(32, 2)

class Net(nn.Module):
    def __init__(self, out=2):
        super().__init__(); self.body, self.norm, self.head = nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, out)
    def forward(self, x):
        return self.head(self.norm(self.body(x)))

def train(net, n=4, opt=None):
    opt = opt or torch.optim.Adam(net.parameters(), 1e-2)
    for i in range(n):
        opt.zero_grad(); nn.functional.mse_loss(net(x)[:, :2], y).backward(); opt.step()
    return opt

net = Net()
def saved(state, path="a.pt"):
    torch.save(state, path)
    return path
"""
BROKEN = {
    "best kept by reference": """
best = None
for epoch in range(3):
    opt = train(net)
    if best is None:
        best = dict(net.state_dict().items())  # <- here
net.load_state_dict(best)
""",
    "best saved at the end": """
opt = None
for epoch in range(4):
    opt = train(net, opt=opt)
    if epoch < 2:
        best = net.state_dict()  # <- here
torch.save({"model": best}, "best.pt")
""",
    "a prefix too many": """
path = saved({"module." + name: each for name, each in Net().state_dict().items()})
net.load_state_dict(torch.load(path), strict=False)  # <- here
""",
    "a prefix that lacks": """
path = saved(Net().state_dict())
outer = nn.ModuleDict({"model": net})
outer.load_state_dict(torch.load(path), strict=False)  # <- here
""",
    "compiled names": """
path = saved({"_orig_mod." + name: each for name, each in Net().state_dict().items()})
other = nn.Sequential(Net(), Net())
other[0].load_state_dict(torch.load(path), False)  # <- here
""",
    "the whole checkpoint": """
path = saved({"model": Net().state_dict(), "epoch": 3})
net.load_state_dict(torch.load(path), strict=False)  # <- here
""",
    "a filter that lets nothing through": """
path = saved({"module." + name: each for name, each in Net().state_dict().items()})
own, found = net.state_dict(), torch.load(path)
own.update({name: each for name, each in found.items() if name in own})
net.load_state_dict(own)  # <- here
""",
    "a loop that copies nothing": """
found = torch.load(saved({"state": {"module." + name: each for name, each in Net().state_dict().items()}, "epoch": 3}))  # <- here
for name, each in net.named_parameters():
    if name in found["state"]:
        each.data.copy_(found["state"][name])
train(net)
""",
    "memory that nobody filled": """
class Bare(nn.Module):
    def __init__(self):
        super().__init__(); self.weight = nn.Parameter(torch.full((4, 2), 3e37))
    def forward(self, x):
        return x @ self.weight
net = nn.Sequential(
    Bare())
net = nn.Sequential(net)  # <- here
net[0](x)
""",
}
HEALTHY = {
    "old names that the model's own hook knows, and a state of nothing it has": """
class Renamed(Net):
    def __init__(self):
        super().__init__(); self._register_load_state_dict_pre_hook(self.rename)
    def rename(self, state, prefix, *rest):
        for name in list(state):
            state[name[4:]] = state.pop(name)
path = saved({"old_" + name: each for name, each in net.state_dict().items()})
Renamed().load_state_dict(torch.load(path)); nn.ReLU().load_state_dict(torch.load(path), strict=False)
""",
    "a copy of the best": """
train(net); best = copy.deepcopy(net.state_dict()); other = {k: v.clone() for k, v in net.state_dict().items()}
train(net); net.load_state_dict(best); train(net); net.load_state_dict(other); torch.save(best, "best.pt")
""",
    "a checkpoint each epoch, and a resume": """
opt = None
for epoch in range(3):
    opt = train(net, opt=opt); torch.save({"model": net.state_dict(), "opt": opt.state_dict()}, "a.pt")
found = torch.load("a.pt"); net = Net(); net.load_state_dict(found["model"])
opt = torch.optim.Adam(net.parameters(), 1e-2); opt.load_state_dict(found["opt"]); train(net, opt=opt)
""",
    "a new head": """
path = saved(Net(out=5).state_dict()); found = torch.load(path)
for name in ("head.weight", "head.bias"):
    del found[name]
net.load_state_dict(found, strict=False); train(net)
""",
    "a filter that lets the body through": """
path = saved(Net(out=5).state_dict()); own, found = net.state_dict(), torch.load(path)
own.update({name: each for name, each in found.items() if name in own and each.shape == own[name].shape})
net.load_state_dict(own); train(net)
""",
    "a loop that copies": """
found = torch.load(saved({"state": {"module." + name: each for name, each in Net().state_dict().items()}}))["state"]
for name, each in net.named_parameters():
    each.data.copy_(found["module." + name])
train(net)
""",
    "a backbone of a larger state": """
big = nn.ModuleDict({"enc": Net(), "dec": Net(), "more": Net()}); path = saved(big.state_dict())
found = {name[4:]: each for name, each in torch.load(path).items() if name.startswith("enc.")}
net.load_state_dict(found, strict=False); train(net)
""",
    "adapters alone": """
path = saved({name: each for name, each in Net().state_dict().items() if "head" in name})
net.load_state_dict(torch.load(path), strict=False); train(net)
""",
    "a target network": """
target = Net()
for i in range(4):
    target.load_state_dict(net.state_dict()); train(net)
""",
    "its own state, at once": """
state = net.state_dict(); net.load_state_dict(state); train(net)
""",
    "taken again for each save": """
for epoch in range(3):
    train(net); torch.save(net.state_dict(), "a.pt")
""",
}
TAIL = """
print("done", sorted(net.state_dict())[0])
"""


@pytest.mark.parametrize("name", BROKEN)
def test_weights_that_do_not_arrive_are_found_at_their_line(tmp_path, name):
    source = HEAD + BROKEN[name] + TAIL
    seen = probed(tmp_path, source, "weights", warm=WARM)
    assert (seen.exit, seen.stdout[:5], seen.troubles) == (0, "done ", []), seen.stderr
    assert [each.facts["at"] for each in seen.findings] == [f"main.py:{line_of(source, '# <- here')}"], seen.findings


@pytest.mark.parametrize("name", HEALTHY)
def test_nothing_is_found_where_weights_arrive(tmp_path, name):
    seen = probed(tmp_path, HEAD + HEALTHY[name] + TAIL, "weights", warm=WARM)
    assert (seen.exit, seen.stdout, seen.troubles, seen.findings) == (0, "done body.bias\n", [], []), seen.stderr


def test_a_load_is_told_with_its_file_and_how_much_of_it_arrived(tmp_path):
    seen = probed(tmp_path, HEAD + HEALTHY["a new head"] + TAIL, "weights", warm=WARM)
    facts = {name: seen.fact("weights." + name) for name in ("path", "matched", "used", "missing", "unexpected", "loads")}
    assert facts == {"path": "a.pt", "matched": 0.7778, "used": 1.0, "missing": 2, "unexpected": 0, "loads": 1}


def test_a_prefix_is_named(tmp_path):
    for name, prefix in (("a prefix too many", "-module."), ("a prefix that lacks", "+model."), ("compiled names", "-_orig_mod.")):
        assert probed(tmp_path, HEAD + BROKEN[name] + TAIL, "weights", warm=WARM).fact("weights.prefix") == prefix


def test_a_model_that_is_only_served_has_its_weights_hashed_and_their_file_named(tmp_path):
    source = HEAD + "path = saved(Net().state_dict())\nnet.load_state_dict(torch.load(path)); net.eval()(x)" + TAIL
    first, again = (probed(tmp_path, source, "weights", warm=WARM) for _ in range(2))
    other = probed(tmp_path, source.replace("manual_seed(0)", "manual_seed(1)"), "weights", warm=WARM)
    assert first.fact("weights.hash") == again.fact("weights.hash") != other.fact("weights.hash")
    assert len(bytes.fromhex(first.fact("weights.hash"))) == hashlib.blake2b(digest_size=8).digest_size
    assert (first.fact("weights.path"), first.fact("weights.root")) == ("a.pt", "Net")


def test_a_checkpoint_whose_optimizer_is_left_out_is_a_hint(tmp_path):
    source = HEAD + HEALTHY["a checkpoint each epoch, and a resume"].replace('opt.load_state_dict(found["opt"]); ', "") + TAIL
    seen = probed(tmp_path, source, "weights", warm=WARM)
    assert seen.findings == [] and [each.facts["weights.unrestored"] for each in seen.hints] == ["optimizer"]
