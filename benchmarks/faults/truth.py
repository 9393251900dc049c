"""What is wrong with each program, written down before the code that finds it. A line is found by its mark, so no edit can move it away.

`overflow` is Inf out of finite numbers in float16 or bfloat16; float32 that overflows is none. Where there are several names, each is
right: an operation's own or that of its gradient, the path below the module that was called or below the user's own wrapper; so is each
of several lines with one mark. A `runaway` is told by its kind and its cause: that the scaler falls is what is seen, the operation is why.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Truth:
    """What a report has to say; an empty tuple, or None, is what it need not say."""

    kinds: tuple[str, ...]
    ops: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    step: int = 7
    overflow: bool = False
    tensor: str | None = None
    argument: tuple[str, ...] = ()
    rows: tuple[int, ...] | None = None


def forward(*ops: str, modules: tuple[str, ...] = ("b",), overflow: bool = False, step: int = 7) -> Truth:
    return Truth(("forward op",), ops, modules, step, overflow)


def backward(*ops: str, modules: tuple[str, ...] = ("b",)) -> Truth:
    return Truth(("backward op",), ops, modules)


def read(argument: tuple[str, ...], row: int) -> Truth:
    return Truth(("input",), modules=("",), argument=argument, rows=(row,))


HEALTHY = Truth(("none",))

TRUTH = {
    "nan_input": read(("x",), 3),
    "inf_input": read(("x",), 3),
    "keyword_input": read(("height",), 2),
    "worker_transform": read(("x",), 6),
    "nan_target": Truth(("loss",), ("mse_loss",), ("",), rows=(1,)),
    "weight_nan": Truth(("weight",), modules=("b.lin", "b"), tensor="b.lin.weight"),
    "checkpoint_nan": Truth(("checkpoint",), modules=("c.lin", "c"), step=0, tensor="c.lin.bias"),
    "buffer_nan": Truth(("buffer",), modules=("b.norm", "b"), tensor="b.norm.running_var"),
    "buffer_negative": Truth(("buffer", "forward op"), modules=("b.norm", "b")),
    "adam_eps_zero": Truth(("optimizer step",), step=0, tensor="a.lin.weight"),
    "lr_blowup": forward("addmm", "linear", modules=("head",), step=1),
    "teacher": forward("log"),
    "inplace_input": forward("div_", "div", modules=("a",)),
    "log_negative": forward("log"),
    "softmax_masked": forward("_softmax", "softmax"),
    "div_empty": forward("div"),
    "half_overflow": forward("pow", overflow=True),
    "dropped_all": forward("div"),
    "activation_checkpoint": forward("log"),
    "inf_then_nan": forward("exp", modules=("a",)),
    "autocast_fp16": forward("mul", overflow=True),
    "autocast_bf16": forward("mul", overflow=True),
    "sqrt_backward": backward("sqrt", "mul", "SqrtBackward0", "MulBackward0"),
    "where_backward": backward("log", "LogBackward0"),
    "custom_function": backward("div", "Unit", "UnitBackward"),
    "drift_backward": backward("sqrt", "SqrtBackward0", "pow", "mul", modules=("",)),
    "loss_component": Truth(("loss",), ("log", "mul"), ("",)),
    "auxiliary_term": Truth(("loss",), ("log",), ("",)),
    "accumulation": forward("log"),
    "planned_skips": HEALTHY,
    "runaway": Truth(("scaler skips",), ("log",), ("b",)),
    "ddp": forward("log", modules=("b", "module.b")),
    "compiled": forward("log", modules=("b", "_orig_mod.b")),
    "gan": forward("sqrt", modules=("spread",)),
    "training_step": forward("log", modules=("b", "net.b")),
    "several_calls": forward("log"),
    "masked_attention": HEALTHY,
    "gaps_left_out": HEALTHY,
}


def lines(name: str) -> set[str]:
    """`file:line` of each line that is marked with the name."""
    mark = re.compile(rf"# <- (?:.*, )?{name}(?:,|$)")
    return {f"{file.relative_to(HERE.parent.parent).as_posix()}:{number}" for file in sorted(HERE.glob("*.py"))
            for number, line in enumerate(file.read_text("utf-8").splitlines(), 1) if mark.search(line)}
