"""Whether dropout and batch normalisation work as training and evaluation want it, and which line is told where they don't."""

from __future__ import annotations

import pytest

from tests.instruments.stage import line_of, probed

HEAD = """
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
x, y = torch.randn(40, 6), torch.randint(0, 3, (40,))


def make(*more):
    return nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.3), nn.Linear(8, 3), *more)


def step(net, opt, rows=slice(0, 20)):
    loss = F.cross_entropy(net(x[rows]), y[rows])
    opt.zero_grad()
    loss.backward()
    opt.step()


def sgd(net):
    return torch.optim.SGD(net.parameters(), lr=0.05)

"""
LEFT = HEAD + """
net = make()
opt = sgd(net)


@torch.no_grad()
def check():
    net.eval()  # <- left_in_eval
    return (net(x).argmax(1) == y).float().mean()


net.train()
for at in range(12):
    step(net, opt)  # <- the step
    if at % 4 == 3:
        check()
print("done")
"""
FORGOTTEN = HEAD + """
def accuracy(net):
    with torch.no_grad():
        out = net(x)  # <- evaluated_in_train_mode
    return (out.argmax(1) == y).float().mean()


def train(net, epochs=3):
    opt = sgd(net)
    for epoch in range(epochs):
        net.train()
        for _ in range(8):
            step(net, opt)
        accuracy(net)


def main():
    train(make())
    late = make()
    opt = sgd(late)
    for _ in range(8):
        step(late, opt)
    print("%d" % (late(x).argmax(1) == y).float().sum().ge(0))  # <- with gradient


main()
"""
LOADED = HEAD + """
import io
kept = io.BytesIO()
torch.save(make().state_dict(), kept)


class Service:
    def __init__(self):
        kept.seek(0)
        self.net = make()
        self.net.load_state_dict(torch.load(kept))  # <- loaded_without_eval

    def answer(self, rows):
        with torch.inference_mode():
            return self.net(rows).argmax(1)


service = Service()
print(len(service.answer(x)), len(service.answer(x)))
"""
UNTOLD = HEAD + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Linear(6, 8), nn.Linear(8, 3)

    def forward(self, rows):
        h = F.dropout(self.one(rows).relu(), 0.4)  # <- dropout_without_flag
        h = F.dropout(h, 0.1, training=True)  # <- meant
        return self.two(F.dropout(h, 0.4, self.training))


net = Net()
opt = sgd(net)
for _ in range(3):
    step(net, opt)
net.eval()
with torch.no_grad():
    net(x)
print("done")
"""
HEALTHY = HEAD + """
import copy


def rounds(net, after, steps=16, often=4):
    opt = sgd(net)
    for at in range(steps):
        net.train()
        step(net, opt)
        if at % often == often - 1:
            after(net)
    net.eval()
    with torch.no_grad():
        return net(x).argmax(1)


@torch.no_grad()
def evaluate(net):
    net.eval()
    acc = (net(x).argmax(1) == y).float().mean()
    net.train()  # <- restored
    return acc


def mc_dropout(net):
    net.eval()
    for each in net.modules():
        if isinstance(each, nn.Dropout):
            each.train()
    with torch.no_grad():
        torch.stack([net(x).softmax(-1) for _ in range(9)]).mean(0).argmax(-1)


def monte_carlo_in_train_mode(net):
    net.train()
    with torch.no_grad():
        torch.stack([net(x).softmax(-1) for _ in range(9)]).mean(0).argmax(-1)


def sample(net):
    with torch.no_grad():
        torch.save(net(torch.randn(9, 6)), __import__("io").BytesIO())


class RetrievalClassifier:
    def observe(self, net):
        sample(net)


class Frozen(nn.Sequential):
    def train(self, mode=True):
        super().train(mode)
        for each in self.modules():
            if isinstance(each, nn.BatchNorm1d):
                each.eval()
        return self


def frozen_second_stage(net):
    opt = sgd(net)
    net.eval()
    for _ in range(6):
        step(net, opt)


def pseudo_labels(net):
    opt = sgd(net)
    for at in range(8):
        with torch.no_grad():
            wanted = net(x).softmax(-1).max(-1)[1]
        loss = F.cross_entropy(net(x + 0.1), wanted)
        opt.zero_grad()
        loss.backward()
        opt.step()


def teacher(net):
    old = make()
    old.load_state_dict(net.state_dict())
    opt = sgd(net)
    for at in range(8):
        with torch.no_grad():
            wanted = old(torch.randn(40, 6)).softmax(-1)
            assert wanted.max(-1)[1].shape == y.shape
        loss = F.kl_div(net(x).log_softmax(-1), wanted, reduction="batchmean") + F.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()


with torch.no_grad():
    make()(torch.zeros(2, 6))
