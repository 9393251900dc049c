"""What other tools say of the same programs. Each is armed as its own pages say, on every model and optimizer; none knows the truth.

A peer runs in a fork that has imported it already, so a row takes no longer than its program. Where a tool has to be handed a tensor, it is
handed the loss, or the first bad gradient: a person would do no better.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import os
import re
import signal
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Told:
    """What a tool said first; a step of -1 is that it said nothing."""

    step: int = -1
    line: str = ""
    module: str = ""
    says: str = ""


class Seen(Exception):  # noqa: N818  it is an answer, no error
    def __init__(self, told: Told) -> None:
        self.told = told


@dataclass
class Scene:
    """What a user would have at hand: how many steps are done, the models called from outside of any other, the optimizers."""

    done: Counter[int] = field(default_factory=Counter)
    depth: int = 0
    roots: dict[int, nn.Module] = field(default_factory=dict)
    optimizers: list[torch.optim.Optimizer] = field(default_factory=list)
    names: dict[int, str] = field(default_factory=dict)
    met: Callable[[nn.Module], None] = lambda root: None

    def enter(self, module: nn.Module, _: object) -> None:
        if self.depth == 0 and id(module) not in self.roots and not isinstance(module, nn.modules.loss._Loss):
            self.roots[id(module)] = module
            self.names.update((id(each), name) for name, each in module.named_modules())
            self.met(module)
        self.depth += 1

    def leave(self, *_: object) -> None:
        self.depth -= 1

    def stepped(self, optimizer: object, *_: object) -> None:
        self.done[id(optimizer)] += 1

    @property
    def steps(self) -> int:
        return max(self.done.values(), default=0)


def watched() -> Scene:
    scene = Scene()
    made = torch.optim.Optimizer.__init__

    def noted(self: torch.optim.Optimizer, *args: Any, **named: Any) -> None:
        made(self, *args, **named)
        scene.optimizers.append(self)
    torch.optim.Optimizer.__init__ = noted  # type: ignore[method-assign]
    register_module_forward_pre_hook(scene.enter)
    register_module_forward_hook(scene.leave, always_call=True)
    register_optimizer_step_post_hook(scene.stepped)
    return scene


def place(text: str) -> str:
    """The last line of the programs' own that a text names."""
    found = re.findall(r"(?:benchmarks/faults/(\w+\.py))(?:\", line |:)(\d+)", text)
    return f"benchmarks/faults/{found[-1][0]}:{found[-1][1]}" if found else ""


def detect_anomaly(program: Callable[[], None], scene: Scene) -> Told:
    with warnings.catch_warnings(record=True) as warned, torch.autograd.detect_anomaly():
        warnings.simplefilter("always")
        try:
            program()
        except RuntimeError as error:
            traces = [str(each.message) for each in warned if "Traceback" in str(each.message)]
            return Told(scene.steps, place(traces[-1] if traces else ""), "", str(error))
    return Told()


def underflow_overflow(program: Callable[[], None], scene: Scene) -> Told:
    from transformers.debug_utils import DebugUnderflowOverflow  # noqa: PLC0415  an optional peer

    scene.met = lambda root: DebugUnderflowOverflow(root, max_frames_to_save=3) and None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        try:
            program()
        except ValueError as error:
            named = re.findall(r"^\s+([a-zA-Z_][\w.]*|) [A-Z]\w+$", printed.getvalue(), re.MULTILINE)
            return Told(scene.steps, "", named[-1] if named else "", str(error))
    return Told()


def forward_hook(program: Callable[[], None], scene: Scene) -> Told:
    def look(module: nn.Module, _: object, out: object) -> None:
        if isinstance(out, Tensor) and out.is_floating_point() and not torch.isfinite(out).all():
            raise Seen(Told(scene.steps, "", scene.names.get(id(module), ""), type(module).__name__))
    register_module_forward_hook(look)
    return until_seen(program)


