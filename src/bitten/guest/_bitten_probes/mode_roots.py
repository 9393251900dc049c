"""What each outermost module went through: its calls by mode and gradient, its optimizer steps by mode, its switches and loads.

Only of modules with dropout or batch normalisation inside; others are passed by. Judges one thing at once: steps left in eval mode.
"""

from __future__ import annotations

import sys
import weakref

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]
weakly: Any = hook.load("_bitten_probes.weakly")
bus: Any = hook.load("_bitten_probes.bus")
report: Any = hook.load("_bitten_probes.report")
patches: Any = hook.load("_bitten_patches")
frames: Any = hook.load("_bitten_frames")
outputs: Any = hook.load("_bitten_probes.root_outputs")

LEFT = 2
MOST_LAYERS = 64
MOST_BLOCKS = 8
MOST_LINES = 100
MOST_ROOTS = 100
NOWHERE = ("", "")
NEVER: tuple[int, bool | None, tuple[str, str]] = (0, None, NOWHERE)


class Root:
    """One module, and its story. A `block` is a run of calls without gradient and in train mode, between steps on the module."""

    def __init__(self, module: Any) -> None:
        self.kind = type(module).__name__
        self.layers, self.depends = _dependent(module)
        self.owners: Any = weakly.Keys()
        self.training: bool | None = None
        self.switch: dict[bool, tuple[str, str]] = {True: NOWHERE, False: NOWHERE}
        self.own_switch: tuple[int, tuple[int, bool | None, tuple[str, str]]] = (0, NEVER)
        self.loaded = NOWHERE
        self.pending: bool | None = None
        self.was_evaluated = False  # in eval mode, since it was switched to it
        self.steps = {True: 0, False: 0}
        self.left = 0
        self.is_told = False
        self.calls = {True: 0, False: 0}  # without gradient
        self.seen_backwards = 0
        self.batch_of_one = 0
        self.is_one = False
        self.loader = NOWHERE
        self.training_lines: set[str] = set()  # switches to train mode that steps followed
        self.block: Block | None = None
        self.late: Block | None = None  # a call with gradient from a line that no training came from, which nobody asked a gradient of yet
        self.trained_from: set[tuple[Any, int]] = set()
        self.called_from: tuple[Any, int] | None = None
        self.blocks: list[Block] = []
        self.closed = 0


class Block:
    """`names` are those of the person's functions around; `is_asked`: train() was called on a line that no training came from."""

    def __init__(self, where: tuple[str, str], names: list[str], is_asked: bool) -> None:
        self.where, self.names, self.is_asked = where, names, is_asked
        self.calls, self.repeats, self.is_judged = 0, 0, False
        self.backwards = Now.backwards
        self.began = self.seen = Now.steps
        self.turns = 0  # how often steps of others came between two calls
        self.has_gradient = bool(sys.modules["torch"].is_grad_enabled())
        self.given: Any = None


_roots: Any = weakly.Keys()
_stories: list[Root] = []
"""Of modules that are gone, too."""
_loads: Any = weakly.Keys()
_switched: Any = weakly.Keys()
_last: dict[bool, tuple[str, str]] = {True: NOWHERE, False: NOWHERE}
_tell: list[Callable[..., None]] = []


class Now:
    steps = 0
    backwards = 0
    switches = 0
    loader: Any = None
    """That of the last batch, by a weak reference."""


def install(tell: Callable[..., None]) -> None:
    _tell.append(tell)
    patches.on_import("torch", _torch)
    bus.listen("mode", root_pre=_root_pre, root_failed=_root_failed, backward=_backward, step_post=_step_post, batch=_batch)


def _torch(torch: Any) -> None:
    bus.wrap("mode", torch.nn.Module, "load_state_dict", None, lambda kept, args, kwargs, out: _note_load(args[0]))
    bus.wrap("mode", torch, "load", None, lambda kept, args, kwargs, out: _note_load(out))


def _note_load(module: Any) -> None:
    if isinstance(module, sys.modules["torch"].nn.Module):
        _loads[outputs.unwrapped(module)] = report.here()


def forget() -> None:
    for each in (_roots, _loads, _switched, _stories):
        each.clear()
    Now.steps = Now.backwards = 0


def stories() -> list[Root]:
    return _stories


