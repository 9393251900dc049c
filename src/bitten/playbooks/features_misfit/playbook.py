"""A layer gets another width than it was built for: from the model's own layers, from the data, or on another axis."""
from __future__ import annotations

from collections.abc import Iterator

from bitten.playbook import Seen, Suspect, playbook, suspect

WAKES = (r"mat1 and mat2 shapes cannot be multiplied"
         r"|size mismatch, got input"
         r"|expected input.* to have \d+ channels"
         r"|Given groups="
         r"|Given normalized_shape="
         r"|(?:running_mean|running_var|weight) should contain \d+ elements"
         r"|mat1 dim 1 must match mat2 dim 0"
         r"|expected input size .* got")
ESTIMATE = "an estimate: no published count is this fine"


@playbook("features-misfit", wakes_on=WAKES)
def features_misfit(seen: Seen) -> Iterator[Suspect]:
    built, used = _scope(seen, "__init__"), _scope(seen, "forward")
    yield suspect(
        f"{_layer(seen)} is built for another width than the layers before it give{_widths(seen, 'computed_width_off')}",
        because=f"{_input(seen)}; a flattened size that was worked out by hand holds for one size of input",
        kind="shape/linear-in-features", likelihood="likely", prior_source=ESTIMATE, probe=True,
        supports_if="layer.computed_width_off != 0", refutes_if="layer.computed_width_off == 0",
        looks_like=("data of another width", "axes in another order"),
        cure="compute the width from the layers before, once, where the layer is built", scope=built,
    )
    yield suspect(
        f"the data has another width than {_layer(seen)} is built for{_widths(seen, 'data_width_off')}",
        because=f"{_input(seen)}; the first layer meets the data as it comes",
        kind="shape/layer-input", likelihood="possible", prior_source=ESTIMATE, probe=True,
        supports_if="layer.data_width_off != 0", refutes_if="layer.data_width_off == 0",
        looks_like=("a width that an earlier layer changed",),
        cure="build the model from the data's width; or mend the data, where a column was lost or added", scope=built,
    )
    yield suspect(
        f"the axes are in another order than {_layer(seen)} wants{_axis(seen)}",
        because=f"{_input(seen)}; tables on their side and images with channels last have the right sizes in the wrong places",
        kind="shape/layer-input", likelihood="possible", prior_source=ESTIMATE, probe=True,
        supports_if="layer.swapped_axis >= 1", refutes_if="layer.swapped_axis == 0",
        looks_like=("another axis that is as large by chance",),
        cure="permute once, where the data is read or before the layer", scope=used,
    )
    yield suspect(
        f"the input is not flattened before {_layer(seen)}",
        because=f"{_input(seen)}; its last axes together have the width that the layer wants",
        kind="shape/layer-input", likelihood="possible", prior_source=ESTIMATE, probe=True,
        supports_if="layer.unflattened == 1", refutes_if="layer.unflattened == 0",
        looks_like=("a width that an earlier layer changed",),
        cure="flatten from axis 1 on before the layer", scope=used,
    )
    yield suspect(
        f"the channel axis is missing before {_layer(seen)}",
        because=f"{_input(seen)}; a batch of grey images without a channel axis reads as one image of many channels",
        kind="shape/layer-input", likelihood="possible", prior_source=ESTIMATE, probe=True,
        supports_if="layer.missing_axis == 1", refutes_if="layer.missing_axis == 0",
        looks_like=("data of another width",),
        cure="add the axis where the data is read: x.unsqueeze(1)", scope=used,
    )


def _layer(seen: Seen) -> str:
    """The layer's name in the model, as far as it is known."""
    kind, path = seen.fact("layer.type", "a layer"), seen.fact("layer.path", "")
    return f"{path} ({kind})" if path else kind


def _widths(seen: Seen, story: str) -> str:
    """The numbers, where they tell this story."""
    return f": {seen.fact('layer.got')}, not {seen.fact('layer.expects')}" if seen.fact(f"layer.{story}", 0) else ""


def _axis(seen: Seen) -> str:
    axis = seen.fact("layer.swapped_axis", 0)
    return f": its {seen.fact('layer.expects')} features lie along axis {axis} of {seen.fact('layer.input')}" if axis else ""


def _input(seen: Seen) -> str:
    given = seen.fact("layer.input")
    return f"the layer got {given}, and expects a width of {seen.fact('layer.expects')}" if given else "a layer refused its input's shape"


def _scope(seen: Seen, method: str) -> tuple[str, ...]:
    """The method of the class that owns the layer; else the function that was running."""
    if not seen.place:
        return ()
    return (f"{seen.place}.{method}",) if seen.fact("layer.owner") and seen.sighting else (seen.place,)
