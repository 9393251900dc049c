"""What came into a loss call, and which line is told for it."""

from __future__ import annotations

import pytest

from tests.instruments.stage import line_of, probed

HEAD = """
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
x = torch.randn(24, 6)
classes, numbers, ids = torch.randint(0, 3, (24,)), torch.randn(24), torch.randint(1, 11, (6, 9))


def fit(net, loss_of, given=x, steps=9):
    opt = torch.optim.SGD(net.parameters(), lr=0.01)
    for _ in range(steps):
        opt.zero_grad()
        loss = loss_of(net(given))
        loss.backward()
        opt.step()
    with torch.no_grad():
        loss_of(net(given))
    return loss.item()


def linear(n, *more):
    return nn.Sequential(nn.Linear(6, n), *more)


class LM(nn.Module):
    def __init__(self, both=False, narrow=False):
        super().__init__()
        self.emb, self.rnn = nn.Embedding(11, 8), nn.GRU(8, 8, batch_first=True, bidirectional=both)
        self.out, self.narrow = nn.Linear(16 if both else 8, 11), narrow

    def forward(self, batch):
        states, last = self.rnn(self.emb(batch))
        return self.out(last[-1][:, None].expand(-1, batch.shape[1], -1) if self.narrow else states)

"""
BROKEN = HEAD + """
class Soft(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(6, 3)
        self.out = nn.Softmax(dim=1)  # <- double_softmax

    def forward(self, batch):
        return self.out(self.net(batch))


class Sigmoided(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(6, 1)

    def forward(self, batch):
        return torch.sigmoid(self.net(batch))  # <- double_sigmoid


class Across(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(6, 3)

    def forward(self, batch):
        return F.log_softmax(self.net(batch), dim=0)  # <- normalised_over_another_dimension


def written_out(out):
    return ((out - numbers) ** 2).mean()  # <- broadcast by hand


def marks():
    return (classes > 0).float() * 4  # <- target_outside


def positive(*sizes):
    layers = [nn.Linear(*sizes), nn.ReLU()]
    return nn.Sequential(*layers)  # <- out_of_reach


class Positive(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(6, 1)

    def forward(self, batch):
        return torch.relu(self.net(batch))  # <- out_of_reach by hand


class Texts(torch.utils.data.Dataset):
    def __len__(self):
        return 6

    def __getitem__(self, at):  # <- unshifted
        return ids[at], ids[at].clone()


criterion = nn.CrossEntropyLoss()
done = [
    fit(Soft(), lambda out: criterion(out, classes)),  # <- the loss of softmax
    fit(Sigmoided(), lambda out: F.binary_cross_entropy_with_logits(out.squeeze(1), (classes > 0).float())),
    fit(Across(), lambda out: F.nll_loss(out, classes)),
    fit(linear(3), lambda out: F.nll_loss(out, classes)),  # <- raw
    fit(linear(3), lambda out: F.kl_div(out.softmax(-1), F.one_hot(classes, 3).float(), reduction="batchmean")),  # <- kl
    fit(linear(1), lambda out: F.mse_loss(out, numbers)),  # <- broadcast of a loss
    fit(linear(1), written_out),
    fit(linear(1), lambda out: F.binary_cross_entropy_with_logits(out[:, 0], marks())),
    fit(Positive(), lambda out: ((numbers * 9 - out[:, 0]) ** 2).mean()),
    fit(linear(1), lambda out: F.cross_entropy(out, classes * 0)),  # <- one_class
    fit(positive(6, 1), lambda out: F.l1_loss(out[:, 0], numbers * 9)),
    fit(positive(6, 1), lambda out: nn.BCEWithLogitsLoss()(out[:, 0], (classes > 0).float())),
]
net, loader = LM(), torch.utils.data.DataLoader(Texts(), batch_size=3)
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for epoch in range(4):
    for seen, wanted in loader:
        opt.zero_grad()
        F.cross_entropy(net(seen).flatten(0, 1), wanted.flatten()).backward()
        opt.step()
print(len(done))
"""
HEALTHY = HEAD + """
import warnings
warnings.simplefilter("error")
bits = torch.randint(0, 2, (24, 4)).float()
partly = bits.masked_fill(torch.rand(24, 4) < 0.3, -1)


def focal(out):
    logp = F.log_softmax(out, -1)
    return (-(1 - logp.exp()) ** 2 * logp).gather(1, classes[:, None]).mean()


def distil(out, teacher=linear(3)):
    with torch.no_grad():
        wanted = F.softmax(teacher(x) / 2, -1)
    return F.kl_div(F.log_softmax(out / 2, -1), wanted, reduction="batchmean") * 4 + F.cross_entropy(out, classes)


def mixture(out):
    return F.nll_loss(torch.stack([out.softmax(-1), (out * 2).softmax(-1)]).mean(0).log(), classes)


def contrast(out):
    z = F.normalize(out, dim=-1)
    return F.cross_entropy(z @ z.T / 0.1, torch.arange(24))


def pairwise(out):
    return F.mse_loss(out - out.T, numbers[:, None] - numbers[None]) + (out - out.T).square().mean()


def gan(net):
    fake = net[0](torch.randn(24, 6))
    real = F.binary_cross_entropy(torch.sigmoid(net[1](x)), torch.empty(24, 1).uniform_(0.8, 1))
    return real + F.binary_cross_entropy(torch.sigmoid(net[1](fake)), torch.zeros(24, 1)) + F.mse_loss(net[1](fake), torch.ones(24, 1))


class Whole(nn.ModuleList):
    def forward(self, batch):
        return self


hidden = torch.rand(ids.shape) < 0.3


def masked(out):
    return F.cross_entropy(out.transpose(1, 2), torch.where(hidden, ids, -100))


def copied(out):
    return F.cross_entropy(out.flatten(0, 1), ids.flatten())


done = [
    fit(linear(3), focal), fit(linear(3), distil), fit(linear(3), mixture), fit(linear(3), contrast), fit(linear(1), pairwise),
    fit(Whole([linear(6), linear(1)]), gan),
    fit(LM(), lambda out: F.cross_entropy(out[:, :-1].flatten(0, 1), ids[:, 1:].flatten()), ids),
    fit(LM(), lambda out: F.cross_entropy(out.transpose(1, 2), (ids + 3) % 5), ids),
    fit(LM(), masked, ids.masked_fill(hidden, 0)), fit(LM(both=True), masked, ids),
    fit(LM(both=True), copied, ids), fit(LM(narrow=True), copied, ids),
    fit(linear(3, nn.LogSoftmax(1)), lambda out: F.nll_loss(out, classes)),
    fit(linear(3, nn.LogSoftmax(1)), lambda out: F.cross_entropy(out, classes)),
    fit(linear(3), lambda out: F.cross_entropy(out, F.one_hot(classes, 3) * 0.9 + 0.1 / 3)),
    fit(linear(3), lambda out: F.cross_entropy(out, classes, label_smoothing=0.1)),
    fit(linear(4), lambda out: F.binary_cross_entropy_with_logits(out, bits * 0.9 + 0.05)),
    fit(linear(4), lambda out: F.multilabel_soft_margin_loss(out, bits)),
    fit(linear(4, nn.Sigmoid()), lambda out: F.mse_loss(out, bits + 0.02 * torch.randn(24, 4))),
    fit(linear(4, nn.Softplus()), lambda out: F.poisson_nll_loss(out, bits * 3, log_input=False)),
    fit(linear(1, nn.ReLU()), lambda out: F.mse_loss(out[:, 0], numbers.abs() + 0.03 * numbers)),
    fit(linear(1, nn.ReLU()), lambda out: (out[:, 0] - numbers.abs()).abs().mean() + ((numbers.abs() - out[:, 0]) ** 2).sum()),
    fit(linear(2, nn.ReLU(), nn.Linear(2, 6)), lambda out: F.mse_loss(out, x)),
    fit(linear(1), lambda out: ((out[:, 0] - numbers) ** 2).mean()),
    fit(linear(1), lambda out: F.huber_loss(out, numbers.mean().expand(24, 1))),
    fit(linear(2), lambda out: F.soft_margin_loss(out, bits[:, :2] * 2 - 1)),
    fit(linear(4), lambda out: (F.binary_cross_entropy_with_logits(out, partly, reduction="none") * (partly >= 0)).mean()),
    fit(linear(4), lambda out: F.binary_cross_entropy_with_logits(out, partly, (partly >= 0).float())),
    fit(linear(4, nn.Sigmoid()), lambda out: (F.mse_loss(out, partly, reduction="none") * (partly >= 0)).mean()),
    fit(linear(4, nn.Sigmoid()), lambda out: ((out - partly) ** 2 * (partly >= 0)).mean()),
    fit(linear(4, nn.Sigmoid()), lambda out: ((out - partly) ** 2)[partly >= 0].mean()),
]
print(len(done))
"""


