"""Tells complaints from praise: a vocabulary of its own, an embedding bag, and beside it a classical pipeline on counted features."""

import numpy as np
import torch
from classical import classical
from sklearn.model_selection import train_test_split
from words import Vocabulary, corpus
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)  # <- seed
np.random.seed(0)  # <- numpy
torch.set_num_threads(1)


class Reader(torch.nn.Module):
    def __init__(self, size):
        super().__init__()
        self.table = torch.nn.Embedding(size, 12)  # <- table
        self.head = torch.nn.Linear(12, 2)  # <- head

    def forward(self, ids):
        return self.head(self.table(ids).mean(1))  # <- forward


def main():
    texts, labels = corpus(160)
    train, test, y_train, y_test = train_test_split(texts, labels, test_size=0.25, random_state=3)  # <- split
    vocabulary = Vocabulary(train)
    x, y = torch.tensor([vocabulary.encode(each) for each in train]), torch.tensor(y_train)
    net = Reader(len(vocabulary.ids))
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)  # <- optimizer
    loader = DataLoader(TensorDataset(x, y), batch_size=20, shuffle=True)  # <- order
    for _ in range(3):
        for ids, wanted in loader:
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(net(ids), wanted).backward()  # <- loss
            optimizer.step()
    print(f"auc={classical(train, y_train, test, y_test):.4f}")


main()
