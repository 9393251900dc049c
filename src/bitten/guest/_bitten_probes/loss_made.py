"""What autograd's graph tells of a tensor: which operation made it, which token ids it was made from, and whether it saw later ones.

Reads names, shapes and saved indices; keeps no node. A tensor without a graph (no grad, a compiled region) says nothing here.
"""

from __future__ import annotations

import sys
from collections import deque

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

SAME_VALUES = frozenset((
    "View", "UnsafeView", "ReshapeAlias", "Squeeze", "Unsqueeze", "Transpose", "Permute", "T", "MT", "ToCopy", "Clone", "Slice", "Select",
    "Index", "IndexSelect", "MaskedSelect", "Gather", "Expand", "Alias", "Split", "SplitWithSizes", "Unbind", "Unfold", "AsStrided",
    "Narrow", "_DDPSink",
))  # fmt: skip
"""Operations that hand on values as they are, some of them perhaps, in another shape, order or precision."""
RANGES = {"Relu": (0.0, None), "Sigmoid": (0.0, 1.0), "Tanh": (-1.0, 1.0), "Softplus": (0.0, None), "Softmax": (0.0, 1.0),
          "Hardsigmoid": (0.0, 1.0), "LogSoftmax": (None, 0.0), "LogSigmoid": (None, 0.0)}  # fmt: skip
"""Between what an operation's values lie, whatever comes in."""
LINEAR = frozenset(("Addmm", "Mm", "Bmm", "Baddbmm", "Convolution", "MkldnnLinear"))
FAR = 30
MOST = 20_000
"""Nodes that one walk visits at most: a walk of so many takes about 20 ms."""


class Made:
    """The operation that a tensor's values come from: its name without `Backward0`, and the dimension it worked along, from the front."""

    def __init__(self, node: Any, is_linear: bool = False) -> None:
        self.name = _name(node) if node is not None else ""
        self.is_linear = is_linear or self.name in LINEAR
        self.low, self.high = RANGES.get(self.name, (None, None))
        self.dim, self.rank = _dimension(node)


def _name(node: Any) -> str:
    return str(node.name()).rpartition("::")[2].partition("Backward")[0]


def _dimension(node: Any) -> tuple[int | None, int]:
    dim, shape = getattr(node, "_saved_dim", None), shape_of(node)
    if type(dim) is not int or not shape:
        return None, len(shape)
    return (dim - (1 << 64) if dim >> 63 else dim) % len(shape), len(shape)  # autograd keeps it without a sign


def shape_of(node: Any) -> tuple[int, ...]:
    """Of what the operation gave; empty where this torch doesn't say."""
    told = getattr(node, "_input_metadata", None)
    return tuple(int(size) for size in told[0].shape) if told else ()


def made(tensor: Any) -> Made:
    """What made these values, past all that only handed them on."""
    node = maker(tensor.grad_fn)
    return Made(node, node is not None and _is_bias(node) and _is_product(node.next_functions[0][0]))


def maker(node: Any) -> Any:
    """The node that made the values which this one hands on."""
    for _ in range(FAR):
        if node is None or _name(node) not in SAME_VALUES or not node.next_functions:
            break
        node = next((each for each, _ in node.next_functions if each is not None), None)
    return node


def _is_bias(node: Any) -> bool:
    """A linear layer of torch adds its bias apart where its input is no plain matrix."""
    return _name(node) == "Add" and len(node.next_functions) == 2 and len(shape_of(node.next_functions[1][0])) == 1


def _is_product(node: Any) -> bool:
    while node is not None and _name(node) in SAME_VALUES and node.next_functions:
        node = node.next_functions[0][0]
    return node is not None and _name(node) in LINEAR


def nodes(tensor: Any, most: int = MOST) -> Iterator[Any]:
    """Nodes behind a tensor, nearest first."""
    waiting, seen = deque([tensor.grad_fn]), {tensor.grad_fn}
    while waiting and len(seen) < most:
        node = waiting.popleft()
        if node is None:
            continue
        yield node
        for behind, _ in node.next_functions:
            if behind is not None and behind not in seen:
                seen.add(behind)
                waiting.append(behind)


def embedded(tensor: Any) -> list[tuple[Any, Any]]:
    """(node, ids) of each trained embedding behind a tensor."""
    try:
        return [(node, node._saved_indices) for node in nodes(tensor) if _name(node) == "Embedding"]
    except RuntimeError:  # an earlier backward has let go of them
        return []


def sees_no_later(out: Any, node: Any, ids: Any) -> bool | None:
    """Whether out[:, t] was made without ids[:, later than t], along either of the two dimensions; None where it can't be told.

    Asks autograd for the gradient of the first position at the embedding. A hook that the program hung on a tensor between is called.
    """
    torch = sys.modules["torch"]
    edge = getattr(torch.autograd.graph, "GradientEdge", None)
    if edge is None or ids.dim() != 2:
        return None
    spread = out.reshape(*ids.shape, -1)
    for axis in (0, 1):
        first = spread.select(axis, 0).float().pow(2).sum()
        (back,) = torch.autograd.grad(first, [edge(node, 0)], retain_graph=True, allow_unused=True)
        later = back.narrow(axis, 1, ids.shape[axis] - 1) if back is not None else None
        if later is None or bool(later.ne(0).any()):
            return None if later is None else False
    return True
