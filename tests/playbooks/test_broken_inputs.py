import pytest
import torch
from torch import nn

from .probing import Probe


@pytest.fixture(scope="module")
def probe():
    return Probe("broken_inputs")


def watched(probe, monkeypatch, program):
    with probe.watching(monkeypatch) as seen:
        program()
    assert len(seen) <= 1
    return next(iter(seen.values()), None)


def test_rows_with_nan_or_inf_are_counted_over_calls(probe, monkeypatch):
    rows = torch.ones(6, 2)
    rows[4, 0], rows[5, 1] = float("nan"), float("inf")
    net = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))
    facts = watched(probe, monkeypatch, lambda: [net(rows[:3]), net(rows[3:])])
    assert facts == {"inputs.nonfinite_rows": 2, "inputs.rows": 6, "inputs.calls": 2, "inputs.first_bad_call": 2}


@pytest.mark.parametrize("gradients", [True, False])
def test_nan_that_the_model_makes_is_not_the_datas(probe, monkeypatch, gradients):
    class Root(nn.Module):
        def forward(self, x):
            return x.log()

    net, loss = nn.Sequential(nn.Linear(2, 3), Root(), nn.Linear(3, 1)), nn.MSELoss()

    def program():
        with torch.set_grad_enabled(gradients):
            loss(net(-torch.ones(4, 2)), torch.ones(4, 1))

    assert watched(probe, monkeypatch, program)["inputs.nonfinite_rows"] == 0


def test_inputs_by_name_and_in_a_dict_are_read(probe, monkeypatch):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(2, 1)

        def forward(self, batch, scale):
            return self.layer(batch["x"]) * scale

    bad = torch.full((3, 2), float("inf"))
    assert watched(probe, monkeypatch, lambda: Net()({"x": bad}, scale=torch.ones(())))["inputs.nonfinite_rows"] == 3


def test_a_crash_inside_the_model_tells_too(probe):
    bad = torch.full((3, 5), float("nan"))
    assert probe.at_crash(lambda: nn.Sequential(nn.Linear(4, 2))(bad))[1]["inputs.nonfinite_rows"] == 3
