"""A data set class, a loader and a loss module: grades from 1 to 5, kept as they stand in the file."""
from torch import nn, optim, randn, tensor
from torch.utils.data import DataLoader, Dataset


class Essays(Dataset):
    def __init__(self):
        self.rows = [(randn(8), grade) for grade in (3, 1, 5, 2, 4) * 16]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        features, grade = self.rows[index]
        return {"features": features, "grade": tensor(grade)}


class Trainer:
    def __init__(self, model, loader):
        self.model, self.criterion = model, nn.CrossEntropyLoss()
        self.optimizer = optim.SGD(model.parameters(), lr=0.1)
        self.loader = loader

    def fit(self):
        train_loader = self.loader
        for batch in train_loader:
            self.optimizer.zero_grad()
            loss = self.criterion(self.model(batch["features"]), batch["grade"])
            loss.backward()
            self.optimizer.step()


if __name__ == "__main__":
    Trainer(nn.Sequential(nn.Linear(8, 5)), DataLoader(Essays(), batch_size=4)).fit()
