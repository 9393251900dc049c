"""Plays one call of the program's outermost module again, and leaves the process as it was.

The same inputs, random numbers, mixed precision and modes; buffers, attributes and random states are put back, gradients and optimizers
are not touched. What could wait for other ranks is refused. Hooks of the program that run before a module stay (they may make its
weights), those after it do not run. It can't know what a forward does outside its module: what it writes into objects, it writes twice.
"""

from __future__ import annotations

import sys
from _thread import get_ident
from collections import OrderedDict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]
bus: Any = hook.load("_bitten_probes.bus")
calls: Any = hook.load("_bitten_probes.nan_calls")
op_modes: Any = hook.load("_bitten_probes.op_modes")
torch: Any = sys.modules["torch"]

WRAPPERS = ("DistributedDataParallel", "DataParallel", "OptimizedModule")
SHARDED = ("FullyShardedDataParallel", "DeepSpeedEngine")
LARGEST = 1 << 30
"""Bytes of buffers above which they are not copied, so nothing is replayed."""
LISTENING = ("_forward_hooks", "_backward_hooks", "_backward_pre_hooks")


HELD: list[dict[str, Any]] = []
"""The program's own buffers by name, while copies are in their place."""


class NoReplay(Exception):  # noqa: N818 - it is no error of ours
    """Why a call can't be played again."""


def inner(module: Any) -> Any:
    """Below what distributes or compiles it."""
    while type(module).__name__ in WRAPPERS:
        module = getattr(module, "_orig_mod", None) or module.module
    return module


def is_compiled(module: Any) -> bool:
    found = module.modules()
    return any(type(each).__name__ == "OptimizedModule" or getattr(each, "_compiled_call_impl", None) is not None for each in found)


def refuse(module: Any) -> None:
    dist = sys.modules.get("torch.distributed")
    is_one_of_many = dist is not None and dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1
    for each in module.modules():
        kind = type(each)
        if kind.__name__ in SHARDED or any(base.__name__ == "FSDPModule" for base in kind.__mro__):
            raise NoReplay(f"{kind.__name__} shards the weights over ranks")
        if is_one_of_many and kind.__name__ == "SyncBatchNorm" and each.training:
            raise NoReplay("SyncBatchNorm waits for all ranks")
    if any(type(each).__name__ == "DTensor" for each in module.parameters()):
        raise NoReplay("its weights are spread over ranks")
    if sum(each.nbytes for each in module.buffers()) > LARGEST:
        raise NoReplay("its buffers are too large to copy")


class Same:
    """Whatever happens inside, the modules and the process are afterwards as they were before."""

    def __init__(self, module: Any) -> None:
        self.modules, self.buffers = list(module.modules()), dict(module.named_buffers())
        self.undo: list[Any] = []

    def __enter__(self) -> Same:
        HELD.append(self.buffers)
        self.undo.append(HELD.pop)
        try:
            self._keep_process()
            for each in self.modules:
                self._keep(each)
            for each in {id(one): one for module in self.modules for one in module._parameters.values() if one is not None}.values():
                self._silence(each._backward_hooks)
            module = torch.nn.modules.module
            for name in LISTENING:
                self._silence(getattr(module, "_global" + name, None))
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        undos, self.undo = self.undo, []
        for undo in reversed(undos):
            try:
                undo()
            except Exception as error:  # one thing that can't be put back must not keep the others from it
                hook.emit("hookerr", where="instrument nan puts back", err=f"{type(error).__name__}: {str(error)[:200]}")

    def _keep_process(self) -> None:
        state, quiet = _random_states(), bus.quiet()
        self.undo.append(lambda: [write(value) for write, value in state])
        mode, grad = (torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()), torch.is_grad_enabled()
        self.undo.append(lambda: torch.set_anomaly_enabled(*mode))
        self.undo.append(lambda: torch._C._set_grad_enabled(grad))
        quiet.__enter__()
        self.undo.append(quiet.__exit__)
        self._mute()

    def _mute(self) -> None:
        """What the modules print, warn and log was printed once."""
        for name in ("stdout", "stderr"):
            stream = getattr(sys, name)
            self.undo.append(lambda name=name, stream=stream: setattr(sys, name, stream))
            setattr(sys, name, _Muted(stream))
        logging = sys.modules.get("logging")
        if logging is not None:
            level = logging.root.manager.disable
            self.undo.append(lambda: logging.disable(level))
            logging.disable(sys.maxsize)

    def _silence(self, table: Any) -> None:
        if table:
            held = dict(table)
            table.clear()
            self.undo.append(lambda: table.update(held))

    def _keep(self, module: Any) -> None:
        """Its attributes as they are; tensors that it may write into are copies meanwhile."""
        names = vars(module)
        held, contents = dict(names), [(each, each.copy()) for each in names.values() if type(each) in (list, dict, set, OrderedDict)]

        def undo() -> None:
            for name in [each for each in names if each not in held]:
                del names[name]
            names.update(held)
            for each, content in contents:
                _refill(each, content)

        self.undo.append(undo)
        for name in LISTENING:
            if held.get(name):
                names[name] = OrderedDict()
        for table in (names, module._buffers):
            for name, each in list(table.items()):
                if type(each) is torch.Tensor:
                    table[name] = each.detach().clone()