def _dependent(module: Any) -> tuple[list[Any], list[str]]:
    """Weak references to its layers that work otherwise in training, and what kinds they are."""
    nn = sys.modules["torch"].nn
    dropout, norm = nn.modules.dropout._DropoutNd, nn.modules.batchnorm._NormBase
    layers = [each for each in module.modules() if (isinstance(each, dropout) and each.p > 0) or
              (isinstance(each, norm) and "Batch" in type(each).__name__)]  # fmt: skip
    kinds = {"dropout" if isinstance(each, dropout) else "normalisation" for each in layers}
    return [weakref.ref(each) for each in layers[:MOST_LAYERS]], sorted(kinds)


# ---------------------------------------------------------------------------------------------- switches


def switched(module: Any, training: bool, where: tuple[str, str]) -> None:
    Now.switches += 1
    _last[training] = where
    _switched[outputs.unwrapped(module)] = (Now.switches, training, where)


def _line_of_switch(root: Root, module: Any, training: bool) -> tuple[str, str]:
    """Of its last switch, if that was to this mode."""
    number, found = root.own_switch
    if number != Now.switches:
        found = _last_switch(module)
        root.own_switch = (Now.switches, found)
    return found[2] if found[1] == training else NOWHERE


def _last_switch(module: Any) -> tuple[int, bool | None, tuple[str, str]]:
    """Of the module itself, or of one that it is a part of."""
    newest: tuple[int, bool | None, tuple[str, str]] = _switched.get(module, NEVER)
    for parent, switch in list(_switched.items()):
        if switch[0] > newest[0] and any(each is module for each in parent.modules()):
            newest = switch
    return newest


# ---------------------------------------------------------------------------------------------- calls


def _root_pre(module: Any, args: Any) -> None:
    module = outputs.unwrapped(module)
    root = _roots.get(module) or _new(module)
    if not root.layers:
        return
    training = module.training
    if training != root.training:
        _note_switch(root, module, training)
    if sys.modules["torch"].is_grad_enabled():
        _note_training(root, module, args, training)
    else:
        root.calls[training] += 1
        if training:
            _note_call(root, module, args)
        else:
            root.was_evaluated = True


def _new(module: Any) -> Root:
    root = _roots[module] = Root(module)
    if root.layers and len(_stories) < MOST_ROOTS:
        _stories.append(root)
    return root


def _note_training(root: Root, module: Any, args: Any, training: bool) -> None:
    """Perhaps: a call with gradient after another that no backward followed was none."""
    if not training and root.pending is False and root.seen_backwards == Now.backwards:
        root.was_evaluated = True
    root.pending, root.seen_backwards = training, Now.backwards
    root.late = None
    if training:
        frame = report.user_frame(sys._getframe(2))
        root.called_from = (frame.f_code, frame.f_lineno) if frame is not None else None
        if root.steps[True] and root.called_from not in root.trained_from and _is_live(root):
            root.late = _begin(root, module)
            root.late.calls = 1
    root.is_one = training and "normalisation" in root.depends and _is_one(args)
    if root.left >= LEFT and not root.is_told and not training:
        tell_left(root, report.here())
    if training and Now.steps == 0 and Now.backwards == 0:
        _note_call(root, module, args)


def _batch(iterator: Any, loader: Any, data: Any) -> None:
    if loader is not None and (Now.loader is None or Now.loader() is not loader):
        Now.loader = weakref.ref(loader)


def loader_line() -> tuple[str, str]:
    """Where the loader of the last batch was made."""
    place: tuple[str, str] = bus.birthplace(Now.loader()) if Now.loader is not None else NOWHERE
    return place


def _root_failed(module: Any) -> None:
    """torch refuses to normalise a batch of one value a channel in training: who cut such a batch is the loader."""
    root = _roots.get(outputs.unwrapped(module))
    if root is not None and root.is_one and isinstance(sys.exc_info()[1], ValueError):
        call, made = report.here(), loader_line()
        says = f"{root.kind} has batch normalisation and was called in train mode on a batch of one sample, and failed."
        facts = {**facts_of(root), "mode.batch_of_one": 1}
        if made[0]:
            facts["also"] = [call[0]]
        _tell[0]("batch_of_one", says, facts, made if made[0] else call)


def _note_switch(root: Root, module: Any, training: bool) -> None:
    where = _line_of_switch(root, module, training)
    if where[0] or root.training is not None:
        root.switch[training] = where if where[0] else _last[training]
    root.training, root.was_evaluated = training, False


