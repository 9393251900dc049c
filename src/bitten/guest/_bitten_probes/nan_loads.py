"""Which weights and buffers were not finite when they were loaded: they are read once a load. Knows loads by `load_state_dict` alone."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]
bus: Any = hook.load("_bitten_probes.bus")
report: Any = hook.load("_bitten_probes.report")
patches: Any = hook.load("_bitten_patches")
calls: Any = hook.load("_bitten_probes.nan_calls")

MOST = 64
_bad: dict[int, tuple[Any, str, tuple[str, str]]] = {}
_last = [""]


def install(torch: Any) -> None:
    bus.wrap("nan", torch, "load", lambda args, kwargs: _file(args[0] if args else kwargs.get("f")))
    bus.wrap("nan", torch.nn.Module, "load_state_dict", None,
             lambda kept, args, kwargs, out: _loaded(args[0], report.line(sys._getframe(2))))
    patches.on_import("safetensors.torch", lambda module: bus.wrap(
        "nan", module, "load_file", lambda args, kwargs: _file(args[0] if args else kwargs.get("filename"))))


def _file(given: Any) -> None:
    import os  # noqa: PLC0415 - loaded long before

    name = getattr(given, "name", given)
    _last[0] = os.fspath(name) if isinstance(name, (str, os.PathLike)) else ""


def _loaded(module: Any, where: tuple[str, str]) -> None:
    """One read a device; each by itself only if there is one that is bad."""
    values = [each for each in (*module.parameters(), *module.buffers()) if calls.is_float(each)]
    found = calls.norms(values)
    by_device = [[each for each in found if each.device == device] for device in {each.device for each in found}]
    if any(calls.is_bad(calls._stacked(each)) for each in by_device):
        for each in values:
            if len(_bad) < MOST and calls.is_bad(each):
                _bad[id(each)] = (calls.weakref.ref(each), _last[0], where)


def of(tensor: Any) -> tuple[str, tuple[str, str]] | None:
    """(the file, the line of the load) if this tensor was bad as it was loaded."""
    alive, file, where = _bad.get(id(tensor), (lambda: None, "", ("", "")))
    return (file, where) if alive() is tensor else None
