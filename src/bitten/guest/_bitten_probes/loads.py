"""What was loaded into which parameters: one wrap of `load_state_dict` and of `torch.load` for every instrument that asks.

Loading by other ways (a loop of `copy_`, safetensors, `from_pretrained`) leaves no names here; that some file was read may still show.
"""

from __future__ import annotations

import sys
import weakref

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]
bus: Any = hook.load("_bitten_probes.bus")
report: Any = hook.load("_bitten_probes.report")
patches: Any = hook.load("_bitten_patches")

_heard: dict[str, list[tuple[str, Callable[..., Any]]]] = {"load": [], "loading": [], "loaded": []}
_ids: dict[int, Any] = {}
_is_on = [False]
LOADERS = ("safetensors", "transformers", "timm", "huggingface_hub", "torchvision.models")
"""Whose models may come with weights that no `load_state_dict` of the program shows."""


def listen(probe: str, **calls: Callable[..., Any]) -> None:
    """`load(path, what came)` of torch.load; `loading(module, state, where)` before load_state_dict, `loaded(…, answer)` after it.

    `where` is the line of the call. Of a wrapper such as DDP, the call to its inner module is told too.
    """
    for name, call in calls.items():
        _heard[name].append((probe, call))
    install()


def install() -> None:
    if not _is_on[0]:
        _is_on[0] = True
        patches.on_import("torch", _torch)


def _torch(torch: Any) -> None:
    bus.wrap("loads", torch.nn.Module, "load_state_dict", _before, _after)
    for owner in (torch, sys.modules["torch.serialization"]):
        bus.wrap("loads", owner, "load", None, lambda kept, args, kwargs, out: _tell("load", args[0] if args else kwargs.get("f"), out))


def _before(args: Any, kwargs: Any) -> Any:
    where = report.line(sys._getframe(1))
    state = args[1] if len(args) > 1 else kwargs.get("state_dict", {})
    _tell("loading", args[0], state, where)
    return where, state


def _after(kept: Any, args: Any, kwargs: Any, out: Any) -> None:
    """`kept` is None where `_before` could not be had."""
    if kept is None:
        return
    names, is_whole = set(kept[1]), lacks_nothing(out)
    for name, each in _named(args[0]):
        if is_whole or name in names:
            _ids[id(each)] = weakref.ref(each, _forgetting(id(each)))
    _tell("loaded", args[0], kept[1], kept[0], out)


def lacks_nothing(answer: Any) -> bool:
    """Whether torch says that all of a module was loaded: hooks of its own may have renamed, or read, what the state had."""
    return getattr(answer, "missing_keys", None) == []


def _forgetting(key: int) -> Callable[[Any], None]:
    return lambda _: _ids.pop(key, None) and None


def _tell(moment: str, *args: Any) -> None:
    if moment == "load":
        Seen.files = True
    for probe, call in tuple(_heard[moment]):
        try:
            call(*args)
        except Exception as error:  # as on the bus
            _heard[moment][:] = [each for each in _heard[moment] if each[0] != probe]
            bus.take_out(probe, error, moment)


def _named(module: Any) -> Any:
    yield from module.named_parameters()
    yield from module.named_buffers()


class Seen:
    files = False


def has(tensor: Any) -> bool:
    """Whether a load of this process named this parameter or buffer."""
    found = _ids.get(id(tensor))
    return found is not None and found() is tensor


def any_seen() -> bool:
    """Whether weights may have come from outside at all."""
    return Seen.files or bool(_ids) or any(name in sys.modules for name in LOADERS)
