"""Where weights came from and whether they arrived: each load's names, each state that is no copy, and what a model was first called with.

A state is known to be no copy by its tensors, which are the module's own memory; when it was taken, by the call of `state_dict` that gave
them. Weights copied in by a loop are not followed, and of FSDP's states only the names are seen.
"""

from __future__ import annotations

import sys
import weakref

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]
bus: Any = hook.load("_bitten_probes.bus")
report: Any = hook.load("_bitten_probes.report")
patches: Any = hook.load("_bitten_patches")
fingerprint: Any = hook.load("_bitten_probes.fingerprint")
held: Any = hook.load("_bitten_probes.held")
loads: Any = hook.load("_bitten_probes.loads")
matching: Any = hook.load("_bitten_probes.matching")

FACTS = {
    "weights.loads": {"says": "calls of load_state_dict on modules", "unit": "calls", "threshold": "", "source": "", "misfires": ""},
    "weights.path": {"says": "the file that torch.load read last before", "unit": "", "threshold": "", "source": "", "misfires": ""},
    "weights.matched": {
        "says": "share of the module's tensors that the state had, by name and shape",
        "unit": "share",
        "threshold": "0; or below a half on both sides where a prefix explains it",
        "source": "ours, after torchgeo #4036",
        "misfires": "a state that was meant for another part",
    },
    "weights.used": {
        "says": "share of the state's tensors that the module took",
        "unit": "share",
        "threshold": "",
        "source": "",
        "misfires": "",
    },
    "weights.changed": {
        "says": "share of the matched tensors whose values the load changed",
        "unit": "share",
        "threshold": "",
        "source": "",
        "misfires": "a sample of 64 values a tensor",
    },
    "weights.missing": {
        "says": "tensors of the module that the state lacked",
        "unit": "tensors",
        "threshold": "",
        "source": "",
        "misfires": "",
    },
    "weights.unexpected": {
        "says": "tensors of the state that the module lacks",
        "unit": "tensors",
        "threshold": "",
        "source": "",
        "misfires": "",
    },
    "weights.prefix": {
        "says": "the prefix that keeps names apart: with - the state's have it, with + they lack it",
        "unit": "",
        "threshold": "",
        "source": "",
        "misfires": "",
    },
    "weights.aliased": {
        "says": "what was loaded or saved is the module's own memory, taken before later steps",
        "unit": "steps since then",
        "threshold": "1",
        "source": "ours",
        "misfires": "a state that is meant to follow the model",
    },
    "weights.unrestored": {
        "says": "what a checkpoint had beside the weights and nobody loaded: optimizer, scheduler",
        "unit": "",
        "threshold": "any (hint)",
        "source": "ours",
        "misfires": "fine-tuning from a checkpoint, which starts anew on purpose",
    },
    "weights.largest": {
        "says": "the largest absolute weight at a model's first call",
        "unit": "",
        "threshold": "1e10, or 1e4 (hint)",
        "source": "ours, after transformers #28073 (values of 1e37)",
        "misfires": "quantised weights with large scales",
    },
    "weights.hash": {
        "says": "hash of all weights and buffers at the first call of a model that was never trained here",
        "unit": "",
        "threshold": "",
        "source": "",
        "misfires": "",
    },
    "weights.root": {"says": "the type of that model", "unit": "", "threshold": "", "source": "", "misfires": ""},
}

MOST = 20
MARKS = 20_000
SAMPLE = 64
HUGE, LARGE = 1e10, 1e4
HASHED = 256 << 20  # bytes
HALF = 0.5
FEW = 5


class File:
    """What a torch.load gave: its names, with a sample of a few, for weights that a loop copies."""

    def __init__(self, path: str, extras: tuple[str, ...], where: tuple[str, str]) -> None:
        self.path, self.extras, self.read, self.where, self.is_used = path, extras, where, ("", ""), False
        self.shapes: dict[str, Any] = {}
        self.samples: dict[str, Any] = {}
        self.prefix = self.missed = ""


class Taken:
    """A call of `state_dict`."""

    def __init__(self, module: Any, name: str, where: tuple[str, str], step: int) -> None:
        self.module, self.name, self.where, self.step = weakref.ref(module), name, where, step

    def is_own(self, tensor: Any) -> bool:
        """Whether it is still the module's memory, which `to` may have moved elsewhere."""
        module = self.module()
        own = dict(module.named_parameters()).get(self.name) if module is not None else None
        return own is not None and _is_same_memory(own, tensor)


