"""A missing measurement, kept as NaN in one row of many, found by the training loop's own assertion."""
from torch import nn, optim, tensor
from torch.utils.data import DataLoader, TensorDataset

READINGS = [[0.1, 0.4], [0.3, 0.2], [0.9, float("nan")], [0.5, 0.5]]


class Regressor(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1))

    def forward(self, readings):
        return self.layers(readings).squeeze(-1)


def train(model, loader):
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    for readings, wanted in loader:
        loss = nn.functional.mse_loss(model(readings), wanted)
        assert not loss.isnan(), "loss is nan"
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


train(Regressor(), DataLoader(TensorDataset(tensor(READINGS), tensor([0.0, 1.0, 1.0, 0.0])), batch_size=2))
