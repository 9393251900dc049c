import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, Subset, TensorDataset

from .probing import Probe

LAST, UNREAD, VARYING, LAYOUTS, ODD = "items.last_short_by", "items.unread_rows", "items.varying", "items.layouts", "items.odd_at"


@pytest.fixture(scope="module")
def probe():
    return Probe("unequal_items")


def facts(sighting, *names):
    return tuple(sighting[1][name] for name in names)


class Windows(IterableDataset):
    def __init__(self, rows, width, stop=0, copy=False):
        self.rows, self.width, self.end, self.copy = rows, width, len(rows) - stop, copy

    def __iter__(self):
        for start in range(0, self.end, self.width):
            window = self.rows[start:min(start + self.width, self.end)]
            yield window.clone() if self.copy and hasattr(window, "clone") else window.copy() if self.copy else window


class Items(Dataset):
    def __init__(self, items):
        self.items = items

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        return self.items[index]


def run(loader):
    return list(loader)


def test_a_window_that_stops_early_is_the_last_and_names_the_rows_left_unread(probe):
    place, seen = probe.at_crash(lambda: run(DataLoader(Windows(torch.zeros(64, 3), 16, stop=2), batch_size=2)))
    assert (seen[LAST], seen[UNREAD], seen[VARYING], seen[LAYOUTS], seen[ODD]) == (2, 2, 0, 1, 1)
    assert place == f"{__file__}:Windows.__iter__"


def test_a_source_that_does_not_divide_leaves_nothing_unread(probe):
    assert facts(probe.at_crash(lambda: run(DataLoader(Windows(torch.zeros(61, 3), 16), batch_size=2))), LAST, UNREAD, VARYING) == (3, 0, 0)


def test_arrays_keep_sight_of_their_source_below_the_default_collate(probe):
    sighting = probe.at_crash(lambda: run(DataLoader(Windows(np.zeros((64, 3)), 16, stop=1), batch_size=4)))
    assert facts(sighting, LAST, UNREAD, VARYING, LAYOUTS) == (1, 1, 0, 1)


def test_a_copied_window_is_the_last_when_the_loader_knows_that_its_source_has_ended(probe):
    sighting = probe.at_crash(lambda: run(DataLoader(Windows(torch.zeros(63, 3), 16, copy=True), batch_size=3 + 2)))
    assert facts(sighting, LAST, UNREAD, VARYING) == (1, None, 0)


def test_a_copied_window_at_the_end_of_a_full_batch_stays_open_at_a_crash(probe):
    sighting = probe.at_crash(lambda: run(DataLoader(Windows(torch.zeros(63, 3), 16, copy=True), batch_size=2)))
    assert facts(sighting, LAST, VARYING, LAYOUTS) == (None, None, 1)


def test_a_watched_run_asks_the_loader_for_the_next_item(probe, monkeypatch):
    with probe.watching(monkeypatch) as seen, pytest.raises(RuntimeError):
        run(DataLoader(Windows(torch.zeros(63, 3), 16, copy=True), batch_size=2))
    assert seen[f"{__file__}:Windows.__iter__"][LAST] == 1


def test_a_short_item_in_the_middle_varies_by_nature(probe):
    lengths = [5, 4, 5, 5]
    sighting = probe.at_crash(lambda: run(DataLoader([torch.zeros(n, 2) for n in lengths], batch_size=4)))
    assert facts(sighting, LAST, VARYING, LAYOUTS, ODD) == (0, 1, 1, 1)


def test_a_short_view_before_the_end_of_its_storage_is_not_the_last(probe):
    rows = torch.zeros(100, 3)
    sighting = probe.at_crash(lambda: run(DataLoader([rows[0:10], rows[10:19]], batch_size=2)))
    assert facts(sighting, LAST, VARYING) == (0, 1)


def test_the_source_may_itself_be_a_part_of_a_larger_memory(probe):
    rows = torch.zeros(500, 3)
    sighting = probe.at_crash(lambda: run(DataLoader(Windows(rows[:64], 16, stop=1), batch_size=4)))
    assert facts(sighting, LAST, UNREAD, VARYING) == (1, 1, 0)


def test_views_of_an_unknown_source_leave_it_to_the_loader(probe):
    def windows():
        rows = torch.zeros(500, 3)
        return [rows[0:16], rows[16:32], rows[32:47]]

    assert facts(probe.at_crash(lambda: run(DataLoader(windows(), batch_size=3))), LAST, UNREAD) == (1, None)


def test_the_last_of_a_list_is_known_by_its_index_even_when_shuffled(probe):
    items = [torch.zeros(5), torch.zeros(5), torch.zeros(4)]
    sighting = probe.at_crash(lambda: run(DataLoader(items, batch_size=3, sampler=[2, 0, 1])))
    assert facts(sighting, LAST, VARYING, ODD) == (1, 0, 0)


def test_of_two_items_the_shorter_is_the_odd_one_wherever_it_lies(probe):
    items = [torch.zeros(5), torch.zeros(4)]
    assert facts(probe.at_crash(lambda: run(DataLoader(items, batch_size=2, sampler=[1, 0]))), LAST, ODD) == (1, 0)


def test_the_length_of_a_users_data_set_is_asked_only_when_watching(probe, monkeypatch):
    items = Items([torch.zeros(5), torch.zeros(5), torch.zeros(3)])
    assert facts(probe.at_crash(lambda: run(DataLoader(items, batch_size=3))), LAST, VARYING) == (None, None)
    with probe.watching(monkeypatch) as seen, pytest.raises(RuntimeError):
        run(DataLoader(items, batch_size=3))
    assert seen[f"{__file__}:Items.__getitem__"][LAST] == 2


