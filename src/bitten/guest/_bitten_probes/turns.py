"""Changes a condition of the program, on purpose and only in a throw-away copy, and tells of each change whether it was ever met.

`BITTEN_TURNS` holds `name=value;name=value`. Each is put in place where its framework offers a seam, in `turns_train`, `turns_data` or
`turns_process`. Knows not whether a change mattered: a run without it, beside, tells that.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]
bus: Any = hook.load("_bitten_probes.bus")
report: Any = hook.load("_bitten_probes.report")

PARTS = {
    "lr": "train", "autocast": "train", "scaler": "train", "compile": "train",
    "workers": "data", "batch": "data", "overfit": "data", "skip": "data", "shuffle_labels": "data",
    "seed": "process", "deterministic": "process", "threads": "process", "device": "process",
}  # fmt: skip
"""Each turn, and the module `turns_…` that has a function of its name."""

FACTS = {
    "turn.lr": {"says": "every learning rate times this, at each step",
                "unit": "applied, or why not", "threshold": "", "source": "", "misfires": ""},
    "turn.lr.times": {"says": "optimizer steps made so", "unit": "steps", "threshold": "", "source": "", "misfires": ""},
    "turn.autocast": {"says": "torch.autocast does nothing: what it would have cast stays as it is",
                      "unit": "applied, or why not", "threshold": "", "source": "",
                      "misfires": "not inside a compiled region: turn compile off beside"},
    "turn.autocast.times": {"says": "autocast regions that were made so",
                            "unit": "regions", "threshold": "", "source": "", "misfires": ""},
    "turn.scaler": {"says": "losses are scaled before backward and gradients scaled back after it",
                    "unit": "applied, or why not", "threshold": "", "source": "", "misfires": ""},
    "turn.scaler.times": {"says": "backward calls made so", "unit": "calls", "threshold": "", "source": "", "misfires": ""},
    "turn.compile": {"says": "torch.compile returns what it was given",
                     "unit": "applied, or why not", "threshold": "", "source": "", "misfires": ""},
    "turn.compile.times": {"says": "calls of torch.compile", "unit": "calls", "threshold": "", "source": "", "misfires": ""},
    "turn.workers": {"says": "DataLoaders have so many workers",
                     "unit": "applied, or why not", "threshold": "", "source": "", "misfires": ""},
    "turn.workers.times": {"says": "DataLoaders made so", "unit": "loaders", "threshold": "", "source": "", "misfires": ""},
    "turn.batch": {"says": "DataLoaders have batches of this factor's size",
                   "unit": "applied, or why not", "threshold": "", "source": "", "misfires": ""},
    "turn.batch.times": {"says": "DataLoaders made so", "unit": "loaders", "threshold": "", "source": "", "misfires": ""},
    "turn.overfit": {"says": "a DataLoader that trains hands out its first batch in place of the others",
                     "unit": "applied, or why not", "threshold": "", "source": "", "misfires": ""},
    "turn.overfit.times": {"says": "batches replaced", "unit": "batches", "threshold": "", "source": "", "misfires": ""},
    "turn.overfit.batch": {"says": "identity of the batch that is handed out",
                           "unit": "hash", "threshold": "", "source": "", "misfires": ""},
    "turn.overfit.mode": {"says": "mode of the module that was called with it",
                          "unit": "train, eval", "threshold": "", "source": "", "misfires": ""},
    "turn.skip": {"says": "one batch of the DataLoader that trains is passed over",
                  "unit": "applied, or why not", "threshold": "", "source": "", "misfires": ""},
    "turn.skip.times": {"says": "batches passed over", "unit": "batches", "threshold": "", "source": "", "misfires": ""},
    "turn.shuffle_labels": {"says": "the labels of each batch are permuted among its rows",
                            "unit": "applied, or why not", "threshold": "", "source": "", "misfires": ""},
    "turn.shuffle_labels.times": {"says": "batches changed so", "unit": "batches", "threshold": "", "source": "", "misfires": ""},
    "turn.seed": {"says": "random, numpy and torch begin with this seed, and what the program seeds is moved along with it",
                  "unit": "applied, or why not", "threshold": "", "source": "",
                  "misfires": "numpy's RandomState and scikit-learn's random_state are left as they are"},
    "turn.seed.times": {"says": "seedings, our own at the start among them",
                        "unit": "calls", "threshold": "", "source": "", "misfires": ""},
    "turn.deterministic": {"says": "torch uses its deterministic algorithms, and warns where it has none",
                           "unit": "applied, or why not", "threshold": "", "source": "", "misfires": ""},
    "turn.deterministic.times": {"says": "processes set so", "unit": "count", "threshold": "", "source": "", "misfires": ""},
    "turn.threads": {"says": "torch and the libraries below it compute with so many threads",
                     "unit": "applied, or why not", "threshold": "", "source": "", "misfires": ""},
    "turn.threads.times": {"says": "settings of torch's thread count", "unit": "calls", "threshold": "", "source": "", "misfires": ""},
    "turn.device": {"says": "what is meant for an accelerator goes to the CPU",
                    "unit": "applied, or why not", "threshold": "", "source": "", "misfires": ""},
    "turn.device.times": {"says": "calls that named an accelerator, or asked whether there is one",
                          "unit": "calls", "threshold": "", "source": "", "misfires": ""},
    "turn.steps": {"says": "optimizer steps that the process completed", "unit": "steps", "threshold": "", "source": "", "misfires": ""},
}  # fmt: skip


class Turn:
    """One changed condition, and what became of it."""

    def __init__(self, name: str, value: str) -> None:
        self.name, self.value = name, value
        self.state, self.times, self.where = "never met", 0, ("", "")
        self.more: dict[str, Any] = {}

    def met(self, **more: Any) -> None:
        """It has just changed something."""
        if self.state.startswith("failed"):
            return
        if not self.times:
            self.where = report.here()
        self.state, self.times = "applied", self.times + 1
        self.more.update({f"turn.{self.name}.{name}": value for name, value in more.items()})
        self.tell()

    def not_for(self, why: str) -> None:
        """It met something that it can't or need not change; it stands unless it changes something else."""
        if not self.times:
            self.state = why
            self.tell()

    def fail(self, error: BaseException) -> None:
        """It is not known any more what runs: whoever reads this can't count on the turn."""
        self.state, self.times = f"failed: {type(error).__name__}: {str(error)[:200]}", max(self.times, 1)
        self.tell()

    def tell(self) -> None:
        facts = {f"turn.{self.name}": self.state, f"turn.{self.name}.times": self.times, **self.more}
        report.fact("turns", self.name, facts, self.where)

    def forked(self) -> None:
        """A child inherits the seam, not what happened at it."""
        self.state, self.times, self.where, self.more = "never met", 0, ("", ""), {}


