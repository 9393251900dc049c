"""Programs whose numbers are bad before any operation of the model: batches, weights, buffers, files."""

from __future__ import annotations

import tempfile
from pathlib import Path

import torch
from parts import ODD, Batch, Block, Net, batches, sgd, train
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset


def missing_reading() -> None:
    def odd(x: Tensor, y: Tensor) -> Batch:
        x[3, 5] = float("nan")
        return x, y
    train(Net(), batches(odd))


def endless_reading() -> None:
    def odd(x: Tensor, y: Tensor) -> Batch:
        x[3, 5] = float("inf")
        return x, y
    train(Net(), batches(odd))


def missing_target() -> None:
    def odd(x: Tensor, y: Tensor) -> Batch:
        y[1, 1] = float("nan")
        return x, y
    train(Net(), batches(odd))


class Station(nn.Module):
    """Named inputs, as in models that are called with a batch's own keys."""

    def __init__(self) -> None:
        super().__init__()
        self.net = Net()

    def forward(self, readings: Tensor, height: Tensor) -> Tensor:
        return self.net(readings + height)


def named_batch() -> None:
    model = Station()
    optimizer = sgd(model)
    for step, (x, y) in enumerate(batches()):
        batch = {"readings": x, "height": torch.ones(8, 1)}
        if step == ODD:
            batch["height"][2] = float("nan")
        optimizer.zero_grad()
        out = model(**batch)  # <- keyword_input
        loss = (out - y).pow(2).mean()
        loss.backward()
        optimizer.step()
        print(f"step {step} loss {loss.item():.4f}")


class Standardised(Dataset[Batch]):
    """Each station's readings on a scale of their own; a station that always tells the same has none."""

    def __init__(self) -> None:
        self.data = [(x[row], y[row]) for x, y in batches() for row in range(8)]
        self.data[ODD * 8 + 6][0].fill_(4.0)

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, item: int) -> Batch:
        x, y = self.data[item]
        return (x - x.mean()) / x.std(), y  # <- worker_transform


def loaded_by_workers() -> None:
    model = Net()
    optimizer = sgd(model)
    for step, (x, y) in enumerate(DataLoader(Standardised(), batch_size=8, num_workers=2)):
        optimizer.zero_grad()
        out = model(x)  # <- worker_transform
        loss = nn.functional.mse_loss(out, y)
        loss.backward()
        optimizer.step()
        print(f"step {step} loss {loss.item():.4f}")


def edited_weight() -> None:
    model = Net()

    def before(step: int) -> None:
        if step == ODD:
            with torch.no_grad():
                model.b.lin.weight[0, 0] = float("nan")
    train(model, batches(), before=before)


def restored() -> None:
    model, saved = Net(), Net().state_dict()
    saved["c.lin.bias"][2] = float("nan")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "last.pt")
        torch.save({"model": saved, "epoch": 3}, path)
        state = torch.load(path)
        model.load_state_dict(state["model"])  # <- checkpoint_nan
    train(model, batches())


class Normed(nn.Module):
    """Batch statistics that fine-tuning keeps as they are."""

    def __init__(self) -> None:
        super().__init__()
        self.lin, self.norm = nn.Linear(16, 16), nn.BatchNorm1d(16)
        self.norm.eval()

    def forward(self, x: Tensor) -> Tensor:
        h = self.lin(x)
        return torch.relu(self.norm(h))  # <- buffer_negative


def spoilt_statistics() -> None:
    model = Net(Normed())

    def before(step: int) -> None:
        if step == ODD:
            model.b.norm.running_var[4] = float("nan")
    train(model, batches(), before=before)


def extrapolated_statistics() -> None:
    model = Net(Normed())
    optimizer = sgd(model)
    for step, (x, y) in enumerate(batches()):
        if step == ODD:
            model.b.norm.running_var.lerp_(torch.full((16,), 0.5), 3.0)
        optimizer.zero_grad()
        out = model(x)  # <- buffer_negative
        loss = (out - y).pow(2).mean()
        loss.backward()
        optimizer.step()
        print(f"step {step} loss {loss.item():.4f}")


def second_moment_alone() -> None:
    """A column that is zero throughout gives a gradient of zero, and zero is divided by its own root."""
    model = Net()
    dry = ((x.index_fill(1, torch.tensor([0]), 0.0), y) for x, y in batches())
    train(model, dry, torch.optim.Adam(model.parameters(), lr=1e-2, eps=0.0))


def great_strides() -> None:
    model = Net()
    train(model, batches(), sgd(model, lr=1e12))


class Remembering(nn.Module):
    """A teacher beside the student: it is not trained, and holds the fault."""

    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(16, 16)

    def forward(self, x: Tensor) -> Tensor:
        h = torch.relu(self.lin(x))
        return h - torch.log(50 - h.amax(-1, keepdim=True))  # <- teacher


def taught() -> None:
    teacher, student = Net(Remembering()).eval().requires_grad_(False), Net()
    optimizer = sgd(student)
    for step, (x, _) in enumerate(batches(lambda x, y: (x * 1000, y))):
        with torch.no_grad():
            wanted = teacher(x)
        optimizer.zero_grad()
        loss = nn.functional.l1_loss(student(x / x.abs().amax()), wanted)
        loss.backward()
        optimizer.step()
        print(f"step {step} loss {loss.item():.4f}")


class Centred(Block):
    """Writes into what it was given."""

    def forward(self, x: Tensor) -> Tensor:
        x.div_((x.abs().amax(-1, keepdim=True) < 50).float())  # <- inplace_input
        return super().forward(x)


def written_in_place() -> None:
    model = Net()
    model.a = Centred()
    optimizer = sgd(model)
    for step, (x, y) in enumerate(batches(lambda x, y: (x.index_fill(1, torch.tensor([1]), 0.0) * 100, y))):
        optimizer.zero_grad()
        loss = (model(x) - y).pow(2).mean()
        loss.backward()
        optimizer.step()
        print(f"step {step} loss {loss.item():.4f}")


PROGRAMS = {
    "nan_input": missing_reading, "inf_input": endless_reading, "nan_target": missing_target, "keyword_input": named_batch,
    "worker_transform": loaded_by_workers, "weight_nan": edited_weight, "checkpoint_nan": restored, "buffer_nan": spoilt_statistics,
    "buffer_negative": extrapolated_statistics, "adam_eps_zero": second_moment_alone, "lr_blowup": great_strides, "teacher": taught,
    "inplace_input": written_in_place,
}
