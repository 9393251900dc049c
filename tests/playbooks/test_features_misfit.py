import pytest
import torch
from torch import nn

from .probing import Probe

STORIES = ("layer.computed_width_off", "layer.data_width_off", "layer.swapped_axis", "layer.unflattened", "layer.missing_axis")


@pytest.fixture(scope="module")
def probe():
    return Probe("features_misfit")


class Net(nn.Module):
    def __init__(self, *layers):
        super().__init__()
        self.body = nn.Sequential(*layers)

    def forward(self, x):
        return self.body(x)


def stories(sighting):
    return tuple(sighting[1][name] for name in STORIES)


def crashed(probe, layers, *shape):
    return probe.at_crash(lambda: Net(*layers)(torch.randn(shape)))


def test_a_flattened_size_that_earlier_layers_do_not_give_is_computed(probe):
    place, facts = crashed(probe, [nn.Conv2d(1, 2, 3), nn.Flatten(), nn.Linear(50, 3)], 4, 1, 8, 8)
    assert stories((place, facts)) == (22, 0, 0, 0, 0)
    assert place == f"{__file__}:Net"
    assert (facts["layer.path"], facts["layer.expects"], facts["layer.got"], facts["layer.type"]) == ("body.2", 50, 72, "Linear")


def test_a_table_of_another_width_is_the_datas(probe):
    assert stories(crashed(probe, [nn.Linear(5, 4), nn.Linear(4, 2)], 8, 7)) == (0, 2, 0, 0, 0)


@pytest.mark.parametrize("frozen", [False, True])
def test_without_a_gradient_the_order_of_layers_tells(probe, frozen):
    layers = [nn.Linear(5, 4), nn.Linear(6, 2)]

    def run(width):
        net = Net(*layers).requires_grad_(not frozen)
        with torch.set_grad_enabled(frozen):
            net(torch.randn(8, width))

    assert stories(probe.at_crash(lambda: run(5))) == (-2, 0, 0, 0, 0)
    assert stories(probe.at_crash(lambda: run(9))) == (0, 4, 0, 0, 0)


def test_a_gradient_tells_even_when_the_layer_was_registered_first(probe):
    class HeadFirst(nn.Module):
        def __init__(self):
            super().__init__()
            self.head, self.stem = nn.Linear(5, 2), nn.Linear(4, 6)

        def forward(self, x):
            return self.head(self.stem(x))

    assert stories(probe.at_crash(lambda: HeadFirst()(torch.randn(3, 4)))) == (1, 0, 0, 0, 0)


def test_channels_last_is_an_axis_elsewhere(probe):
    assert stories(crashed(probe, [nn.Conv2d(3, 8, 3)], 2, 16, 16, 3)) == (0, 0, 4, 0, 0)


def test_grey_images_for_a_colour_model_are_the_datas(probe):
    assert stories(crashed(probe, [nn.Conv2d(3, 8, 3)], 2, 1, 16, 16)) == (0, -2, 0, 0, 0)


def test_time_and_features_exchanged_is_an_axis_elsewhere(probe):
    assert stories(crashed(probe, [nn.Linear(12, 4)], 2, 12, 7)) == (0, 0, 2, 0, 0)
    assert stories(crashed(probe, [nn.Linear(9, 12), nn.Conv1d(12, 4, 3)], 2, 7, 9)) == (0, 0, 3, 0, 0)


def test_a_batch_as_large_as_the_layer_is_wide_is_no_axis_elsewhere_when_labels_are_as_long(probe):
    def run(layer, x, labels):
        return layer(x), labels

    assert stories(probe.at_crash(lambda: run(nn.Linear(16, 2), torch.randn(16, 9), torch.zeros(16)))) == (0, -7, 0, 0, 0)
    assert stories(probe.at_crash(lambda: run(nn.Linear(16, 2), torch.randn(16, 9), torch.zeros(9)))) == (0, 0, 1, 0, 0)
    assert stories(probe.at_crash(lambda: run(nn.Linear(16, 2), torch.randn(16, 9), None))) == (0, None, None, 0, 0)


def test_square_maps_as_high_as_the_layer_wants_channels_are_no_axis_elsewhere(probe):
    assert stories(crashed(probe, [nn.Conv2d(3, 4, 1), nn.Conv2d(16, 4, 1)], 2, 3, 16, 16)) == (-12, 0, 0, 0, 0)


def test_an_image_that_is_not_flattened(probe):
    assert stories(crashed(probe, [nn.Linear(64, 4)], 2, 1, 8, 8)) == (0, 0, 0, 1, 0)
    assert stories(crashed(probe, [nn.Conv2d(1, 6, 3), nn.AdaptiveAvgPool2d(1), nn.Linear(6, 4)], 2, 1, 8, 8)) == (0, 0, 0, 1, 0)


def test_a_batch_of_grey_images_without_their_channel_axis(probe):
    assert stories(crashed(probe, [nn.Conv2d(1, 4, 3)], 32, 8, 8)) == (0, 0, 0, 0, 1)


@pytest.mark.parametrize(("layers", "off"), [
    ([nn.Linear(4, 6), nn.LayerNorm(8)], -2),
    ([nn.Linear(4, 6), nn.BatchNorm1d(4)], 2),
    ([nn.Linear(4, 6), nn.Unflatten(1, (2, 3)), nn.LayerNorm((2, 4))], -1),
])
def test_norms_are_read_too(probe, layers, off):
    assert stories(crashed(probe, layers, 5, 4)) == (off, 0, 0, 0, 0)


def test_a_stack_that_a_function_built_has_the_calling_function_as_its_place(probe):
    def evaluate():
        return nn.Sequential(nn.Linear(4, 6), nn.Linear(5, 2))(torch.randn(3, 4))

    place, facts = probe.at_crash(evaluate)
    assert place.endswith("<locals>.evaluate") and facts["layer.owner"] == "" and facts["layer.path"] == "1"


def test_what_fits_refutes_every_suspect_at_the_same_place_and_a_finding_stays(probe, monkeypatch):
    with probe.watching(monkeypatch) as seen:
        net = Net(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.Flatten(), nn.Linear(72, 8), nn.LayerNorm(8))
        net(torch.randn(4, 1, 8, 8))
        assert stories((None, seen[f"{__file__}:Net"])) == (0, 0, 0, 0, 0)
        with pytest.raises(RuntimeError):
            net(torch.randn(4, 1, 9, 9))
        net(torch.randn(4, 1, 8, 8))
    assert list(seen) == [f"{__file__}:Net"] and stories((None, seen[f"{__file__}:Net"]))[0] == 26


def test_a_user_module_inside_another_owns_its_layers(probe):
    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = Net(nn.Linear(3, 3))

        def forward(self, x):
            return self.inner(x)

    place, facts = probe.at_crash(lambda: Outer()(torch.randn(2, 4)))
    assert place.endswith(":Net") and facts["layer.path"] == "inner.body.0"
