"""What a recording tells of models: their first weights and who made them, the mode, and module by module what came out."""

from __future__ import annotations

import sys
import weakref
from _thread import _local

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]
weakly: Any = hook.load("_bitten_probes.weakly")
bus: Any = hook.load("_bitten_probes.bus")
report: Any = hook.load("_bitten_probes.report")
tape: Any = hook.load("_bitten_probes.tape")
calls: Any = hook.load("_bitten_probes.calls")
fingerprint: Any = hook.load("_bitten_probes.fingerprint")
data: Any = hook.load("_bitten_probes.recorded_data")

NAME = "recording"
FULL = 3
"""Steps of which every module, gradient and weight is told."""
CONTEXTS = 12
"""Pairs of a model and what it was called over, of which the first call is told whole."""
_mine = _local()
roots: Any = weakly.Keys()
_paths: Any = weakly.Keys()
_switched: Any = weakly.Keys()
_told: Any = weakly.Things()
_made: Any = weakly.Keys()


class Kept:
    """What is known so far of the models that were called."""

    digests: dict[int, tuple[int, str, Any]] = {}  # noqa: RUF012 - one recording a process
    modes: dict[tuple[Any, ...], bool] = {}  # noqa: RUF012 - as above
    whole = False
    inputs = ""


def install(torch: Any) -> None:
    bus.listen(NAME, root_pre=_root_pre, root_post=_root_post, root_failed=_root_failed, mode=_mode)
    bus.wrap(NAME, torch.nn.Module, "load_state_dict", None, _loaded)
    bus.wrap(NAME, torch.nn.Module, "__init__", _making)
    bus.wrap(NAME, torch.nn.Module, "_apply", _converting, _converted)


def is_full() -> bool:
    return bool(bus.Now.step < FULL)


def _loaded(kept: Any, args: Any, kwargs: Any, out: Any) -> None:
    """Whoever loads weights is who filled them."""
    where = report.here()
    for each in args[0].parameters() if where[0] else ():
        calls.Now.initialised[id(each)] = (*where, "load_state_dict", "")


def _converting(args: Any, kwargs: Any) -> Any:
    """The outermost call of `to`, `half`, `double` …: what the first weight was."""
    if getattr(_mine, "converting", False):
        return None
    _mine.converting = True
    first = next(args[0].parameters(), None)
    return ("nothing" if first is None else str(first.dtype),)


def _converted(was: Any, args: Any, kwargs: Any, out: Any) -> None:
    if was is None:
        return
    _mine.converting = False
    where = report.here()
    first = next(args[0].parameters(), None)
    if first is not None and where[0] and str(first.dtype) != was[0]:
        for each in args[0].parameters():
            calls.Now.initialised[id(each)] = (*where, f"converted to {first.dtype}", "")


def _making(args: Any, kwargs: Any) -> None:
    if bus.Now.step == 0 and len(_made) < 5000:
        _made[args[0]] = tape.random_state()


def _root_pre(module: Any, args: Any) -> None:
    tape.Tape.step = bus.Now.step
    if getattr(_mine, "root", None) is not None:
        return
    _mine.root = weakref.ref(module)
    torch = sys.modules["torch"]
    context = (_root_name(module), data.Over.loader, torch.is_grad_enabled(), module.training)
    is_new = context[:3] not in Kept.modes
    if is_new or Kept.modes[context[:3]] != module.training:
        _told_mode(module, context)
    Kept.modes[context[:3]] = module.training
    _first_weights(module)
    is_first = is_new and len(Kept.modes) <= CONTEXTS
    if not context[2] and is_first:
        calls.begin()
    if is_full() or is_first:
        Kept.whole = True
        bus.listen(NAME, module_pre=_module_pre, module_post=_module_post)
        Kept.inputs = tape.digest(*args)
        _mine.stack = []


def _told_mode(module: Any, context: tuple[Any, ...]) -> None:
    name, over, grad, training = context
    if len(Kept.modes) > 64:
        return
    switch = _switched.get(module)
    over = f" over {over}" if over else ""
    tape.mark("mode", f"{name}{over}{'' if grad else ' without gradients'}", report.here(), value="train" if training else "eval",
              also=[switch] if switch else ())
    odd = [path for path, each in module.named_modules() if each.training != training]
    if odd:
        tape.mark("mode", f"{name}{over}{'' if grad else ' without gradients'}: unlike it", report.here(), value=",".join(odd)[:400])


