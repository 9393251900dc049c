"""The network: n-gram counts → a small embedding → two causal convolutions → a score for every next character.

Each convolution is padded on the left alone, so no position sees the character it has to predict.
"""

import torch.nn.functional as F
from torch import Tensor, nn


class LookBack(nn.Module):
    """A residual convolution over a position and the ones before it."""

    def __init__(self, hidden: int, reach: int) -> None:
        super().__init__()
        self.reach = reach
        self.conv = nn.Conv1d(hidden, hidden, kernel_size=reach + 1)

    def forward(self, x: Tensor) -> Tensor:
        past = F.pad(x, (self.reach, 0))
        return x + F.relu(self.conv(past))


class CharModel(nn.Module):
    def __init__(self, width: int, hidden: int, reach: int, symbols: int) -> None:
        super().__init__()
        self.embed = nn.Linear(width, hidden)
        self.look_back = nn.Sequential(LookBack(hidden, reach), LookBack(hidden, reach))
        self.head = nn.Linear(hidden, symbols)

    def forward(self, features: Tensor) -> Tensor:
        """[batch, window, width] → [batch, window, symbols]"""
        channels = F.relu(self.embed(features)).mT
        scores: Tensor = self.head(self.look_back(channels).mT)
        return scores
