"""A choice among outputs along a dimension that isn't the classes'. Only a doubt, until its result is compared with labels."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]
report: Any = hook.load("_bitten_probes.report")
outputs: Any = hook.load("_bitten_probes.root_outputs")

def doubt(name: str, output: Any, tensor: Any, args: Any, kwargs: Any) -> Any:
    """What is wrong with this choice, or None."""
    dim = _dim(name, args, kwargs, tensor)
    classes = output.root.class_dims.get(output.at, ())
    here = [outputs.root_dim(output, tensor, at) for at in range(tensor.dim())]
    if dim is not None and tensor.shape[dim] == 1 and tensor.numel() > 1 and not classes:
        return _told(name, tensor, dim, None, "of which there is one only, so that it is always the same")
    if len(classes) != 1:
        return None  # unknown, or both ways, as of a matrix of similarities
    (class_dim,) = classes
    if class_dim not in here:
        return None
    if dim is None:
        is_flat = tensor.numel() > tensor.shape[here.index(class_dim)]
        return _told(name, tensor, -1, class_dim, "which is one choice for the whole batch") if is_flat else None
    if here[dim] is None or here[dim] == class_dim:
        return None
    return _told(name, tensor, here[dim], class_dim, f"but the model's loss has its classes in dimension {class_dim}")


def _dim(name: str, args: Any, kwargs: Any, tensor: Any) -> int | None:
    """From the front; None for all at once. `topk` has its dimension behind the count."""
    at, default = (2, -1) if name == "topk" else (1, None)
    dim = args[at] if len(args) > at else kwargs.get("dim", kwargs.get("axis", default))
    return int(dim) % int(tensor.dim()) if type(dim) is int and tensor.dim() else None


def _told(name: str, tensor: Any, dim: int, class_dim: int | None, why: str) -> Any:
    along = "over all values at once" if dim < 0 else f"along dimension {dim} of the model's output"
    says = f"{name} of {list(tensor.shape)} chooses {along}, {why}; what it chose was then compared with labels."
    facts = {"metrics.function": name, "metrics.dim": dim, "metrics.shape": list(tensor.shape)}
    if class_dim is not None:
        facts["metrics.class_dim"] = class_dim
    where = report.here()
    return ("wrong_axis", says, facts, where) if where[0] else None
