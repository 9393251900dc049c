"""Text in, windows out: every character becomes a row of n-gram counts, and its target is the character that follows.

Row i has seen the text up to character i and nothing beyond. Nothing here knows the model.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

import torch
from torch import Tensor
from torch.utils.data import IterableDataset

LONGEST_NGRAM = 3


def read_corpus(manifest: Path) -> str:
    """The text that the manifest names, if it is still the text that the manifest describes."""
    entry: dict[str, str] = json.loads(manifest.read_text(encoding="utf-8"))
    data = (manifest.parent / entry["file"]).read_bytes()
    if hashlib.sha256(data).hexdigest() != entry["sha256"]:
        raise ValueError(f"{entry['file']} is not the file that {manifest} describes: run `make corpus`")
    return data.decode("utf-8")


@dataclass(frozen=True)
class Vocabulary:
    """Characters and their ids: a character's id is its place in `symbols`."""

    symbols: str

    @classmethod
    def of(cls, text: str) -> Vocabulary:
        return cls("".join(sorted(set(text))))

    def encode(self, text: str) -> Tensor:
        ids = {symbol: i for i, symbol in enumerate(self.symbols)}
        return torch.tensor([ids[symbol] for symbol in text])

    def decode(self, ids: Tensor) -> str:
        return "".join(self.symbols[i] for i in ids.tolist())


def ngrams_ending(text: str, end: int) -> list[str]:
    """The n-grams whose last character is text[end - 1], shorter at the very start."""
    return [text[max(0, end - n) : end] for n in range(1, LONGEST_NGRAM + 1)]


def ngram_table(text: str, width: int) -> Tensor:
    """[len(text), width]: how often each bucket is hit by the n-grams that end at each character."""
    buckets = [[crc32(gram.encode()) % width for gram in ngrams_ending(text, end)] for end in range(1, len(text) + 1)]
    index = torch.tensor(buckets)
    return torch.zeros(len(text), width).scatter_add_(1, index, torch.ones(index.shape))


class DataLoader(IterableDataset[tuple[Tensor, Tensor]]):
    """Cuts a table and its targets into consecutive windows, in order.

    Meant for one worker process: a second one would yield every window again.
    """

    def __init__(self, table: Tensor, targets: Tensor, window: int) -> None:
        self.table, self.targets, self.window = table, targets, window

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor]]:
        for start in range(0, len(self.table), self.window):
            stop = min(start + self.window, len(self.table) - 1)
            yield self.table[start:stop], self.targets[start:stop]


def collate(windows: Sequence[tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor]:
    """Windows → one batch: features [batch, window, width], targets [batch, window]."""
    features, targets = zip(*windows, strict=True)
    return torch.stack(features), torch.stack(targets)


def load(manifest: Path, width: int, window: int, held_out_windows: int) -> tuple[DataLoader, DataLoader, Vocabulary]:
    """The training windows, the held-out ones from the end of the text, and the vocabulary of both."""
    text = read_corpus(manifest)
    vocabulary = Vocabulary.of(text)
    table, targets = ngram_table(text[:-1], width), vocabulary.encode(text[1:])
    cut = len(table) - held_out_windows * window
    return DataLoader(table[:cut], targets[:cut], window), DataLoader(table[cut:], targets[cut:], window), vocabulary
