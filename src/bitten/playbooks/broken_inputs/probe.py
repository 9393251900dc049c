"""How many rows of what a model is given hold NaN or Inf, read where the outermost module is called.

Runs inside the failing program. Knows nothing of programs that use no `torch.nn.Module`.
"""
from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any

SEAMS = ("torch.nn.modules.module:Module._call_impl",)


def read(call: dict[str, Any], frames: list[Any]) -> dict[str, Any] | None:
    if any(frame.f_code.co_name == "_call_impl" for frame in frames) or not _learns(call.get("self")):
        return None  # an inner module's input is the model's own work, and so is a loss module's
    given = [each for each in _tensors([call.get("args"), call.get("kwargs")]) if each.grad_fn is None]
    if not given:
        return None
    bad = [_bad_rows(each) for each in given]
    return {"inputs.nonfinite_rows": max(bad), "inputs.rows": max(each.shape[0] if each.dim() else 1 for each in given),
            "inputs.calls": 1, "inputs.first_bad_call": 1 if max(bad) else None}


def finding(facts: dict[str, Any]) -> bool:
    return bool(facts["inputs.nonfinite_rows"])


def merge(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    both = {name: old[name] + new[name] for name in ("inputs.nonfinite_rows", "inputs.rows", "inputs.calls")}
    first = old["inputs.first_bad_call"] or (both["inputs.calls"] if finding(new) else None)
    return {**both, "inputs.first_bad_call": first}


def _bad_rows(given: Any) -> int:
    finite = given.detach().isfinite()
    return int((~finite.reshape(finite.shape[0] if finite.dim() else 1, -1).all(1)).sum())


def _tensors(value: Any, depth: int = 3) -> Iterator[Any]:
    """Tensors of real numbers among the arguments, within lists, tuples and dicts."""
    kind = getattr(sys.modules.get("torch"), "Tensor", None)
    if kind is not None and issubclass(type(value), kind):
        if value.is_floating_point() and value.numel() and _may_read(value):
            yield value
    elif depth and type(value) in (list, tuple, dict):
        for each in value.values() if type(value) is dict else value:
            yield from _tensors(each, depth - 1)


def _may_read(tensor: Any) -> bool:
    """A device that has just failed must not be waited for; before the call that fails it answers."""
    return tensor.device.type == "cpu" or os.environ.get("BITTEN_WATCH") == "1"


def _learns(module: Any) -> bool:
    """Whether it, or a module in it, has parameters: what has none is a loss or a transform."""
    own = getattr(module, "__dict__", {})
    return any(each is not None for each in own.get("_parameters", {}).values()) or any(map(_learns, own.get("_modules", {}).values()))
