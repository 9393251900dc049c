"""The first bite, healed: the range ends where the rows end."""
import torch
from torch.utils.data import DataLoader, IterableDataset


class Windows(IterableDataset):
    def __init__(self, rows, width):
        self.rows, self.width = rows, width

    def __iter__(self):
        for start in range(0, len(self.rows), self.width):
            yield self.rows[start:start + self.width]


for step, batch in enumerate(DataLoader(Windows(torch.randn(64, 3), 16), batch_size=2)):
    print(step, float(batch.mean()))