class Here:
    """This process: what was loaded last, and what it was first served with."""

    loads = steps = 0
    path = ""
    sample: Any = None
    is_own = False
    served: Any = None
    restored: set[str] = set()  # noqa: RUF012 - of one process


_files: list[File] = []
_from_file: Any = held.Weak(MARKS)
_taken: Any = held.Weak(MARKS)
_refreshed: dict[tuple[str, str], set[int]] = {}
_called: Any = held.Weak(8)


def install() -> None:
    loads.listen("weights", load=_file_read, loading=_loading, loaded=_loaded)
    patches.on_import("torch", _torch)
    patches.on_import(
        "torch.optim.lr_scheduler",
        lambda module: _restores(
            [kind for kind in vars(module).values() if isinstance(kind, type) and kind.__module__ == module.__name__], "scheduler"
        ),
    )
    bus.listen("weights", root_pre=_first_call, step_post=_step_post, forked=_forked, end=_end)


def _forked() -> None:
    Here.loads = Here.steps = 0
    Here.path, Here.sample, Here.is_own, Here.served = "", None, False, None
    for each in (Here.restored, _files, _from_file, _taken, _refreshed, _called):
        each.clear()


def _step_post(optimizer: Any, number: int) -> None:
    """Of all optimizers: a new one each epoch begins its own count anew."""
    Here.steps += 1


def _torch(torch: Any) -> None:
    bus.wrap("weights", torch.nn.Module, "state_dict", None, _state_given)
    for owner in (torch, sys.modules["torch.serialization"]):
        bus.wrap("weights", owner, "save", _saving)
    _restores([torch.optim.Optimizer], "optimizer")


def _restores(kinds: list[type], name: str) -> None:
    for kind in kinds:
        if "load_state_dict" in vars(kind):
            bus.wrap("weights", kind, "load_state_dict", lambda args, kwargs: Here.restored.add(name))


def _tensors(nest: Any, depth: int = 3) -> Iterator[Any]:
    """At most so many of a nest of dicts and lists."""
    if fingerprint.is_tensor(nest):
        yield nest
    elif depth and isinstance(nest, (dict, list, tuple)):
        for each in list(nest.values() if isinstance(nest, dict) else nest)[:5000]:
            yield from _tensors(each, depth - 1)


# ---------------------------------------------------------------------------------------------- files


def _file_read(given: Any, out: Any) -> None:
    if len(_files) < MOST and isinstance(out, (dict, list, tuple)):
        name = getattr(given, "name", given) if not hasattr(given, "__fspath__") else given
        Here.path = str(name) if isinstance(name, str) or hasattr(name, "__fspath__") else ""
        file = File(Here.path, tuple(_extras(out)) if isinstance(out, dict) else (), report.line(sys._getframe(1)))
        _files.append(file)
        state = next((each for each in _states(out) if each), {})
        file.shapes = {str(name): tuple(each.shape) for name, each in list(state.items())[:5000]}
        file.samples = _sampled({str(name): each for name, each in state.items() if each.dim() > 1 and each.is_floating_point()}, FEW)
        for each in _tensors(out):
            _from_file.put(each, file)


def _states(out: Any) -> Iterator[dict[Any, Any]]:
    """The tensors by name: of the file itself, and of what lies in it."""
    if isinstance(out, dict):
        for each in (out, *list(out.values())[:100]):
            if isinstance(each, dict):
                yield {name: value for name, value in each.items() if type(name) is str and fingerprint.is_tensor(value)}


def _extras(out: dict[Any, Any]) -> Iterator[str]:
    """What lies beside the weights, by its shape."""
    for each in list(out.values())[:100]:
        if isinstance(each, dict) and "param_groups" in each and "state" in each:
            yield "optimizer"
        elif isinstance(each, dict) and "last_epoch" in each:
            yield "scheduler"


# ---------------------------------------------------------------------------------------------- states


def _state_given(kept: Any, args: Any, kwargs: Any, out: Any) -> None:
    """The outermost module's: for those below it, torch gives the dict to fill."""
    if len(args) > 1 or "destination" in kwargs or not isinstance(out, dict):
        return
    where = report.line(sys._getframe(1))
    if len(_refreshed) < MOST or where in _refreshed:
        _refreshed.setdefault(where, set()).add(min(Here.steps, 1 + len(_refreshed.get(where, ()))))
    for name, each in list(out.items())[:3]:
        if fingerprint.is_tensor(each):
            _taken.put(each, Taken(args[0], name, where, Here.steps))


def _taken_at(state: Any) -> tuple[Any, Taken | None]:
    """The first tensor of it that a call of `state_dict` gave."""
    return next(((each, found) for each in _tensors(state) for found in (_taken.get(each),) if found is not None), (None, None))