def test_a_subset_is_looked_through_to_the_source(probe):
    items = [torch.zeros(5), torch.zeros(4), torch.zeros(5)]
    assert facts(probe.at_crash(lambda: run(DataLoader(Subset(items, [0, 1]), batch_size=2))), LAST, VARYING) == (0, 1)
    items = [torch.zeros(5), torch.zeros(5), torch.zeros(4)]
    assert facts(probe.at_crash(lambda: run(DataLoader(Subset(items, [0, 2]), batch_size=2))), LAST, VARYING) == (1, 0)


def test_items_that_vary_are_counted_and_no_last_window_is_seen(probe):
    sighting = probe.at_crash(lambda: run(DataLoader([torch.zeros(n) for n in (3, 7, 2, 9)], batch_size=4)))
    assert facts(sighting, LAST, VARYING, LAYOUTS) == (0, 3, 1)


@pytest.mark.parametrize("odd", [(1, 8, 8), (4, 8, 8), (8, 8), (1, 3, 8, 8)])
def test_an_image_of_another_kind_is_another_layout_even_when_it_comes_last(probe, odd):
    items = [torch.zeros(3, 8, 8), torch.zeros(3, 8, 8), torch.zeros(odd)]
    sighting = probe.at_crash(lambda: run(DataLoader(items, batch_size=3)))
    assert facts(sighting, LAST, VARYING, LAYOUTS) == (0, 0, 2)


def test_grey_and_colour_images_of_many_sizes_are_two_layouts_and_vary(probe):
    shapes = [(3, 8, 8), (3, 9, 9), (1, 8, 8), (1, 8, 8)]
    sighting = probe.at_crash(lambda: run(DataLoader([torch.zeros(shape) for shape in shapes], batch_size=4)))
    assert facts(sighting, LAST, VARYING, LAYOUTS) == (0, 1, 2)


def test_the_short_last_window_of_few_rows_is_told_from_an_image_by_its_view(probe):
    sighting = probe.at_crash(lambda: run(DataLoader(Windows(torch.zeros(15, 6, 6), 4), batch_size=4)))
    assert facts(sighting, LAST, LAYOUTS) == (1, 1)


def test_a_list_that_was_to_be_stacked_is_found_among_the_locals(probe):
    def cut(rows):
        pieces = [rows[at:at + 4] for at in range(0, len(rows), 4)]
        return torch.stack(pieces)

    place, seen = probe.at_crash(lambda: cut(torch.zeros(10, 2)))
    assert (seen[LAST], seen[UNREAD]) == (2, 0) and place.endswith("<locals>.cut")


def test_numpy_stack_is_read_at_its_own_frame(probe):
    rows = np.zeros((9, 2))
    sighting = probe.at_crash(lambda: np.stack([rows[0:3], rows[3:6], rows[6:8]]))
    assert facts(sighting, LAST, UNREAD, VARYING, LAYOUTS) == (1, 1, 0, 1)


def test_lists_of_numbers_of_unequal_length_vary(probe):
    assert facts(probe.at_crash(lambda: run(DataLoader([[1, 2], [3], [4, 5, 6]], batch_size=3))), LAST, VARYING, LAYOUTS) == (0, 2, 1)


def test_a_custom_collate_function_is_read_under_the_same_place(probe):
    def collate(items):
        return torch.stack(items)

    place, seen = probe.at_crash(lambda: run(DataLoader(Windows(torch.zeros(63, 3), 16, copy=True), batch_size=5, collate_fn=collate)))
    assert place == f"{__file__}:Windows.__iter__" and seen[LAST] == 1


def test_a_worker_tells_the_same(probe, monkeypatch):
    """In a worker the message is another: the odd item makes the shared memory too small."""
    monkeypatch.setattr(torch.utils.data, "get_worker_info", object)
    sighting = probe.at_crash(lambda: run(DataLoader(Windows(torch.zeros(63, 3), 16), batch_size=2)))
    assert facts(sighting, LAST, UNREAD) == (1, 0)


@pytest.mark.parametrize("loader", [
    lambda: DataLoader(Windows(torch.zeros(64, 3), 16), batch_size=2),
    lambda: DataLoader(Windows(np.zeros((64, 3)), 16), batch_size=4),
    lambda: DataLoader(Items([torch.zeros(3, 8, 8)] * 4), batch_size=2),
    lambda: DataLoader(Items([{"ids": torch.zeros(4), "label": 1}] * 4), batch_size=2),
    lambda: DataLoader(Items([[1, 2, 3]] * 4), batch_size=2),
])
def test_a_healthy_batch_refutes_every_suspect(probe, monkeypatch, loader):
    with probe.watching(monkeypatch) as seen:
        run(loader())
    (place, told), = seen.items()
    assert (told[LAST], told[VARYING], told[LAYOUTS]) == (0, 0, 1)
    assert place.split(":")[1] in ("Windows.__iter__", "Items.__getitem__")


def test_a_batch_of_one_measures_nothing(probe, monkeypatch):
    with probe.watching(monkeypatch) as seen:
        run(DataLoader(Windows(torch.zeros(63, 3), 16), batch_size=1))
    assert seen == {}


def test_torchs_own_data_sets_give_no_place_of_their_own(probe, monkeypatch):
    with probe.watching(monkeypatch) as seen:
        run(DataLoader(TensorDataset(torch.zeros(4, 2)), batch_size=2))
    assert [place.split(":")[1].partition(".")[0] for place in seen] == ["run"]
