"""The same message, another cause: the data is sound, and the loss takes the logarithm of nothing."""
import torch

torch.manual_seed(0)
table = torch.rand(32, 3)

net = torch.nn.Linear(3, 1)
loss = (0 * torch.log(0 * net(table).square())).mean()
if not torch.isfinite(loss):
    raise FloatingPointError(f"loss is {loss.item()}")
print("loss", loss.item())
