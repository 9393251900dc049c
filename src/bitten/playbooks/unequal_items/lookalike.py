"""The same message, another cause: sentences have their own lengths, and nothing pads them."""
import torch
from torch.utils.data import DataLoader, Dataset

TEXTS = ["the cat", "a dog barked", "it rained on the old roof", "no", "she left early", "rain"]


class Sentences(Dataset):
    def __len__(self):
        return len(TEXTS)

    def __getitem__(self, i):
        return torch.tensor([ord(c) for c in TEXTS[i]])


for batch in DataLoader(Sentences(), batch_size=3):
    print(batch.shape)