def _saving(args: Any, kwargs: Any) -> None:
    """A state that was taken, trained over, and then saved: where it is taken again and again, it is meant to be the best."""
    tensor, taken = _taken_at(args[0] if args else kwargs.get("obj"))
    if taken is None or taken.step >= Here.steps or not taken.is_own(tensor):
        return
    here, later = report.line(sys._getframe(1)), Here.steps - taken.step
    facts = {"weights.aliased": later, "also": [here[0]]}
    tell = report.finding if len(_refreshed.get(taken.where, ())) > 1 else report.hint
    tell(
        "weights",
        f"saved {taken.where[0]}",
        f"A state is saved that was taken {later} steps before and is no copy: what is saved are the weights of now",
        facts,
        taken.where,
    )


# ---------------------------------------------------------------------------------------------- loads


def _own(module: Any) -> dict[str, Any]:
    """What its state has: buffers that are not kept with it are none of that."""
    passing = {
        f"{path}.{name}".lstrip(".")
        for path, each in module.named_modules(remove_duplicate=False)
        for name in getattr(each, "_non_persistent_buffers_set", ())
    }
    buffers = {name: each for name, each in module.named_buffers(remove_duplicate=False) if name not in passing}
    return {**dict(module.named_parameters(remove_duplicate=False)), **buffers}


def _sampled(own: dict[str, Any], most: int = 1000) -> dict[str, Any]:
    chosen = [(name, each) for name, each in list(own.items())[:most] if held.is_plain(each)]
    return {name: each.detach().reshape(-1)[:SAMPLE].clone() for name, each in chosen}


def _loading(module: Any, state: Any, where: tuple[str, str]) -> None:
    own = _own(module)
    Here.sample = _sampled(own)
    same = [name for name, each in own.items() if name in state and _is_same_memory(each, state[name])]
    Here.is_own = bool(same) and len(same) == len([name for name in own if name in state])
    if Here.is_own:
        _judge_own(state, where)
    for each in _tensors(state):
        file = _from_file.get(each)
        if file is not None:
            file.is_used, file.where = True, where


def _is_same_memory(one: Any, other: Any) -> bool:
    return bool(fingerprint.is_tensor(other) and one.numel() and held.is_plain(one) and held.is_plain(other)
                and one.data_ptr() == other.data_ptr())


def _judge_own(state: Any, where: tuple[str, str]) -> None:
    """Every tensor of the state is the module's own."""
    (_, taken), now = _taken_at(state), Here.steps
    unused = [file for file in _files if not file.is_used]
    if (taken is None and now) or (taken is not None and taken.step < now):
        later = now - taken.step if taken is not None else now
        says = (
            "it was taken " + (f"{later} steps before and " if taken is not None else "") + "is no copy, so it has changed with the model"
        )
        place = taken.where if taken is not None and taken.where[0] else where
        report.finding(
            "weights",
            f"aliased {place[0]}",
            f"The state that is loaded is the model's own memory: {says}, and the load restores nothing",
            {"weights.aliased": later, "also": [where[0]]},
            place,
        )
    elif unused:
        report.finding(
            "weights",
            f"own {where[0]}",
            f"The state that is loaded is the model's own: nothing of {unused[-1].path or 'the file'}, which was read before, is in it",
            {"weights.matched": 0.0, "weights.path": unused[-1].path},
            where,
        )


def _loaded(module: Any, state: Any, where: tuple[str, str], answer: Any) -> None:
    sample, Here.sample = Here.sample, None
    own = _own(module)
    match = matching.Match(
        {name: tuple(each.shape) for name, each in own.items()},
        {str(name): tuple(each.shape) for name, each in state.items() if fingerprint.is_tensor(each)},
    )
    Here.loads += 1
    if Here.is_own or (not match.both and loads.lacks_nothing(answer)):
        return
    prefix = match.prefix() if match.of_own < HALF and match.of_state < HALF else ""
    facts = {
        "weights.loads": Here.loads,
        "weights.matched": round(match.of_own, 4),
        "weights.used": round(match.of_state, 4),
        "weights.missing": len(match.missing),
        "weights.unexpected": len(match.unexpected),
        **_changed(match.both, sample, own),
        **({"weights.path": Here.path} if Here.path else {}),
        **({"weights.prefix": prefix} if prefix else {}),
    }
    if (state and not match.both) or prefix:
        report.finding("weights", f"unmatched {where[0]}", _unmatched(match, prefix, type(module).__name__), facts, where)
    elif Here.loads <= MOST:
        report.fact("weights", f"load {where[0]}", facts, where)


