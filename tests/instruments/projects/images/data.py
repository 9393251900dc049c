"""Pictures that are drawn when they are asked for, what is done to each, and how they are parted."""

import torch
from torch.utils.data import Dataset, random_split


class Normalise:
    def __init__(self, mean, std):
        self.mean, self.std = mean, std

    def __call__(self, x):
        return (x - self.mean) / self.std  # <- normalise


def stretch(x):
    return (x - x.min()) / (x.max() - x.min())  # <- stretch


class Pictures(Dataset):
    def __init__(self, count):
        draws = torch.Generator().manual_seed(7)
        self.labels = torch.arange(count) % 4
        self.raw = torch.rand(count, 1, 8, 8, generator=draws) + self.labels[:, None, None, None] / 4
        self.normalise = Normalise(0.5, 0.25)  # <- constants

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        x = self.normalise(stretch(self.raw[index]))
        return x, self.labels[index]  # <- item


def parts(data):
    return random_split(data, [200, 40])  # <- split