@pytest.fixture(scope="module")
def broken(tmp_path_factory):
    seen = probed(tmp_path_factory.mktemp("broken"), BROKEN, "loss")
    assert (seen.stdout, seen.troubles) == ("12\n", []), seen.stderr
    return seen


def told(seen, mark):
    """What was told of the line with this mark."""
    (number,) = [at for at, line in enumerate(BROKEN.splitlines(), 1) if line.endswith(f"# <- {mark}")]
    return [each.facts for each in seen.findings if each.facts["at"].endswith(f"main.py:{number}")]


@pytest.mark.parametrize("kind", ["double_softmax", "double_sigmoid", "normalised_over_another_dimension", "target_outside",
                                  "out_of_reach", "out_of_reach by hand", "one_class", "unshifted"])
def test_the_line_that_is_the_cause_is_told_not_that_of_the_loss(broken, kind):
    assert kind.removesuffix(" by hand") in [each["loss.kind"] for each in told(broken, kind)]


def test_an_activation_is_told_at_the_line_that_made_its_module_with_the_loss_call_beside(broken):
    (facts,) = told(broken, "double_softmax")
    assert facts["also"][0].endswith(f"main.py:{line_of(BROKEN, '# <- the loss of softmax')}")
    assert facts["loss.made_by"] == "Softmax" and "sums to 1" in facts["says"]


