"""The whole way with an intervention: NaN by a learning rate, halved in a copy, confirmed, mended, proven."""

from __future__ import annotations

import json
import sys

from tests.stories import Project

TRAIN = '''import torch

from rate import RATE

torch.manual_seed(0)
x = torch.randn(64, 4)
y = x.sum(dim=1, keepdim=True)
net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Linear(8, 1))
opt = torch.optim.SGD(net.parameters(), lr=RATE)
for step in range(40):
    opt.zero_grad()
    loss = torch.nn.functional.mse_loss(net(x), y)
    loss.backward()
    opt.step()
print("loss=%.4f" % loss.item())
'''
TEST = '''from rate import RATE


def test_the_rate_is_small():
    assert RATE < 0.1
'''
MEASURED = ["--supports-if", 'changed.nan.kind == "none"', "--refutes-if", 'changed.nan.kind != "none"', "--scope", "rate.py"]


def checked(project: Project, claim: str, look: str, *predictions: str) -> dict:
    done = project.bitten("suspect", claim, "--check", look, *predictions)
    assert done.returncode == 0, done.stderr
    name = next(each["id"] for each in project.show()["hypotheses"] if each["claim"] == claim)
    return json.loads(project.bitten("check", name, "--json").stdout)[0]


def test_nan_by_a_learning_rate_from_suspicion_to_proof(tmp_path):
    project = Project(tmp_path, {"train.py": TRAIN, "rate.py": "RATE = 2.0\n"})
    project.env.update(OMP_NUM_THREADS="1", BITTEN_REPRODUCER="0")
    assert project.bitten("run", "--expect", "loss is finite", "--", sys.executable, "train.py").returncode == 65

    found = checked(project, "the rate is too high", "turn:lr=0.01", *MEASURED)
    facts = found["facts"]
    assert found["verdict"] == "supports", found
    assert (facts["control.loss"], facts["changed.nan.kind"], facts["turn.lr"]) == ("nan", "none", "applied")
    assert facts["control.nan.kind"] != "none" and facts["control.nan.findings"] >= 1 > facts["changed.nan.findings"]
    still = checked(project, "it is the seed", "turn:seed=5", *MEASURED)
    assert still["verdict"] == "refutes" and still["facts"]["turn.seed"] == "applied"
    unmet = checked(project, "it is autocast", "turn:autocast=off", *MEASURED)
    assert unmet["verdict"] == "unclear" and "no autocast region was enabled" in unmet["unclear"]

    answers = (("decided it?", "none"), ("name others)", "rate.py tests/test_rate.py"))
    code, seen = project.typed("confirm", found["hypothesis"], answers=answers)
    assert code == 0, seen
    project.write("rate.py", "RATE = 0.02\n")
    project.write("tests/test_rate.py", TEST)
    done = project.bitten("verify")
    assert done.returncode == 0, done.stdout + done.stderr
    (proof,) = project.root.glob(".bitten/1-*/verification.json")
    again = json.loads(proof.read_text("utf-8"))["check"]
    assert again["facts"]["control.nan.kind"] == "none" and again["facts"]["control.steps"] == 40