def _note_call(root: Root, module: Any, args: Any) -> None:
    """In train mode, though perhaps an evaluation. The lines of its callers are read once a block."""
    if not _is_live(root):
        return
    if root.block is None:
        root.block = _begin(root, module)
        root.loaded = _load_of(module)
    block = root.block
    block.calls += 1
    if block.seen != Now.steps:
        block.seen, block.turns = Now.steps, block.turns + 1
    tensor = next((each for each in args if outputs.is_plain(each)), None)
    if tensor is not None:
        same = (outputs.storage(tensor), tensor.storage_offset(), tuple(tensor.shape))
        block.repeats += block.given is not None and block.given[0] == same
        block.given = (same, outputs.weak(tensor))


def _begin(root: Root, module: Any) -> Block:
    asked = _line_of_switch(root, module, True)[0]
    return Block(report.here(), _callers(), bool(asked) and asked not in root.training_lines)


def _is_live(root: Root) -> bool:
    return any(getattr(layer(), "training", False) for layer in root.layers)


def _is_one(args: Any) -> bool:
    tensor = args[0] if args else None
    return bool(outputs.is_plain(tensor) and tensor.dim() > 1 and tensor.shape[0] == 1)  # type: ignore[union-attr]


def _callers() -> list[str]:
    """The person's functions around this call, with their classes."""
    names: list[str] = []
    frame = report.user_frame(sys._getframe(1))
    while frame is not None and len(names) < 6:
        names.append(frames.full_name(frame))
        frame = report.user_frame(frame.f_back)
    return names


def _load_of(module: Any) -> tuple[str, str]:
    """Where its weights, or its largest part's, were loaded."""
    for each in (module, *module.children()):
        if each in _loads:
            found: tuple[str, str] = _loads[each]
            return found
    return NOWHERE


def judged(module: Any, has_gradient: bool) -> None:
    """Something was decided on a module's outputs."""
    root = _roots.get(module) if module is not None else None
    if root is None or not root.layers:
        return
    if not has_gradient:
        if root.block is not None and root.training:
            root.block.is_judged = True
    elif root.late is not None:
        root.late.is_judged = True


# ---------------------------------------------------------------------------------------------- steps


def _backward(tensors: Any) -> None:
    Now.backwards += 1


def _step_post(optimizer: Any, number: int) -> None:
    Now.steps += 1
    for module, root in list(_roots.items()):
        if root.layers and (root.pending is not None or root.block is not None) and _owns(optimizer, module, root):
            _note_step(root, module)


def _owns(optimizer: Any, module: Any, root: Root) -> bool:
    known = root.owners.get(optimizer)
    if known is None:
        mine = {id(each) for each in module.parameters()}
        known = root.owners[optimizer] = any(id(each) in mine for group in optimizer.param_groups for each in group["params"])
    return bool(known)


def _note_step(root: Root, module: Any) -> None:
    root.late = None
    if root.block is not None:
        _close(root)
    if root.pending is None:
        return
    training, root.pending = root.pending, None
    root.steps[training] += 1
    if training:
        if root.called_from is not None and len(root.trained_from) < MOST_LINES:
            root.trained_from.add(root.called_from)
        root.training_lines.add(_line_of_switch(root, module, True)[0])
        if root.is_one:
            root.batch_of_one += 1
            root.loader = loader_line()
    elif root.steps[True] and root.was_evaluated and not _is_live(root):
        root.left += 1


def _close(root: Root) -> None:
    """The calls of this block were followed by a step. What came before the first step was no evaluation of anything learnt."""
    block, root.block = root.block, None
    if block is not None and root.steps[True] + root.steps[False]:
        root.closed += 1
        if len(root.blocks) < MOST_BLOCKS:
            block.given = None
            root.blocks.append(block)


def tell_left(root: Root, call: tuple[str, str]) -> None:
    root.is_told = True
    says = (
        f"{root.kind} was trained in train mode, then switched to eval mode for an evaluation and not back: {root.left} steps since were "
        f"made with its {' and '.join(root.depends)} as in evaluation."
    )
    where = root.switch[False] if root.switch[False][0] else call
    _tell[0]("left_in_eval", says, {**facts_of(root), "also": [call[0]] if call[0] else []}, where)


def facts_of(root: Root) -> dict[str, Any]:
    return {
        "mode.root": root.kind, "mode.depends": root.depends, "mode.steps_in_train": root.steps[True],
        "mode.steps_in_eval": root.steps[False], "mode.steps_left_in_eval": root.left, "mode.evaluated_in_train": root.calls[True],
        "mode.evaluated_in_eval": root.calls[False],
    }  # fmt: skip