def _unmatched(match: Any, prefix: str, kind: str) -> str:
    first = (
        f"{len(match.both)} of {len(match.own)} tensors of {kind} were in the state that is loaded; {len(match.unexpected)} were left over"
    )
    name = prefix[1:]
    more = {
        "-": f": its names begin with `{name}`, and the model's do not",
        "+": f": the model's names begin with `{name}`, and its do not",
    }
    return first + more.get(prefix[:1], "")


def _changed(names: set[str], before: dict[str, Any] | None, own: dict[str, Any]) -> dict[str, float]:
    if not before:
        return {}
    torch = sys.modules["torch"]
    after = _sampled({name: own[name] for name in names if name in before})
    changed = [not torch.equal(each, before[name]) for name, each in after.items()]
    return {"weights.changed": round(sum(changed) / len(changed), 4)} if changed else {}


# ---------------------------------------------------------------------------------------------- the first call


def _first_call(module: Any, args: Any) -> None:
    if _called.get(module) is not None:
        return
    _called.put(module, True)
    own = {name: each for name, each in _own(module).items() if held.is_plain(each)}
    _ask_largest(module, [each for each in own.values() if each.is_floating_point() and each.numel() and each.requires_grad])
    for file in _files:
        if not file.is_used and not Here.loads and file.samples:
            _look_whether_arrived(file, module, own)
    size = sum(each.numel() * each.element_size() for each in own.values())
    is_training = module.training and sys.modules["torch"].is_grad_enabled()
    if own and Here.served is None and not Here.steps and size <= HASHED and not is_training:
        Here.served = {
            "weights.hash": fingerprint.digest(own),
            "weights.root": type(module).__name__,
            **({"weights.path": Here.path} if Here.path else {}),
        }


def _look_whether_arrived(file: File, module: Any, own: dict[str, Any]) -> None:
    """Of a file that no `load_state_dict` was given, and whose names would be this model's but for a prefix: has anything been copied?"""
    match = matching.Match({name: tuple(each.shape) for name, each in own.items()}, file.shapes)
    prefix = match.prefix() if not match.both else ""
    bare = {name[len(prefix) - 1 :] if prefix[:1] == "-" else prefix[1:] + name: each for name, each in file.samples.items()}
    now = _sampled({name: own[name] for name in bare if name in own})
    if prefix and now:
        is_there = any(
            now[name].shape == bare[name].shape and sys.modules["torch"].allclose(now[name].float().cpu(), bare[name].float().cpu(), 1e-2)
            for name in now
        )
        file.prefix, file.missed = (prefix, "" if is_there else type(module).__name__)


def _ask_largest(module: Any, values: list[Any]) -> None:
    torch = sys.modules["torch"]
    values = [each.detach() for each in values if held.is_plain(each)][:1000]
    if values and len({each.device for each in values}) == 1:
        name, where = type(module).__name__, bus.birthplace(module)
        with torch.no_grad():
            largest = torch.stack([each.float() for each in torch._foreach_norm(values, float("inf"))]).max().reshape(1)
        bus.defer(largest, lambda numbers: _judge_largest(name, where, numbers[0]))


def _judge_largest(name: str, where: tuple[str, str], largest: float) -> None:
    if LARGE < largest < float("inf"):
        says = f"The largest weight of {name} is {largest:.3g} at its first call: memory that nobody filled, or a load gone wrong"
        (report.finding if largest > HUGE else report.hint)("weights", "largest " + name, says, {"weights.largest": largest}, where)


def _end() -> None:
    for file in _files:
        if file.missed and not file.is_used and not Here.loads:
            report.finding(
                "weights",
                f"unread {file.read[0]}",
                f"Nothing of {file.path or 'the file'} is in {file.missed}, whose names it has but for the prefix `{file.prefix[1:]}`",
                {"weights.matched": 0.0, "weights.prefix": file.prefix},
                file.read,
            )
        missing = [each for each in file.extras if each not in Here.restored]
        if file.is_used and missing and Here.steps:
            report.hint(
                "weights",
                "unrestored",
                f"The checkpoint had the state of {' and '.join(missing)} too, and it was not loaded",
                {"weights.unrestored": ", ".join(missing), "weights.path": file.path},
                file.where,
            )
    if Here.loads:
        report.fact("weights", "summary", {"weights.loads": Here.loads})
    if Here.served is not None and not Here.steps:
        report.fact("weights", "served", Here.served)
