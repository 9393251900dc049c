"""The same message, another cause: the table has a column more than the model was built for."""
import torch
from torch import nn


class Digits(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(12, 8), nn.ReLU())
        self.head = nn.Linear(8, 10)

    def forward(self, x):
        return self.head(self.body(x))


table = torch.randn(8, 13)
print(Digits()(table).shape)
