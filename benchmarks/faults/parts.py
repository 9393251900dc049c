"""The network, the batches and the loop that most programs share: a small regression over weather stations. It has no fault of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn

STEPS, ODD = 15, 7
Batch = tuple[Tensor, Tensor]


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(16, 16)

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.lin(x))


class Net(nn.Module):
    def __init__(self, middle: nn.Module | None = None) -> None:
        super().__init__()
        self.a, self.b, self.c = Block(), middle or Block(), Block()
        self.head = nn.Linear(16, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.c(self.b(self.a(x))))  # <- lr_blowup


def loud(x: Tensor, y: Tensor) -> Batch:
    """One station's readings are a thousand times those of the others: finite, but more than some code bears."""
    x[3] *= 1000
    return x, y


def batches(odd: Callable[[Tensor, Tensor], Batch] | None = None, lasting: bool = False, seed: int = 1) -> Iterator[Batch]:
    """Fifteen batches, of which the eighth (and with `lasting` all after it) is odd."""
    chance = torch.Generator().manual_seed(seed)
    for step in range(STEPS):
        x, y = torch.randn(8, 16, generator=chance), torch.randn(8, 4, generator=chance)
        yield odd(x, y) if odd and (step == ODD or (lasting and step > ODD)) else (x, y)


def sgd(model: nn.Module, lr: float = 0.05) -> torch.optim.Optimizer:
    return torch.optim.SGD(model.parameters(), lr=lr)


def train(model: nn.Module, data: Iterator[Batch], optimizer: torch.optim.Optimizer | None = None,
          before: Callable[[int], None] = lambda step: None) -> None:
    optimizer = optimizer or sgd(model)
    criterion = nn.MSELoss()
    for step, (x, y) in enumerate(data):
        before(step)
        optimizer.zero_grad()
        out = model(x)  # <- nan_input, inf_input, weight_nan, buffer_nan
        loss = criterion(out, y)  # <- nan_target
        loss.backward()
        optimizer.step()  # <- adam_eps_zero
        print(f"step {step} loss {loss.item():.4f}")