def _root_name(module: Any) -> str:
    if module not in roots:
        roots[module] = f"model {len(roots)}"
        for path, each in module.named_modules():
            _paths.setdefault(each, (roots[module], path))
    return str(roots[module])


def _mode(module: Any, training: bool) -> None:
    where = report.here()[0]
    for each in module.modules():
        _switched[each] = where
    if not training and len(Kept.modes) <= CONTEXTS:
        calls.begin()


def _root_post(module: Any, args: Any, kwargs: Any, out: Any) -> None:
    _mine.root = None
    if Kept.whole:
        Kept.whole = False
        for moment, call in (("module_pre", _module_pre), ("module_post", _module_post)):
            bus._heard[moment][:] = [each for each in bus._heard[moment] if each[1] is not call]


def _root_failed(module: Any) -> None:
    _root_post(module, (), {}, None)


def _first_weights(module: Any) -> None:
    """Once a model, before it computes anything."""
    name = roots[module]
    if module in _told:
        return
    _told.add(module)
    for path, owner in module.named_modules():
        for part, each in (*owner._parameters.items(), *owner._buffers.items()):
            if each is not None:
                born = bus.birthplace(owner) if bus.birthplace(owner)[0] else bus.birthplace(module)
                at, place, by, random = calls.Now.initialised.get(id(each), (*born, "", _made.get(owner, "")))
                tape.mark("initial weights", f"{name}: {path}.{part}".replace(": .", ": "), (at, place),
                          fps={"": fingerprint.of(each, tape.ELEMENTS)}, random=random, kind=f"{_kind(owner)} {by}".strip(),
                          also=[born[0]] if born[0] and born[0] != at else ())
    calls.Now.initialised.clear()


def _kind(module: Any) -> str:
    """What a person would call it; a type of the program's own is only that, as its name may change."""
    kind = type(module)
    if not kind.__module__.startswith("torch."):
        return "own module"
    try:
        return f"{kind.__name__}({module.extra_repr()})"[:200]
    except Exception:  # half made
        return kind.__name__


def _module_pre(module: Any, args: Any) -> None:
    if not Kept.whole:
        return
    stack = _stack()
    weights = _weights(module)
    stack.append((module, tape.digest(*args, weights) if args else "", tape.random_states()))


def _stack() -> list[Any]:
    if not hasattr(_mine, "stack"):
        _mine.stack = []
    return _mine.stack  # type: ignore[no-any-return]


def _weights(module: Any) -> str:
    return str(tape.digest([known(each) for each in (*module.parameters(), *module.buffers())]))


def known(tensor: Any) -> str:
    """A digest, looked up as long as the tensor is not written."""
    version = tensor._version
    found = Kept.digests.get(id(tensor))
    if found is None or found[0] != version or found[2]() is not tensor:
        print_ = fingerprint.digest(fingerprint.thinned(tensor, fingerprint.HASHED))
        found = Kept.digests[id(tensor)] = (version, print_, weakref.ref(tensor))
    return found[1]


def _module_post(module: Any, args: Any, kwargs: Any, out: Any) -> None:
    if not Kept.whole:
        return
    stack = _stack()
    while stack:
        called, given, random = stack.pop()
        if called is module:
            break
    else:
        return
    prints = tape.prints(out)
    if prints is None:
        return
    root, path = _paths.get(module, ("", type(module).__name__))
    is_loss = type(module).__module__ == "torch.nn.modules.loss"
    tape.mark("loss" if is_loss else "forward", f"{root}: {path}".rstrip(": ") if root else path,
              report.here() if is_loss else _where(module), fps=prints, given=given, random=tape.drawn(random), kind=_kind(module),
              also=[] if is_loss or path else [report.here()[0]])


def _where(module: Any) -> tuple[str, str]:
    """Of the program's own module the line that returned; of a library's where it was made."""
    returned = calls.Now.forwards.pop(id(module), None)
    if returned is not None:
        return returned  # type: ignore[no-any-return]
    where: tuple[str, str] = bus.birthplace(module)
    return where if where[0] else report.line(sys._getframe(2))
