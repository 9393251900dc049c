"""What a program does with a model's outputs outside of any module: a choice among classes, a threshold, a loss. Told to who listens.

Only tensors that `root_outputs` knows; inside a module nothing is looked at. Judges nothing.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]
bus: Any = hook.load("_bitten_probes.bus")
patches: Any = hook.load("_bitten_patches")
frames: Any = hook.load("_bitten_frames")
outputs: Any = hook.load("_bitten_probes.root_outputs")

CHOICES = ("argmax", "max", "topk")
THRESHOLDS = ("__gt__", "__ge__", "__lt__", "__le__", "gt", "ge", "lt", "le", "round")
ARRAYS = ("numpy", "tolist")
SQUASHES = ("softmax", "log_softmax")
LOSSES = ("cross_entropy", "nll_loss", "binary_cross_entropy", "binary_cross_entropy_with_logits", "soft_margin_loss", "mse_loss",
          "l1_loss", "smooth_l1_loss", "huber_loss", "multilabel_soft_margin_loss", "hinge_embedding_loss", "multi_margin_loss",
          "kl_div")  # fmt: skip
_heard: list[tuple[str, Callable[[str, Any, Any, Any, Any, Any], None]]] = []
_installed: list[bool] = []


def listen(probe: str, call: Callable[[str, Any, Any, Any, Any, Any], None]) -> None:
    """`call(name of the operation, what is known of the output, tensor, args, kwargs, out)`."""
    _heard.append((probe, call))


def _tell(*use: Any) -> None:
    with bus.quiet():  # what a listener computes of a tensor is no use of it
        for each in tuple(_heard):
            try:
                each[1](*use)
            except Exception as error:  # as in `bus.fire`
                _heard.remove(each)
                bus.take_out(each[0], error, use[0])


def install() -> None:
    """Once, by each instrument that asks."""
    if not _installed:
        _installed.append(True)
        outputs.install()
        patches.on_import("torch", _torch)


def _torch(torch: Any) -> None:
    for name in (*CHOICES, *THRESHOLDS):
        for owner in (torch.Tensor, torch):
            if name in dir(owner):
                bus.wrap("uses", owner, name, None, _used(name))
    for name in ARRAYS:
        bus.wrap("uses", torch.Tensor, name, None, _used(name))
    for name in LOSSES:
        bus.wrap("uses", torch.nn.functional, name, None, _used(name))
    for owner in (torch.Tensor, torch):
        for name in SQUASHES:
            bus.wrap("uses", owner, name, None, _squashed)
    for name in ("cpu", "float", "long", "int"):
        bus.wrap("uses", torch.Tensor, name, None, _copied)
    for name in ("cat", "concat", "concatenate"):
        if hasattr(torch, name):
            bus.wrap("uses", torch, name, None, _joined)


def _used(name: str) -> Any:
    def after(kept: Any, args: Any, kwargs: Any, out: Any) -> None:
        tensor = args[0] if args else kwargs.get("input")
        output = outputs.of(tensor) if bus.depth() == 0 else None
        if output is not None and not output.is_choice and not _is_ours(sys._getframe(2)):
            if name in LOSSES:
                _learn(name, output, tensor)
            _tell(name.strip("_"), output, tensor, args, kwargs, out)

    return after


def _is_ours(frame: Any) -> bool:
    """Whether another instrument of ours computes something."""
    caller = bus.caller(frame)
    return caller is not None and bool(frames.is_ours(caller.f_code))


def _learn(name: str, output: Any, tensor: Any) -> None:
    """What a loss says of an output: what its values mean, and which dimension its classes are in."""
    output.losses.add(name)
    if name in ("cross_entropy", "nll_loss") and tensor.dim() > 1:
        dim = outputs.root_dim(output, tensor, 1)
        if dim is not None:
            output.root.class_dims.setdefault(output.at, set()).add(dim)


def _squashed(kept: Any, args: Any, kwargs: Any, out: Any) -> None:
    if args and bus.depth() == 0:
        outputs.follow_copy(out, args[0], is_squashed=True)


def _copied(kept: Any, args: Any, kwargs: Any, out: Any) -> None:
    if bus.depth() == 0 and out is not args[0]:
        outputs.follow_copy(out, args[0])


def _joined(kept: Any, args: Any, kwargs: Any, out: Any) -> None:
    """Batches of outputs, one after the other."""
    parts = args[0] if args else kwargs.get("tensors")
    if type(parts) in (list, tuple) and parts and bus.depth() == 0:
        outputs.follow_copy(out, parts[0])
