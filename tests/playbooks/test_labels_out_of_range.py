import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy, log_softmax, nll_loss
from torch.utils.data import DataLoader, Dataset, TensorDataset

from .probing import Probe

SHIFT, MISSING, VOID = "labels.shift", "labels.missing_outputs", "labels.sentinel"


@pytest.fixture(scope="module")
def probe():
    return Probe("labels_out_of_range")


def stories(facts):
    return facts[SHIFT], facts[MISSING], facts[VOID]


def loss(classes, labels, **options):
    return cross_entropy(torch.zeros(len(labels), classes), torch.as_tensor(labels), **options)


def crashed(probe, *args, **options):
    return probe.at_crash(lambda: loss(*args, **options))[1]


def test_labels_that_run_from_1_to_n_tell_one_story(probe):
    assert stories(crashed(probe, 5, [1, 2, 3, 4, 5] * 10)) == (1, 0, 0)


def test_label_0_among_labels_too_high_tells_of_missing_outputs(probe):
    facts = crashed(probe, 5, [0, 1, 2, 6] * 10)
    assert stories(facts) == (0, 2, 0)
    assert (facts["labels.min"], facts["labels.max"], facts["labels.out_of_range"], facts["labels.samples"]) == (0, 6, 10, 40)


def test_labels_far_above_n_are_no_shift_even_without_label_0(probe):
    assert stories(crashed(probe, 5, [1, 2, 3, 6, 7] * 10)) == (0, 3, 0)


@pytest.mark.parametrize("void", [255, -1, 9999])
def test_a_void_label_tells_of_itself_alone(probe, void):
    assert stories(crashed(probe, 5, [0, 1, 2, 3, 4, void] * 10)) == (0, 0, 10)


def test_a_void_label_that_is_ignored_is_no_label(probe, monkeypatch):
    with probe.watching(monkeypatch) as seen:
        torch.nn.functional.cross_entropy(torch.zeros(6, 5), torch.tensor([0, 1, 2, 3, 4, 255]), ignore_index=255)
    (facts,) = seen.values()
    assert stories(facts) == (0, 0, 0) and facts["labels.samples"] == 5


def test_labels_shifted_down_twice_are_a_shift_and_no_void_label(probe):
    assert stories(crashed(probe, 5, [-1, 0, 1, 2, 3] * 10)) == (-1, 0, 0)


def test_few_labels_tell_nothing_for_sure(probe):
    assert stories(crashed(probe, 10, [3, 10, 7])) == (None, None, 0)
    assert stories(crashed(probe, 10, [3, -1, 0])) == (None, 0, None)


def test_a_small_batch_is_told_by_the_array_that_it_was_cut_from(probe):
    def train():
        y_order = np.arange(60)  # holds the same values and 0, but does not repeat
        y = y_order % 6 + 1
        return loss(6, y[y_order][3:7])

    facts = probe.at_crash(train)[1]
    assert stories(facts) == (1, 0, 0) and facts["labels.samples"] == 60


def test_whole_numbers_under_another_name_are_not_taken_for_labels(probe):
    def train():
        ages = torch.arange(90) % 9
        return ages, loss(6, [3, 6, 5])

    assert stories(probe.at_crash(train)[1]) == (None, None, 0)


def test_a_data_set_of_tensors_behind_a_loader_is_read(probe):
    def train(loader):
        for _, labels in loader:
            loss(6, labels)

    wanted = torch.arange(60) % 7
    sighting = probe.at_crash(lambda: train(DataLoader(TensorDataset(torch.zeros(60, 2), wanted), batch_size=3, sampler=range(4, 7))))
    assert stories(sighting[1]) == (0, 1, 0)


class Graded(Dataset):
    def __init__(self, lowest):
        self.lowest = lowest

    def __len__(self):
        return 500

    def __getitem__(self, index):
        return torch.zeros(3), self.lowest + index % 5


@pytest.mark.parametrize(("lowest", "told"), [(1, (1, 0, 0)), (0, (0, 0, 0))])
def test_a_watched_run_reads_samples_of_the_data_set(probe, monkeypatch, lowest, told):
    class Trainer:
        def __init__(self):
            self.loader = DataLoader(Graded(lowest), batch_size=5)

        def fit(self):
            for x, grades in self.loader:
                torch.nn.functional.cross_entropy(torch.zeros(len(x), 5), grades)

    if lowest:
        assert stories(probe.at_crash(Trainer().fit)[1]) == (None, None, 0)
    with probe.watching(monkeypatch) as seen:
        try:
            Trainer().fit()
        except IndexError:
            assert lowest
    (facts,) = seen.values()
    assert stories(facts) == told


def test_calls_add_up(probe, monkeypatch):
    with probe.watching(monkeypatch) as seen:
        for labels in ([1, 2], [3, 4], [0, 1]):
            torch.nn.functional.nll_loss(log_softmax(torch.zeros(2, 5), 1), torch.tensor(labels))
    (facts,) = seen.values()
    assert stories(facts) == (0, 0, 0) and (facts["labels.min"], facts["labels.max"], facts["labels.samples"]) == (0, 4, 6)


def test_labels_in_range_without_label_0_leave_the_shift_open(probe, monkeypatch):
    with probe.watching(monkeypatch) as seen:
        torch.nn.functional.cross_entropy(torch.zeros(40, 6), torch.arange(40) % 5 + 1)
    (facts,) = seen.values()
    assert stories(facts) == (None, 0, 0)


def test_maps_of_labels_are_read_along_the_class_axis(probe):
    labels = torch.arange(2 * 8 * 8).reshape(2, 8, 8) % 3 + 1
    assert stories(probe.at_crash(lambda: cross_entropy(torch.zeros(2, 3, 8, 8), labels))[1]) == (1, 0, 0)


def test_probabilities_are_no_labels(probe, monkeypatch):
    with probe.watching(monkeypatch) as seen:
        torch.nn.functional.cross_entropy(torch.zeros(2, 3), torch.full((2, 3), 1 / 3))
    assert seen == {}


def test_nll_loss_is_read_below_cross_entropy_alike(probe):
    labels = torch.tensor([1, 2, 3] * 10)
    assert stories(probe.at_crash(lambda: nll_loss(torch.zeros(30, 3), labels))[1]) == (1, 0, 0)
