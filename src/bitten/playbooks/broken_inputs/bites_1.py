"""A column is divided by its spread, and one column has none."""
import torch

torch.manual_seed(0)
table = torch.rand(32, 3)
table[:, 1] = 0.5
table = (table - table.mean(0)) / table.std(0)
table[:, 1] = table[:, 1] / 0

net = torch.nn.Linear(3, 1)
loss = net(table).square().mean()
if not torch.isfinite(loss):
    raise FloatingPointError(f"loss is {loss.item()}")
print("loss", loss.item())
