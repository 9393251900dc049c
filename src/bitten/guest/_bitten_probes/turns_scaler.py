"""A GradScaler where the program has none: losses times a power of two, gradients divided by it as soon as backward is done.

So clipping and accumulation see true gradients. A step whose gradients overflowed is passed over, as GradScaler does. Refused where
that can't be kept: several processes, gradient hooks, a second derivative, an optimizer that would step without gradients.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]
patches: Any = hook.load("_bitten_patches")
turns: Any = hook.load("_bitten_probes.turns")

FIRST = 65536.0
GROWS_AFTER = 2000
"""Both as GradScaler's defaults."""


class Scaling:
    """Of one process. `leaves` are those of the backward that is running, with the gradients that they had before it."""

    def __init__(self, turn: Any, torch: Any) -> None:
        self.turn, self.torch = turn, torch
        self.scale, self.good = FIRST, 0
        self.is_half = self.is_theirs = False
        self.leaves: list[tuple[Any, Any]] = []
        self.bad: set[int] = set()
        self.aside: list[tuple[Any, Any]] = []

    # ------------------------------------------------------------------------------------------ what is there

    def region(self, out: Any, args: Any) -> None:
        self.is_half = self.is_half or (args[0]._enabled and args[0].fast_dtype is self.torch.float16)

    def scaled(self, args: Any, kwargs: Any) -> Any:
        if args[0].is_enabled():
            self.is_theirs = True
            self.turn.not_for("refused: the program scales its losses itself")
        return args, kwargs

    # ------------------------------------------------------------------------------------------ backward

    def backward(self, call: Any, args: Any, kwargs: Any) -> Any:
        if not self.is_half or self.is_theirs or self.turn.state.startswith("failed"):
            return call(*args, **kwargs)
        tensors = _tensors(args, kwargs)
        if self.leaves:  # a checkpointed part of the same backward: its graph was hidden until now
            self._set_aside(tensors)
            return call(*args, **kwargs)
        why = self._refusal(tensors, args, kwargs)
        if why:
            self.turn.not_for("refused: " + why)
            return call(*args, **kwargs)
        self._set_aside(tensors)
        try:
            return call(tensors, [self.torch.full_like(each, self.scale) for each in tensors], **_rest(args, kwargs))
        finally:
            turns.tried(self.turn, self._scale_back)
            self.turn.met()

    def _refusal(self, tensors: Any, args: Any, kwargs: Any) -> str:
        asked = {**dict(zip(("tensors", "grad_tensors", "retain_graph", "create_graph"), args)), **kwargs}
        if any(each.numel() != 1 or not each.requires_grad for each in tensors) or asked.get("grad_tensors") is not None:
            return "backward does not begin at a loss of one number"
        if asked.get("create_graph") or asked.get("inputs") is not None:
            return "backward makes a second derivative, or is for some inputs alone"
        if self.torch.distributed.is_available() and self.torch.distributed.is_initialized():
            return "several processes share their gradients"
        if any(leaf._backward_hooks or getattr(leaf, "_post_accumulate_grad_hooks", None) for leaf in _leaves(tensors)):
            return "hooks of the program see gradients while they are scaled"
        return ""

    def _set_aside(self, tensors: Any) -> None:
        known = {id(leaf) for leaf, _ in self.leaves}
        for leaf in _leaves(tensors):
            if id(leaf) not in known:
                self.leaves.append((leaf, leaf.grad))
                leaf.grad = None

    def _scale_back(self) -> None:
        was_good = True
        leaves, self.leaves = self.leaves, []
        with self.torch.no_grad():
            for leaf, before in leaves:
                if leaf.grad is not None:
                    leaf.grad.mul_(1.0 / self.scale)
                    if not bool(self.torch.isfinite(leaf.grad).all()):
                        was_good = False
                        self.bad.add(id(leaf))
                if before is not None:
                    leaf.grad = before if leaf.grad is None else before.add_(leaf.grad)
        self.good = self.good + 1 if was_good else 0
        self.scale *= 0.5 if not was_good else 2.0 if self.good and self.good % GROWS_AFTER == 0 else 1.0

    # ------------------------------------------------------------------------------------------ steps

    def before(self, optimizer: Any, number: int) -> None:
        mine = [each for group in optimizer.param_groups for each in group["params"]]
        if not self.bad.intersection(map(id, mine)):
            return
        if not type(optimizer).__module__.startswith("torch.optim"):
            raise TypeError("a step can't be passed over for an optimizer that is none of torch's")
        self.bad.difference_update(map(id, mine))
        self.aside = [(each, each.grad) for each in mine]
        for each in mine:
            each.grad = None

    def after(self, optimizer: Any, number: int) -> None:
        for each, grad in self.aside:
            each.grad = grad
        self.aside = []


def put_in_place(turn: Any) -> None:
    def in_torch(torch: Any) -> None:
        scaling = Scaling(turn, torch)
        turns.answers(turn, torch.amp.autocast_mode.autocast, "__init__", scaling.region)
        theirs = sys.modules.get("torch.amp.grad_scaler") or sys.modules["torch.cuda.amp.grad_scaler"]  # before 2.3
        turns.arguments(turn, theirs.GradScaler, "scale", scaling.scaled)
        turns.around(torch.autograd, "backward", scaling.backward)
        turns.listen(turn, step_pre=scaling.before, step_post=scaling.after)

    patches.on_import("torch", in_torch)


def _tensors(args: Any, kwargs: Any) -> tuple[Any, ...]:
    given = args[0] if args else kwargs.get("tensors", ())
    return tuple(given) if isinstance(given, (tuple, list)) else (given,)


def _rest(args: Any, kwargs: Any) -> dict[str, Any]:
    """What was asked for beside tensors and their gradients."""
    rest = {**dict(zip(("retain_graph", "create_graph"), args[2:])), **kwargs}
    return {name: value for name, value in rest.items() if name not in ("tensors", "grad_tensors", "grad_variables")}


def _leaves(tensors: Any) -> Iterator[Any]:
    """The tensors whose `grad` this backward adds to."""
    seen: set[Any] = set()
    left = [each.grad_fn for each in tensors if each.grad_fn is not None]
    while left:
        node = left.pop()
        if node in seen:
            continue
        seen.add(node)
        if hasattr(node, "variable"):
            yield node.variable
        left.extend(each for each, _ in node.next_functions if each is not None)
