"""Three training loops as a user writes them: a block of steps for each line they are sent, answered with its CPU seconds.

`python benchmarks/workloads.py mlp|cnn|transformer [PEER [DEVICE]]`; on a GPU the seconds are of the wall. The last answer, to an empty
line, is a hash of all losses so far. No benchmark itself.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, redirect_stdout
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.modules.module import register_module_forward_hook
from torch.utils.data import DataLoader, Dataset


class MLP(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.one, self.two, self.three = nn.Linear(784, 256), nn.Linear(256, 256), nn.Linear(256, 10)
        self.first, self.second = nn.ReLU(), nn.ReLU()

    def forward(self, x: Tensor) -> Tensor:
        return self.three(self.second(self.two(self.first(self.one(x)))))


class CNN(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(*self.part(3, 32), *self.part(32, 32), nn.MaxPool2d(2), *self.part(32, 64), nn.AdaptiveAvgPool2d(1))
        self.head = nn.Linear(64, 10)

    @staticmethod
    def part(before: int, after: int) -> tuple[nn.Module, ...]:
        return nn.Conv2d(before, after, 3, padding=1), nn.BatchNorm2d(after), nn.ReLU()

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.features(x).flatten(1))


class Block(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.before, self.between, self.heads = nn.LayerNorm(width), nn.LayerNorm(width), heads
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.act, self.down, self.drop = nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width), nn.Dropout(0.1)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        q, k, v = self.qkv(self.before(x)).view(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        seen = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.drop(self.proj(seen.transpose(1, 2).reshape(batch, length, width)))
        return x + self.drop(self.down(self.act(self.up(self.between(x)))))


class Transformer(nn.Module):
    def __init__(self, words: int = 512, width: int = 128, layers: int = 2, heads: int = 4, length: int = 64) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.tokens(ids) + self.places(torch.arange(ids.shape[1], device=ids.device))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


class Rows(Dataset[tuple[Tensor, Tensor]]):
    """Whole batches are taken out at once, so that the plain loop is not slowed down by its loader."""

    def __init__(self, inputs: Tensor, targets: Tensor) -> None:
        self.inputs, self.targets = inputs, targets

    def __len__(self) -> int:
        return len(self.inputs)

    def __getitem__(self, row: int) -> tuple[Tensor, Tensor]:
        return self.inputs[row], self.targets[row]

    def __getitems__(self, rows: list[int]) -> tuple[Tensor, Tensor]:
        return self.inputs[rows], self.targets[rows]


def as_is(batch: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
    return batch


def workload(name: str) -> tuple[nn.Module, DataLoader[tuple[Tensor, Tensor]]]:
    chance = torch.Generator().manual_seed(1)
    if name == "mlp":
        model, size, data = MLP(), 64, Rows(torch.randn(1024, 784, generator=chance), torch.randint(0, 10, (1024,), generator=chance))
    elif name == "cnn":
        model, size, data = CNN(), 8, Rows(torch.randn(64, 3, 32, 32, generator=chance), torch.randint(0, 10, (64,), generator=chance))
    else:
        words = torch.randint(0, 512, (32, 65), generator=chance)
        model, size, data = Transformer(), 4, Rows(words[:, :-1].contiguous(), words[:, 1:].contiguous())
    return model, DataLoader(data, batch_size=size, shuffle=True, collate_fn=as_is)


class Loop:
    def __init__(self, name: str, device: str = "cpu") -> None:
        torch.manual_seed(0)
        self.model, self.loader = workload(name)
        self.model.to(device)
        self.device = device
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3)
        self.criterion = nn.CrossEntropyLoss()
        self.losses = hashlib.sha256()
        self.batches = self.endless()
        self.after_backward: Callable[[float], None] = lambda loss: None
        self.after_step: Callable[[], None] = lambda: None

    def endless(self) -> Iterator[tuple[Tensor, Tensor]]:
        while True:
            yield from self.loader

    def step(self) -> None:
        x, y = (each.to(self.device) for each in next(self.batches))
        self.optimizer.zero_grad()
        out = self.model(x)
        loss = self.criterion(out.flatten(0, -2), y.flatten())
        loss.backward()
        self.after_backward(loss)
        self.optimizer.step()
        self.losses.update(loss.item().hex().encode())
        self.after_step()


# ---------------------------------------------------------------------------------------------- peers


def empty_hook(loop: Loop, living: ExitStack) -> None:
    register_module_forward_hook(lambda module, args, out: None)


def detect_anomaly(loop: Loop, living: ExitStack) -> None:
    living.enter_context(torch.autograd.detect_anomaly())


def underflow_overflow(loop: Loop, living: ExitStack) -> None:
    from transformers.debug_utils import DebugUnderflowOverflow  # noqa: PLC0415  an optional peer, as those below

    DebugUnderflowOverflow(loop.model, max_frames_to_save=21)


def sherlorch(loop: Loop, living: ExitStack) -> None:
    import sherlorch  # noqa: PLC0415

    tracker = living.enter_context(sherlorch.trace())
    tracker.watch(loop.model)
    loop.after_step = tracker.reset


def torch_audit(loop: Loop, living: ExitStack) -> None:
    from torch_audit import autopatch  # noqa: PLC0415

    autopatch(loop.model, optimizer=loop.optimizer, every_n_steps=1, reporters=[])


def trainscope(loop: Loop, living: ExitStack) -> None:
    from trainscope import TrainScope  # noqa: PLC0415
    from trainscope.core.config import TrainScopeConfig  # noqa: PLC0415

    folder = living.enter_context(tempfile.TemporaryDirectory())
    scope = TrainScope(loop.model, loop.optimizer, config=TrainScopeConfig(run_dir=folder)).attach()
    living.callback(scope.detach)
    loop.after_backward = lambda loss: scope.step(2.0, batch_index=0)


PEERS = {"a hook that does nothing": ("torch", empty_hook), "detect_anomaly": ("torch", detect_anomaly),
         "DebugUnderflowOverflow": ("transformers", underflow_overflow), "sherlorch": ("sherlorch", sherlorch),
         "torch-audit": ("torch_audit", torch_audit), "trainscope": ("trainscope", trainscope)}


def seconds(device: str) -> float:
    if device == "cpu":
        return time.process_time()
    torch.cuda.synchronize()
    return time.perf_counter()


def main(name: str, peer: str = "", device: str = "cpu") -> None:
    torch.set_num_threads(1)
    loop = Loop(name, device)
    with ExitStack() as living, Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        answers = sys.stdout
        living.enter_context(redirect_stdout(nowhere))
        if peer:
            PEERS[peer][1](loop, living)
        for line in iter(sys.stdin.readline, "\n"):
            began = seconds(device)
            for _ in range(int(line)):
                loop.step()
            print(seconds(device) - began, file=answers, flush=True)
        print(loop.losses.hexdigest(), file=answers, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
