"""A small training loop: a block of steps for each line it is sent, answered with the block's CPU seconds. No benchmark itself."""

from __future__ import annotations

import sys
import time

import torch
from torch import nn

torch.manual_seed(0)
torch.set_num_threads(1)
model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 10))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
inputs, targets = torch.randn(64, 64), torch.randint(0, 10, (64,))


def block(steps: int) -> None:
    for _ in range(steps):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(inputs), targets)
        loss.backward()
        optimizer.step()


for line in sys.stdin:
    began = time.process_time()
    block(int(line))
    print(time.process_time() - began, flush=True)