@pytest.mark.parametrize("mark", ["raw", "kl", "broadcast of a loss", "broadcast by hand"])
def test_a_wrong_call_is_told_at_its_own_line(broken, mark):
    (facts,) = told(broken, mark)
    assert facts["loss.kind"] == ("broadcast" if "broadcast" in mark else "not_log_probabilities")


def test_a_positive_output_before_a_loss_of_logits_is_told(broken):
    assert "clamped_logits" in [each["loss.kind"] for each in told(broken, "out_of_reach")]


def test_each_mistake_is_told_once(broken):
    assert len(broken.findings) == 13


def test_losses_that_are_meant_so_give_no_finding_and_the_shift_of_a_language_model_is_1(tmp_path):
    seen = probed(tmp_path, HEALTHY, "loss")
    assert (seen.stdout, seen.troubles) == ("31\n", []), seen.stderr
    assert [(each.facts["at"], each.facts["says"]) for each in seen.findings] == []
    assert (seen.fact("loss.kind"), seen.fact("loss.shift")) == ("none", 1)


TWICE = """
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
text = torch.randint(0, 7, (400,))
def batch(n=5, length=12):
    starts = torch.randint(0, 380, (n,))
    x = torch.stack([text[s:s + length] for s in starts])
    y = torch.stack([text[s + 1:s + length + 1] for s in starts])
    return x, y  # <- made
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb, self.rnn, self.out = nn.Embedding(7, 8), nn.GRU(8, 8, batch_first=True), nn.Linear(8, 7)
    def forward(self, ids=None, labels=None):
        scores = self.out(self.rnn(self.emb(ids))[0])
        wanted = F.pad(labels[:, 1:], (0, 1), value=-100)
        return F.cross_entropy(scores.flatten(0, 1), wanted.flatten()), scores
net = Model()
opt = torch.optim.Adam(net.parameters(), lr=0.01)
for step in range(8):
    x, y = batch()
    loss, _ = net(ids=x, labels=y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print("%.3f" % loss.item())
"""


