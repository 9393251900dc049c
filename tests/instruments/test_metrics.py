"""How predictions are made of outputs, and which line is told for a wrong way."""

from __future__ import annotations

import pytest

from tests.instruments.stage import line_of, probed

HEAD = """
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
x, ids = torch.randn(90, 6), torch.randint(0, 20, (30, 9))
sign, classes, tags = (x[:, 0] > 0).float(), torch.randint(0, 3, (90,)), ids % 4


def fit(net, loss_of, given=x):
    opt = torch.optim.Adam(net.parameters(), lr=0.1)
    for _ in range(20):
        loss = loss_of(net(given))
        opt.zero_grad()
        loss.backward()
        opt.step()
    return net.eval()


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb, self.out = nn.Embedding(20, 8), nn.Linear(8, 4)

    def forward(self, batch):
        return self.out(self.emb(batch)).transpose(1, 2)


one = fit(nn.Linear(6, 1), lambda out: F.binary_cross_entropy_with_logits(out[:, 0], sign))
many = fit(nn.Linear(6, 3), lambda out: F.cross_entropy(out, classes))
tagger = fit(Tagger(), lambda out: F.cross_entropy(out, tags), ids)
"""
BROKEN = HEAD + """
with torch.no_grad():
    a = ((one(x)[:, 0] > 0.5).float() == sign).float().mean()  # <- threshold_on_scores
    b = (torch.round(one(x)[:, 0]) == sign).float().mean()  # <- threshold_on_scores by round
    c = ((one(x) > 0).float() == sign).float().mean()  # <- broadcast
    d = (one(x).argmax(1) == sign).float().mean()  # <- wrong_axis of one
    e = (many(x).argmax() == classes).float().mean()  # <- wrong_axis of all
    guess = tagger(ids).argmax(dim=-1)  # <- wrong_axis
    f = (guess[:, :4] == tags[:, :4]).float().mean()  # <- compared
    out = torch.cat([many(x[at:at + 40]) for at in range(0, 90, 40)])
    g = (out.softmax(-1).max(0).indices == classes[:3]).float().mean()  # <- wrong_axis of a copy


def predict(rows):
    scores = []
    for part in rows.split(40):
        scores.append(one(part).detach()[:, 0].numpy())
    scores = np.concatenate(scores)
    return (scores > 0.5).astype(int)  # <- threshold_on_scores of an array


predict(x)
print("done")
"""
HEALTHY = HEAD + """
lin = fit(nn.Linear(6, 1), lambda out: F.mse_loss(out[:, 0], sign))
pair = fit(nn.Linear(6, 90), lambda out: F.cross_entropy(out, torch.arange(90)) + F.cross_entropy(out.T, torch.arange(90)))
with torch.no_grad():
    hits = [(one(x).sigmoid()[:, 0] > 0.5).float() == sign, (one(x)[:, 0] > 0).float() == sign, (lin(x)[:, 0] > 0.5).float() == sign]
    for threshold in (0.1, 0.3, 0.5, 0.7):
        hits.append((one(x)[:, 0] > threshold).float() == sign)
    hits += [many(x).argmax(1) == classes, many(x).softmax(-1).max(-1)[1] == classes, many(x[:1]).argmax() == classes[0]]
    hits += [tagger(ids).argmax(1) == tags, tagger(ids).transpose(1, 2).flatten(0, 1).argmax(-1) == tags.flatten()]
    hits += [pair(x).argmax(0) == torch.arange(90), pair(x).argmax(1) == torch.arange(90), many(x).topk(2).indices == classes[:, None]]
    raw = one(x)[:, 0].numpy()
    scores = 1 / (1 + np.exp(-raw))
    hits += [torch.tensor((scores > 0.5) == sign.numpy()), torch.tensor((raw > 0) == sign.numpy())]
    peak = tagger(ids).max(-1).indices
    for at in range(0, 90, 40):
        hits.append(many(x[at:at + 40]).argmax(1) == classes[at:at + 40])  # <- unequal


class Ranked(nn.Module):  # trained on rows, asked of sequences
    def __init__(self):
        super().__init__()
        self.one, self.far, self.kinds = nn.Linear(6, 1), nn.Linear(6, 1), nn.Linear(6, 3)

    def forward(self, rows):
        return self.one(rows)[..., 0] * 9, self.far(rows)[..., 0] * 9, self.kinds(rows)


def to_share(values):
    return (values - values.min()) / (values.max() - values.min())


def ranked_loss(out):
    return F.binary_cross_entropy_with_logits(out[0], sign) + F.mse_loss(out[1], sign * 5) + F.cross_entropy(out[2], classes)


ranked = fit(Ranked(), ranked_loss)
with torch.no_grad():
    score, far, _ = ranked(x)
    hits += [far > 0.5, ranked(x.reshape(30, 3, 6))[2].argmax(-1) == classes.reshape(30, 3), score.round(decimals=2)]
    guess = many(x).argmax(1)
    hits.append(guess[:, None] == guess)
    shares = to_share(score.numpy())
    hits.append(torch.tensor(shares > 0.5))
    half = (far - far.min()).numpy()
    half = half / half.max()
    hits.append(torch.tensor(half > 0.4))
print(len(hits))
"""


@pytest.fixture(scope="module")
def broken(tmp_path_factory):
    seen = probed(tmp_path_factory.mktemp("broken"), BROKEN, "metrics")
    assert (seen.stdout, seen.troubles) == ("done\n", []), seen.stderr
    return seen


@pytest.mark.parametrize("mark", ["threshold_on_scores", "threshold_on_scores by round", "broadcast", "wrong_axis of one",
                                  "wrong_axis of all", "wrong_axis", "wrong_axis of a copy", "threshold_on_scores of an array"])
def test_a_wrong_way_to_a_prediction_is_told_at_its_line(broken, mark):
    number = [at for at, line in enumerate(BROKEN.splitlines(), 1) if line.endswith(f"# <- {mark}")]
    found = [each.facts["metrics.kind"] for each in broken.findings if each.facts["at"].endswith(f"main.py:{number[0]}")]
    assert found == [mark.split()[0]] and len(number) == 1


def test_each_is_told_once_and_a_wrong_axis_with_the_line_that_compares(broken):
    assert len(broken.findings) == 8
    (facts,) = [each.facts for each in broken.findings if each.facts.get("metrics.dim") == 2]
    assert facts["metrics.class_dim"] == 1 and facts["also"][0].endswith(f"main.py:{line_of(BROKEN, '# <- compared')}")


def test_right_ways_give_no_finding_and_a_mean_of_unequal_batches_is_told_beside_the_pooled_value(tmp_path):
    seen = probed(tmp_path, HEALTHY, "metrics")
    assert (seen.stdout, seen.troubles) == ("26\n", []), seen.stderr
    assert [(each.facts["at"], each.facts["says"]) for each in seen.findings] == []
    (means,) = [each.facts for each in seen.told if "metrics.pooled" in each.facts]
    assert means["at"].endswith(f"main.py:{line_of(HEALTHY, '# <- unequal')}") and means["metrics.pooled"] != means["metrics.mean_of_means"]
    assert (seen.fact("metrics.kind"), seen.fact("metrics.thresholds")) == ("none", 8)