class _Muted:
    """A stream that is silent for this thread alone: what others print meanwhile is the program's."""

    def __init__(self, stream: Any) -> None:
        self._stream, self._thread = stream, get_ident()

    def write(self, text: str) -> int:
        return len(text) if get_ident() == self._thread else self._stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _refill(container: Any, content: Any) -> None:
    """Only where something was put in or taken out; what is in it may not bear a comparison."""
    same = len(container) == len(content) and all(one is other for one, other in zip(_flat(container), _flat(content)))
    if not same:
        container.clear()
        (container.extend if type(container) is list else container.update)(content)


def _flat(container: Any) -> list[Any]:
    return list(container) if type(container) in (list, set) else [*container, *container.values()]


def _random_states() -> list[tuple[Any, Any]]:
    found: list[tuple[Any, Any]] = [(torch.set_rng_state, torch.get_rng_state())]
    if torch.cuda.is_initialized():
        found.append((torch.cuda.set_rng_state_all, torch.cuda.get_rng_state_all()))
    for name, read, write in (("random", "getstate", "setstate"), ("numpy.random", "get_state", "set_state")):
        if name in sys.modules:
            found.append((getattr(sys.modules[name], write), getattr(sys.modules[name], read)()))
    return found


class Played:
    """What a replay showed: the output, the event that made it bad, and the graph for its backward."""

    def __init__(self, module: Any, out: Any, finder: Any, nodes: Any, leaves: list[Any]) -> None:
        self.module, self.out, self.finder, self.nodes, self.leaves = module, out, finder, nodes, leaves

    def is_bad(self) -> bool:
        return any(map(calls.is_bad, calls.tensors(self.out)))

    def forward_event(self) -> Any:
        """Why the output is bad; None where it is finite, or bad by intention alone."""
        bad = [each for each in calls.tensors(self.out) if calls.is_bad(each)]
        if not bad:
            return None
        known = [self.finder.taints[key] for key in map(op_modes._key, bad) if key in self.finder.taints]
        return next((each for each in known if not each.is_fill), None if known else self.finder.first)

    def backward_event(self, grads: list[tuple[int, Any]]) -> Any:
        """The first node that made bad gradients of good ones, given those at the outputs."""
        outs = list(calls.tensors(self.out))
        hooks = self.nodes.watch()
        try:
            with op_modes.refusing():
                for number, grad in grads:
                    if number < len(outs) and outs[number].requires_grad and not calls.is_bad(grad):
                        torch.autograd.grad(outs[number], self.leaves, grad.to(outs[number].dtype), retain_graph=True, allow_unused=True)
        finally:
            for each in hooks:
                each.remove()
        return self.nodes.bad


def play(call: Any, needs_graph: bool) -> Played:
    """The call again, under `Same`; the caller holds it until it has asked for all it wants."""
    module = inner(call.module)
    nodes, leaves = op_modes.Nodes(), [each for each in module.parameters() if each.requires_grad]
    args, kwargs = (calls.changed(each, lambda tensor: _fresh(tensor, leaves)) for each in (call.args, call.kwargs))
    finder = op_modes.finder(sources(module, args, kwargs))
    _draw_again(call.rng)
    torch._C._set_grad_enabled(call.has_grad)
    with _Hooks(module, nodes) if call.has_grad and needs_graph else _Nothing(), _Precision(call.autocast), _eager(call.module), finder:
        out = module(*args, **kwargs)
    nodes.tag(out, module)
    return Played(module, out, finder, nodes, leaves)