def test_labels_shifted_by_the_program_and_by_the_model_are_two_positions_late(tmp_path):
    seen = probed(tmp_path, TWICE, "loss")
    assert seen.troubles == [] and seen.exit == 0, seen.stderr
    (finding,) = seen.findings
    assert (finding.facts["loss.kind"], finding.facts["loss.shift"]) == ("shifted_twice", 2)


AGAIN = HEAD + """
net = LM()
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for _ in range(5):
    state = net.emb(ids)
    whole = (state ** 2).mean() + ((torch.relu(state) - 1) ** 2).mean()
    opt.zero_grad()
    whole.backward()
    opt.step()
    try:
        F.cross_entropy(net.out(state).flatten(0, 1), ids.flatten()).backward()
    except RuntimeError as error:
        print(str(error)[:30])
"""


def test_a_graph_that_backward_has_let_go_of_fails_as_ever_and_takes_no_instrument_out(tmp_path):
    seen = probed(tmp_path, AGAIN, "loss")
    assert (seen.stdout, seen.troubles) == ("Trying to backward through the\n" * 5, []), seen.stderr


LONG = """
import gc, weakref, torch
import torch.nn.functional as F
torch.manual_seed(0)
net = torch.compile(torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Softmax(1)), backend="eager", fullgraph=True)
inner = torch.compile(lambda out, y: F.cross_entropy(out, y), backend="eager", fullgraph=True)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
y = torch.tensor([0, 1, 2, 0])
kept = []
for step in range(300):
    x = torch.randn(4, 4)
    out = net(x)
    kept.append(weakref.ref(out))
    loss = inner(out, y) + F.cross_entropy(out * 2, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    del out, loss, x
print(sum(each() is not None for each in kept), "%.4f" % F.cross_entropy(net(torch.ones(4, 4)), y).item())
"""


def test_compiled_losses_stay_whole_and_nothing_of_a_step_is_kept(tmp_path):
    plain, armed = probed(tmp_path, LONG), probed(tmp_path, LONG, "loss", "metrics", "mode")
    assert (armed.exit, armed.stdout, armed.stderr) == (0, plain.stdout, "") and armed.stdout.startswith("0 ")
    assert armed.troubles == [] and armed.fact("loss.calls") >= 300


def test_the_cause_is_found_beside_a_recording_which_looks_at_calls_by_the_same_profiler(tmp_path):
    source = {"net.py": """
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Sequential(nn.Linear(4, 3), nn.Softmax(1))  # <- made
    def forward(self, x):
        return self.head(x)
""", "main.py": """
import torch
from net import Net
torch.manual_seed(0)
net = Net()
opt = torch.optim.SGD(net.parameters(), 0.1)
for step in range(20):
    opt.zero_grad()
    torch.nn.functional.cross_entropy(net(torch.randn(8, 4)), torch.randint(0, 3, (8,))).backward()
    opt.step()
"""}
    seen = probed(tmp_path, source, "loss", "recording")
    assert seen.troubles == []
    assert [each.facts["at"] for each in seen.findings] == [f"net.py:{line_of(source['net.py'], '# <- made')}"]


def test_a_loss_under_a_default_device_is_one_call_on_its_own_line(tmp_path):
    source = HEAD + """
torch.set_default_device("cpu")
net = linear(3)
for _ in range(3):
    a = F.cross_entropy(net(x), classes)  # <- right
    b = F.cross_entropy(net(x).softmax(1), classes)  # <- wrong
print(a.item() > 0)
"""
    seen = probed(tmp_path, source, "loss", "nan")  # which has a mode of its own
    assert (seen.stdout, seen.troubles, seen.fact("loss.calls")) == ("True\n", [], 6), seen.stderr
    (finding,) = seen.findings
    assert finding.facts["at"].endswith(f"main.py:{line_of(source, '# <- wrong')}")