def until_sure(net):
    opt = sgd(net)
    for at in range(9):
        out = net(x)
        if at == 8 or (out.argmax(1) == y).all():
            return
        opt.zero_grad()
        F.cross_entropy(out, y).backward()
        opt.step()


def validate_a_step_by_hand():
    net = make()
    net.load_state_dict(make().state_dict())
    for _ in range(3):
        net.zero_grad()
        F.cross_entropy(net(x), y).backward()
        with torch.no_grad():
            for each in net.parameters():
                each -= 0.1 * each.grad


validate_a_step_by_hand()
until_sure(make())
done = [rounds(make(), each) for each in (evaluate, mc_dropout, monte_carlo_in_train_mode, sample, frozen_second_stage)]
done.append(rounds(make(), RetrievalClassifier().observe))
done.append(rounds(Frozen(*make()), evaluate))
net = make()
done += [pseudo_labels(net), evaluate(net), teacher(net), evaluate(net)]
opt, sure = sgd(net), 0
for at in range(10):
    net.train()
    out = net(x)
    sure += (out.argmax(1) == y).sum()
    loss = F.cross_entropy(out, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
swa = torch.optim.swa_utils.AveragedModel(net)
torch.optim.swa_utils.update_bn([x[:20], x[20:]], swa)
swa.eval()
with torch.no_grad():
    done.append(swa(x).argmax(1))
print(len(done))
"""


@pytest.mark.parametrize("source, kind, out", [(LEFT, "left_in_eval", "done\n"), (FORGOTTEN, "evaluated_in_train_mode", "1\n"),
                                               (LOADED, "loaded_without_eval", "40 40\n"), (UNTOLD, "dropout_without_flag", "done\n")])
def test_a_wrong_mode_is_told_at_the_line_that_is_its_cause(tmp_path, source, kind, out):
    seen = probed(tmp_path, source, "mode")
    assert (seen.stdout, seen.troubles) == (out, []), seen.stderr
    assert {each.facts["mode.kind"] for each in seen.findings} == {kind} and seen.fact("mode.kind") == kind
    assert seen.findings[0].facts["at"].endswith(f"main.py:{line_of(source, f'# <- {kind}')}")
    if source is FORGOTTEN:
        assert seen.findings[1].facts["at"].endswith(f"main.py:{line_of(source, '# <- with gradient')}")
    else:
        assert len(seen.findings) == 1


def test_dropout_that_is_told_to_be_on_is_no_more_than_a_hint(tmp_path):
    (hint,) = probed(tmp_path, UNTOLD, "mode").hints
    assert hint.facts["mode.suspicion"] == "dropout_in_eval" and hint.facts["at"].endswith(f"main.py:{line_of(UNTOLD, '# <- meant')}")


def test_modes_that_are_meant_so_give_no_finding_and_each_switch_is_told_with_its_line(tmp_path):
    seen = probed(tmp_path, HEALTHY, "mode")
    assert (seen.stdout, seen.troubles) == ("12\n", []), seen.stderr
    assert [(each.facts["at"], each.facts["says"]) for each in seen.findings] == []
    assert seen.fact("mode.kind") == "none"
    line = line_of(HEALTHY, "# <- restored")
    (switch,) = [each.facts for each in seen.told if each.facts.get("mode.switch") and each.facts["at"].endswith(f"main.py:{line}")]
    assert (switch["mode.switch"], switch["mode.switch_calls"]) == ("train", 10)


ONE = HEAD + """
net = make()
opt = sgd(net)
data = torch.utils.data.TensorDataset(x[:21], y[:21])
loader = torch.utils.data.DataLoader(data, batch_size=10)  # <- batch_of_one
for rows, wanted in loader:
    loss = F.cross_entropy(net(rows), wanted)
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
SHIFTED = HEAD + """
net = make()
opt = sgd(net)
for _ in range(30):
    step(net, opt)
net.eval()
with torch.no_grad():
    for _ in range(4):
        net(x + 40)
        step_of = net(x)
print("done")
"""


def test_a_batch_of_one_that_normalisation_refuses_is_told_at_the_loader(tmp_path):
    seen = probed(tmp_path, ONE, "mode")
    (finding,) = seen.findings
    assert seen.exit == 1 and "Expected more than 1 value per channel" in seen.stderr and seen.troubles == []
    assert finding.facts["mode.kind"] == "batch_of_one" and finding.facts["at"].endswith(f"main.py:{line_of(ONE, '# <- batch_of_one')}")


def test_running_statistics_that_are_not_of_the_data_are_a_hint(tmp_path):
    source = SHIFTED.replace("        step_of = net(x)\n", "")
    seen = probed(tmp_path, source, "mode")
    assert (seen.stdout, seen.troubles, seen.findings) == ("done\n", [], []), seen.stderr
    assert [each.facts["mode.suspicion"] for each in seen.hints] == ["running_statistics"]
    assert probed(tmp_path, SHIFTED.replace("x + 40", "x"), "mode").hints == []