def sherlorch(program: Callable[[], None], scene: Scene) -> Told:
    import sherlorch  # noqa: PLC0415  an optional peer

    def bad(tensor: Tensor | None) -> bool:
        return tensor is not None and not torch.isfinite(tensor).all()

    with sherlorch.trace(capture_stack=True) as tracker:
        def ask(tensor: Tensor) -> None:
            culprits = tracker.diagnose(tensor).culprits
            raise Seen(Told(scene.steps, place(str(culprits[0])), "", str(culprits[0])) if culprits else Told(scene.steps))

        def before_backward(loss: Tensor, *args: Any, **named: Any) -> None:
            if bad(loss):
                ask(loss)
            backward(loss, *args, **named)

        def before_step(optimizer: torch.optim.Optimizer, *_: object) -> None:
            grads = [each.grad for group in optimizer.param_groups for each in group["params"]]
            for each in filter(bad, grads):
                ask(each)
            tracker.reset()

        backward, torch.Tensor.backward = torch.Tensor.backward, before_backward  # type: ignore[method-assign,assignment]
        register_optimizer_step_pre_hook(before_step)
        scene.met = tracker.watch
        return until_seen(program)


def torch_audit(program: Callable[[], None], scene: Scene) -> Told:
    from torch_audit import autopatch  # noqa: PLC0415  an optional peer

    audits = []

    def met(root: nn.Module) -> None:
        own = {id(each) for each in root.parameters()}
        mine = [each for each in scene.optimizers if any(id(p) in own for group in each.param_groups for p in group["params"])]
        audits.append(autopatch(root, optimizer=mine[0] if mine else None, every_n_steps=1, reporters=[]))
    scene.met = met
    program()
    found = [each for audit in audits for each in audit.finish(report=False).findings if each.rule_id in {"TA100", "TA301", "TA305"}]
    first = min(found, key=lambda each: (each.step, each.rule_id), default=None)
    if not first:
        return Told()
    return Told(first.step, "", first.module_path or "", "; ".join(each.message for each in found if each.step == first.step))


def until_seen(program: Callable[[], None]) -> Told:
    try:
        program()
    except Seen as seen:
        return seen.told
    return Told()


PEERS = {
    "detect_anomaly": ("torch", detect_anomaly),
    "DebugUnderflowOverflow": ("transformers", underflow_overflow),
    "forward hook": ("torch", forward_hook),
    "sherlorch": ("sherlorch", sherlorch),
    "torch-audit": ("torch_audit", torch_audit),
}


def installed() -> Iterator[str]:
    for name, (package, _) in PEERS.items():
        if importlib.util.find_spec(package):
            importlib.import_module("transformers.debug_utils" if package == "transformers" else package)
            yield name


def told_by(name: str, program: Callable[[], None]) -> Told:
    """What a peer said, out of a fork; a peer that fails says so in its place."""
    mine, theirs = os.pipe()
    child = os.fork()
    if not child:
        os.close(mine)
        os.write(theirs, json.dumps(asdict(_in_fork(PEERS[name][1], program))).encode())
        os._exit(0)
    os.close(theirs)
    with os.fdopen(mine, "rb") as answer:
        heard = answer.read()
    os.waitpid(child, 0)
    return Told(**json.loads(heard)) if heard else Told(says="died")


def _in_fork(peer: Callable[[Callable[[], None], Scene], Told], program: Callable[[], None]) -> Told:
    torch.manual_seed(0)
    torch.set_num_threads(1)
    torch.multiprocessing.spawn = _second_of_two  # type: ignore[assignment]
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            return peer(program, watched())
    except BaseException as error:  # the fork has to answer whatever a peer raises
        return Told(says=f"{type(error).__name__}: {error}"[:500])


def _second_of_two(function: Callable[..., None], args: tuple[object, ...], nprocs: int) -> None:
    """The rank that holds the fault runs here, with the tool; the other in a fork of its own."""
    other = os.fork()
    if not other:
        try:
            function(0, *args)
        finally:
            os._exit(0)
    try:
        function(1, *args)
    finally:
        os.kill(other, signal.SIGKILL)
        os.waitpid(other, 0)
