"""Items of a batch differ in length or shape: a short last window, data that varies by nature, or items of two kinds."""
from __future__ import annotations

from collections.abc import Iterator

from bitten.playbook import Seen, Suspect, playbook, suspect

WAKES = (r"stack expects each tensor to be equal size"
         r"|each element in list of batch should be of equal size"
         r"|all input arrays must have the same shape"
         r"|Trying to resize storage that is not resizable")  # how the first one reads in a DataLoader worker
ESTIMATE = "an estimate: no published count is this fine"


@playbook("unequal-items", wakes_on=WAKES)
def unequal_items(seen: Seen) -> Iterator[Suspect]:
    scope = (seen.place,) if seen.place else ()
    yield suspect(
        _short_window(seen),
        because=f"{_shapes(seen)}; windows cut from one source come short at its end alone",
        kind="shape/collate", likelihood="likely", prior_source=ESTIMATE, probe=True,
        supports_if="items.last_short_by >= 1", refutes_if="items.last_short_by == 0",
        looks_like=("items that vary in length by nature", "an item of another kind, which happens to come last"),
        cure="cut to the end of the source; or drop or pad the tail, where that is meant", scope=scope,
    )
    yield suspect(
        "items vary in length by nature, and nothing pads them",
        because=f"{_shapes(seen)}; recordings, sentences and images come in their own sizes",
        kind="shape/collate", likelihood="possible", prior_source=ESTIMATE, probe=True,
        supports_if="items.varying >= 1", refutes_if="items.varying == 0",
        looks_like=("a short last window",),
        cure="pad in a collate function, with the lengths or a mask beside it; or crop or resize each item", scope=scope,
    )
    yield suspect(
        "items have different layouts: grey images among colour ones, or an axis too many",
        because=f"{_shapes(seen)}; files of two kinds give arrays of two kinds",
        kind="shape/collate", likelihood="possible", prior_source=ESTIMATE, probe=True,
        supports_if="items.layouts >= 2", refutes_if="items.layouts == 1",
        looks_like=("items that vary in length by nature",),
        cure="bring every item to one layout where it is read, such as convert('RGB') for images", scope=scope,
    )


def _short_window(seen: Seen) -> str:
    """The claim, as far as the numbers carry it: rows that would complete the window lie unread, or there are none."""
    short, unread = seen.fact("items.last_short_by", 0), seen.fact("items.unread_rows", 0)
    if not short:
        return "the last window of the source comes short, and is neither dropped nor padded"
    if unread >= short:
        return f"{seen.name} slices its source {_rows(unread)} short of its end, so that the last window lacks {_rows(short)}"
    return f"the source of {seen.name} does not divide into windows: the last one lacks {_rows(short)}, and is neither dropped nor padded"


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count} rows"


def _shapes(seen: Seen) -> str:
    """The odd shape beside another one's, in a few words."""
    shapes, odd = seen.fact("items.shapes", []), seen.fact("items.odd_at")
    if odd is None or not 0 <= odd < len(shapes):
        return "the items of one batch have unequal shapes"
    other = next(shape for shape in shapes if shape != shapes[odd])
    return f"item {odd} of a batch of {seen.fact('items.batch')} is {shapes[odd]}, another {other}"
