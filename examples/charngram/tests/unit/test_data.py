"""The table has a row a character, windows have the model's shape, and ids lead back to their characters."""

import torch

from src.data import DataLoader, Vocabulary, ngram_table

WIDTH, WINDOW = 768, 128


def small_loader(windows: int) -> DataLoader:
    rows = windows * WINDOW
    return DataLoader(torch.rand(rows, WIDTH), torch.arange(rows), WINDOW)


def test_every_character_has_a_row_that_counts_its_ngrams() -> None:
    table = ngram_table("the tide", WIDTH)
    assert table.shape == (8, WIDTH)
    assert table.sum(dim=1).tolist() == [3.0] * 8


def test_a_row_knows_nothing_of_the_text_after_it() -> None:
    assert torch.equal(ngram_table("the tide", WIDTH)[:4], ngram_table("the lamp", WIDTH)[:4])


def test_a_window_pairs_consecutive_rows_with_their_targets() -> None:
    features, targets = next(iter(small_loader(windows=3)))
    assert features.shape == (WINDOW, WIDTH)
    assert targets.tolist() == list(range(WINDOW))


def test_vocabulary_is_sorted_and_round_trips() -> None:
    vocabulary = Vocabulary.of("tide and lamp")
    assert list(vocabulary.symbols) == sorted(set("tide and lamp"))
    assert vocabulary.decode(vocabulary.encode("a plain mat")) == "a plain mat"
