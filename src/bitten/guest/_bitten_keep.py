"""The failing call's tensors and arrays, kept as files because the person asked. Calls no code of the program; names no frame."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]
values: Any = hook.load("_bitten_values")

MOST = 10 << 20  # bytes in all


def keep(variables: Any) -> None:
    """Whatever of them is plain memory, smallest first, until the room is used up."""
    room = MOST
    sized = sorted((size, name) for name in variables for size in [_size(variables[name])] if size >= 0)
    chosen = {}
    for size, name in sized:
        if size <= room:
            room -= size
            chosen[name] = variables[name]
    tensors = {name: x.detach() for name, x in chosen.items() if type(x).__module__.startswith("torch")}
    others = {name: x for name, x in chosen.items() if name not in tensors}
    if tensors:
        sys.modules["torch"].save(tensors, _file("pt"))
    if others:
        sys.modules["numpy"].savez(_file("npz"), **others)


def _file(kind: str) -> str:
    return f"{hook.Where.spool}/arguments-{os.getpid()}.{kind}"


def _size(value: Any) -> int:
    """In bytes; -1 for what is not kept."""
    if type(value) is values.loaded("torch", "Tensor") and value.device.type == "cpu" and value.layout is values.loaded("torch", "strided"):
        return int(value.numel() * value.element_size())
    if type(value) is values.loaded("numpy", "ndarray") and value.dtype.kind in "fiubc":
        return int(value.nbytes)
    return -1
