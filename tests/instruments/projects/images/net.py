"""The network and its first weights."""

from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 3, padding=1)  # <- conv
        self.norm = nn.BatchNorm2d(8)  # <- norm
        self.act = nn.ReLU()  # <- act
        self.drop = nn.Dropout(0.2)  # <- dropout
        self.head = nn.Linear(8 * 8 * 8, 4)  # <- head

    def forward(self, x):
        x = self.act(self.norm(self.conv(x)))
        return self.head(self.drop(x.flatten(1)))  # <- forward


def start(net):
    for each in net.modules():
        if isinstance(each, (nn.Conv2d, nn.Linear)):
            nn.init.xavier_uniform_(each.weight)  # <- init