def ones(out: Any) -> list[tuple[int, Any]]:
    """Gradients in place of those that were too large to keep, or that nobody saw."""
    outs = list(calls.tensors(out))
    return [(number, torch.ones_like(each)) for number, each in enumerate(outs) if each.requires_grad][:1]


def _fresh(tensor: Any, leaves: list[Any]) -> Any:
    copy = tensor.detach().clone()
    if tensor.requires_grad:
        copy.requires_grad_()
        leaves.append(copy)
    return copy


def sources(module: Any, args: Any, kwargs: Any) -> dict[int, tuple[str, str, Any]]:
    """By storage: what came from outside, and under which name."""
    found: dict[int, tuple[str, str, Any]] = {}
    given = _arguments(module, args, kwargs)
    for kind, named in (("weight", module.named_parameters()), ("buffer", module.named_buffers()), ("input", given)):
        for name, each in named:
            if each.numel() and each.layout is torch.strided:
                found[op_modes._key(each)] = (kind, name, each)
    return found


def _arguments(module: Any, args: Any, kwargs: Any) -> Any:
    leaves = hook.load("_bitten_probes.fingerprint").leaves
    names = _names(module, len(args))
    for name, each in [*zip(names, args), *kwargs.items()]:
        for path, tensor in leaves(each):
            if isinstance(tensor, torch.Tensor):
                yield f"{name}.{path}" if path else name, tensor


def _names(module: Any, count: int) -> list[str]:
    """The forward's own names for its positional arguments; numbers where it has none."""
    import inspect  # noqa: PLC0415 - after a trip

    try:
        known = [name for name, each in inspect.signature(module.forward).parameters.items() if each.kind in (0, 1)]
    except (TypeError, ValueError):
        known = []
    return [known[at] if at < len(known) else str(at) for at in range(count)]


def _draw_again(states: list[Any]) -> None:
    torch.set_rng_state(states[0])
    for device, state in states[1:]:
        torch.cuda.set_rng_state(state, device)


class _Nothing:
    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        pass


class _Precision:
    """Mixed precision as it was; without its cache, into which a replay must not put weights."""

    def __init__(self, wanted: list[tuple[str, Any]]) -> None:
        self.parts = [torch.autocast(device, dtype=dtype, cache_enabled=False) for device, dtype in wanted]
        known = {device for device, _ in wanted}
        self.parts += [torch.autocast(device, enabled=False) for device, _ in calls._autocast() if device not in known]

    def __enter__(self) -> None:
        for each in self.parts:
            each.__enter__()

    def __exit__(self, *error: object) -> None:
        for each in reversed(self.parts):
            each.__exit__(*error)


def _eager(module: Any) -> Any:
    """A compiled region as it was written, where this torch can say so."""
    stance = getattr(getattr(torch, "compiler", None), "set_stance", None)
    return stance("force_eager") if stance is not None and is_compiled(module) else _Nothing()


class _Hooks:
    """While a graph is built: each node is tagged with the module in which it was made, and keeps its line."""

    def __init__(self, module: Any, nodes: Any) -> None:
        self.nodes, self.root = nodes, module
        self.stack: list[Any] = []

    def __enter__(self) -> None:
        module = torch.nn.modules.module
        self.handles = [module.register_module_forward_pre_hook(self._pre), module.register_module_forward_hook(self._post)]
        bus._own_hooks.update(each.id for each in self.handles)
        torch.set_anomaly_enabled(True, False)

    def __exit__(self, *_: object) -> None:
        torch.set_anomaly_enabled(False, False)
        for each in self.handles:
            each.remove()

    def _pre(self, module: Any, args: Any) -> None:
        self.nodes.tag(args, self.stack[-1] if self.stack else self.root)
        self.stack.append(module)

    def _post(self, module: Any, args: Any, out: Any) -> None:
        self.nodes.tag(out, module)
        if self.stack:
            self.stack.pop()
