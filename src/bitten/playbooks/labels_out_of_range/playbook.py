"""A class label has no output: labels count from 1, the model has too few outputs, or a void label is not ignored."""
from __future__ import annotations

from collections.abc import Iterator

from bitten.playbook import Seen, Suspect, playbook, suspect

WAKES = (r"Target -?\d+ is out of bounds"
         r"|Assertion `?t >= 0 && t < n_classes"
         r"|cur_target >= 0 && cur_target < n_classes"
         r"|device-side assert triggered")
ESTIMATE = "an estimate: no published count is this fine"


@playbook("labels-out-of-range", wakes_on=WAKES)
def labels_out_of_range(seen: Seen) -> Iterator[Suspect]:
    scope = (seen.place,) if seen.place else ()
    yield suspect(
        _shifted(seen),
        because=f"{_range(seen)}; label files often count from 1, outputs count from 0",
        kind="label-range", likelihood="likely", prior_source=ESTIMATE, probe=True,
        supports_if="labels.shift != 0", refutes_if="labels.shift == 0",
        looks_like=("a model with one output too few",),
        cure="shift the labels once, where they are read", scope=scope,
    )
    yield suspect(
        _too_few(seen),
        because=f"{_range(seen)}; the number of classes is often written down apart from the data",
        kind="label-range", likelihood="possible", prior_source=ESTIMATE, probe=True,
        supports_if="labels.missing_outputs >= 1", refutes_if="labels.missing_outputs == 0",
        looks_like=("labels that count from 1",),
        cure="take the number of classes from the data, at one place", scope=scope,
    )
    yield suspect(
        _not_ignored(seen),
        because=f"{_range(seen)}; annotation tools write a value of their own where there is no class",
        kind="label-range", likelihood="possible", prior_source=ESTIMATE, probe=True,
        supports_if="labels.sentinel >= 1", refutes_if="labels.sentinel == 0",
        looks_like=("a model with too few outputs",),
        cure="name that value as ignore_index, or map it to a class of its own", scope=scope,
    )


def _shifted(seen: Seen) -> str:
    classes = seen.fact("labels.classes")
    if seen.fact("labels.shift") == -1:
        return f"the labels run from -1 to {classes - 2}: they were shifted down once too often"
    if seen.fact("labels.shift") == 1:
        return f"the labels run from 1 to {classes}, where the loss wants 0 to {classes - 1}"
    return "the labels count from 1, where the loss wants them from 0"


def _too_few(seen: Seen) -> str:
    missing, classes = seen.fact("labels.missing_outputs", 0), seen.fact("labels.classes")
    return f"the model has {classes} outputs, {missing} too few for its labels" if missing else "the model has too few outputs"


def _not_ignored(seen: Seen) -> str:
    marked = seen.fact("labels.sentinel", 0)
    return f"{marked} labels hold a value for 'no class', and nothing ignores it" if marked else "a label for 'no class' is not ignored"


def _range(seen: Seen) -> str:
    low, high, classes = (seen.fact(f"labels.{name}") for name in ("min", "max", "classes"))
    if classes is None or low is None:
        return "a label has no output of its own"
    return f"labels from {low} to {high} meet {classes} outputs ({seen.fact('labels.samples')} labels seen)"
