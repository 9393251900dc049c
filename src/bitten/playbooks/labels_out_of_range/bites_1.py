"""A whole table of labels that count from 1, a functional loss, batches too small to show it by themselves."""
import torch
from torch.nn import functional

torch.manual_seed(0)
x = torch.randn(120, 4)
y = torch.arange(120) % 6 + 1
net = torch.nn.Linear(4, 6)

for i in range(0, 120, 8):
    loss = functional.cross_entropy(net(x[i:i + 8]), y[i:i + 8])
    print(i, float(loss))
