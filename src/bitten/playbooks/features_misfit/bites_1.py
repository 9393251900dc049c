"""A small convolutional net whose flattened size was worked out for images of another size."""
import torch
from torch import nn


class Digits(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        self.head = nn.Linear(4 * 14 * 14, 10)

    def forward(self, x):
        return self.head(self.body(x).flatten(1))


images = torch.randn(8, 1, 32, 32)
print(Digits()(images).shape)