def install() -> None:
    turns = [Turn(*part.partition("=")[::2]) for part in os.environ.get("BITTEN_TURNS", "").split(";") if part]
    if os.environ.get("BITTEN_COPY") == "1":
        for turn in turns:
            _put_in_place(turn)
    else:
        for turn in turns:
            turn.state = "refused: only in a throw-away copy"
    bus.listen("turns", end=lambda: _last_words(turns), forked=lambda: _forked(turns))


def _forked(turns: list[Turn]) -> None:
    for turn in turns:
        turn.forked()


def _put_in_place(turn: Turn) -> None:
    part = PARTS.get(turn.name)
    try:
        if part is None:
            raise ValueError("there is no such turn")
        getattr(hook.load("_bitten_probes.turns_" + part), turn.name)(turn)
    except Exception as error:  # the others are put in place, and this one is told of
        turn.fail(error)


def _last_words(turns: list[Turn]) -> None:
    for turn in turns:
        turn.tell()
    if "torch" in sys.modules:
        report.fact("turns", "steps", {"turn.steps": bus.Now.step})


# ---------------------------------------------------------------------------------------------- seams


def around(owner: Any, name: str, changed: Callable[[Any, Any, Any], Any]) -> None:
    """`changed(call, args, kwargs)` is called in place of a function or method."""
    import functools  # noqa: PLC0415 - loaded by whatever framework this is

    call = owner.__dict__[name] if isinstance(owner, type) else getattr(owner, name)

    @functools.wraps(call)
    def turned(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        return changed(call, args, kwargs)

    setattr(owner, name, turned)


def arguments(turn: Turn, owner: Any, name: str, change: Callable[[Any, Any], Any]) -> None:
    """A function gets what `change(args, kwargs)` makes of its arguments."""
    around(owner, name, lambda call, args, kwargs: _called(call, *(tried(turn, change, args, kwargs) or (args, kwargs))))


def listen(turn: Turn, **moments: Callable[..., Any]) -> None:
    """As `bus.listen`; what fails is this turn, and no other is taken out with it."""
    for name, call in moments.items():
        bus.listen("turns", **{name: _telling(turn, call)})


def _telling(turn: Turn, call: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args: tried(turn, call, *args)


def answers(turn: Turn, owner: Any, name: str, change: Callable[[Any, Any], Any]) -> None:
    """A function's caller gets what `change(out, args)` makes of its answer."""

    def changed(call: Any, args: Any, kwargs: Any) -> Any:
        out = call(*args, **kwargs)
        made = tried(turn, lambda: (change(out, args),))
        return out if made is None else made[0]

    around(owner, name, changed)


def _called(call: Any, args: Any, kwargs: Any) -> Any:
    return call(*args, **kwargs)


def tried(turn: Turn, change: Callable[..., Any], *given: Any) -> Any:
    try:
        return change(*given)
    except Exception as error:  # the program goes on as it would without us, and the turn says so
        turn.fail(error)
        return None

