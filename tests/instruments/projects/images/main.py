"""Trains a small network on drawn digits: a loader, transforms, a split, batch norm, dropout, an accuracy on held-out pictures."""

import torch
from data import Pictures, parts
from measure import accuracy
from net import Net, start
from torch.utils.data import DataLoader

torch.manual_seed(0)  # <- seed
torch.set_num_threads(1)


def evaluate(net, loader):
    net.eval()  # <- mode
    found, wanted = [], []
    with torch.no_grad():
        for x, y in loader:
            found.append(net(x))
            wanted.append(y)
    net.train()
    return accuracy(torch.cat(found), torch.cat(wanted))


def main():
    train, held = parts(Pictures(240))
    net = Net()
    start(net)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)  # <- optimizer
    loader = DataLoader(train, batch_size=16, shuffle=True)  # <- order
    test = DataLoader(held, batch_size=40)
    criterion = torch.nn.CrossEntropyLoss()
    for epoch in range(2):
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(net(x), y)  # <- loss
            loss.backward()
            torch.nn.utils.clip_grad_norm_(net.parameters(), 5.0)  # <- clip
            optimizer.step()
        print(f"epoch={epoch} loss={loss.item():.4f} val_acc={evaluate(net, test):.4f}")


main()
