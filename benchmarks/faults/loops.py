"""Programs whose loop is more than forward, backward, step: accumulation, scaling, ranks, compilation, two optimizers, a trainer."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import torch
from operations import Level
from parts import Batch, Net, batches, loud, sgd, train
from torch import Tensor, nn
from torch.nn import functional


def accumulated() -> None:
    """Four micro-batches a step."""
    model = Net(Level())
    optimizer = sgd(model)
    many = [batches(seed=seed) for seed in range(4)]
    many[2] = batches(loud, seed=2)
    for step, micro in enumerate(zip(*many, strict=True)):
        optimizer.zero_grad()
        for x, y in micro:
            loss = functional.mse_loss(model(x), y) / len(micro)
            loss.backward()
        optimizer.step()
        print(f"step {step} loss {loss.item():.4f}")


def scaled(model: nn.Module, data: Iterator[Batch], scale: float) -> None:
    optimizer = sgd(model, lr=0.01)
    scaler = torch.amp.GradScaler("cpu", init_scale=scale)
    for step, (x, y) in enumerate(data):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16):
            loss = functional.mse_loss(model(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        print(f"step {step} loss {loss.item():.4f} scale {scaler.get_scale():.0f}")


def rank(number: int, store: str) -> None:
    torch.distributed.init_process_group("gloo", init_method=f"file://{store}", rank=number, world_size=2)
    torch.manual_seed(0)
    model = nn.parallel.DistributedDataParallel(Net(Level()))
    optimizer = sgd(model)
    for step, (x, y) in enumerate(batches(loud if number == 1 else None, seed=number)):
        optimizer.zero_grad()
        loss = functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        if number == 0:
            print(f"step {step} loss {loss.item():.4f}", flush=True)
    torch.distributed.destroy_process_group()


def two_ranks() -> None:
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    with tempfile.TemporaryDirectory() as folder:
        torch.multiprocessing.spawn(rank, (str(Path(folder, "store")),), nprocs=2)


def compiled() -> None:
    train(torch.compile(Net(Level()), backend="aot_eager"), batches(loud))


class Spread(nn.Module):
    def forward(self, h: Tensor) -> Tensor:
        return h / torch.sqrt(30 - h.mean(-1, keepdim=True))  # <- gan


class Judge(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.enter, self.spread, self.score = nn.Linear(16, 16), Spread(), nn.Linear(16, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.score(self.spread(torch.relu(self.enter(x))))


def two_players() -> None:
    forger = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 16))
    judge = Judge()
    forgers, judges = sgd(forger), torch.optim.Adam(judge.parameters(), lr=1e-3)
    verdict, yes, no = nn.BCEWithLogitsLoss(), torch.ones(8, 1), torch.zeros(8, 1)
    for step, (x, _) in enumerate(batches(lambda x, y: (x * 300, y))):
        forged = forger(torch.randn(8, 8))
        judges.zero_grad()
        told = verdict(judge(x), yes) + verdict(judge(forged.detach()), no)
        told.backward()
        judges.step()
        forgers.zero_grad()
        fooled = verdict(judge(forged), yes)
        fooled.backward()
        forgers.step()
        print(f"step {step} judge {told.item():.4f} forger {fooled.item():.4f}")


class Task(nn.Module):
    """A model that knows its own step, as trainers want it; nobody calls its `forward`."""

    def __init__(self) -> None:
        super().__init__()
        self.net = Net(Level())

    def training_step(self, batch: Batch) -> Tensor:
        x, y = batch
        return functional.mse_loss(self.net(x), y)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return sgd(self)


class Trainer:
    def fit(self, task: Task, data: Iterator[Batch]) -> None:
        optimizer = task.configure_optimizers()
        for step, batch in enumerate(data):
            optimizer.zero_grad()
            loss = task.training_step(batch)
            loss.backward()
            optimizer.step()
            print(f"step {step} loss {loss.item():.4f}")


def called_often() -> None:
    """The same model over four windows of a sequence, one step for all."""
    model = Net(Level())
    optimizer = sgd(model)
    for step, (x, y) in enumerate(batches(loud)):
        optimizer.zero_grad()
        windows = (x * 0.5, x * 0.01, x, x * 0.02)
        loss = torch.stack([functional.mse_loss(model(each), y) for each in windows]).mean()
        loss.backward()
        optimizer.step()
        print(f"step {step} loss {loss.item():.4f}")


class Masked(nn.Module):
    """Attention that looks back only, with an intended -inf, dropout and a norm: all as it should be."""

    def __init__(self) -> None:
        super().__init__()
        self.lin, self.norm, self.drop = nn.Linear(16, 16), nn.BatchNorm1d(16), nn.Dropout(0.1)

    def forward(self, x: Tensor) -> Tensor:
        h = self.drop(self.norm(self.lin(x)))
        scores = (h @ h.T).masked_fill(torch.ones(8, 8).triu(1).bool(), float("-inf"))
        return torch.softmax(scores, -1) @ h


def gaps_left_out() -> None:
    """Targets have gaps, which the loss leaves out; inputs have gaps, which the model's caller fills."""
    model = Net()
    optimizer = sgd(model)
    for step, (x, y) in enumerate(batches()):
        x[step % 8, 3] = y[step % 8, 1] = float("nan")
        known = ~y.isnan()
        optimizer.zero_grad()
        loss = (model(x.nan_to_num(0.0)) - y)[known].pow(2).mean()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        print(f"step {step} loss {loss.item():.4f}")


PROGRAMS = {
    "accumulation": accumulated,
    "planned_skips": lambda: scaled(Net(), batches(), 2.0**22),
    "runaway": lambda: scaled(Net(Level()), batches(loud, lasting=True), 2.0**10),
    "ddp": two_ranks, "compiled": compiled, "gan": two_players,
    "training_step": lambda: Trainer().fit(Task(), batches(loud)),
    "several_calls": called_often,
    "masked_attention": lambda: train(Net(Masked()), batches()),
    "gaps_left_out": gaps_left_out,
}
