"""A run's configuration as its program resolved it: every key of an argparse, omegaconf, pydantic, dataclass or dict-like config.

Knows the kinds by name and never asks them: `cfg.lr` may run an interpolation, `vars(cfg)` a property.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

values: Any = sys.modules["_bitten_values"]
frames: Any = sys.modules["_bitten_hook"].load("_bitten_frames")

KEYS = 300
TEXT = 200
DEPTH = 6
CONFIGS = 6
SECONDS = 0.04
_NAMES = ("args", "cfg", "conf", "config", "hparams", "hps", "opt", "opts", "options", "settings", "flags", "params", "training_args")
_CLASS_ENDS = ("config", "configuration", "args", "arguments", "options", "settings", "params", "hparams", "namespace", "configdict")
_KINDS = (
    ("argparse", "Namespace"), ("types", "SimpleNamespace"), ("pydantic", "BaseModel"), ("omegaconf", "DictConfig"),
    ("ml_collections", "ConfigDict"), ("transformers.configuration_utils", "PretrainedConfig"), ("easydict", "EasyDict"),
    ("addict", "Dict"), ("yacs.config", "CfgNode"), ("box", "Box"),
)  # fmt: skip


def tell(value: object, budget: Any) -> str:
    """One line, every key; empty for what is no config by its class."""
    held = _items(value) if _is_kind(value) or _is_dataclass(value) else None
    if not held:
        return ""
    parts = [f"{key}={_leaf(each, budget, str(key))}" for key, each in list(held.items())[:KEYS] if not budget.over()]
    return f"{values.type_name(type(value))}({', '.join(parts)})"


def in_frames(links: Any) -> list[dict[str, Any]]:
    """The configs that frames hold, or that the objects in them do, innermost first; each once, by dotted names."""
    budget = values.Budget(SECONDS)
    found: list[dict[str, Any]] = []
    seen: set[int] = set()
    for link in reversed(links):
        held = frames.variables_of(link.tb_frame) if not frames.is_library(link.tb_frame.f_code.co_filename) else {}
        for name, value in _candidates(held):
            if len(found) < CONFIGS and id(value) not in seen and not budget.over():
                seen.add(id(value))
                at = frames.told_of(link.tb_frame, link.tb_lineno)
                found.append({"name": name, "type": values.type_name(type(value)), "at": at, "values": _flat(value, budget)})
        frames.forget(link.tb_frame, held)
    return [each for each in found if each["values"]]


def _candidates(held: Any) -> list[tuple[str, Any]]:
    mine = [(name, held[name]) for name in list(held) if type(name) is str and not name.startswith("__")]
    of_self = [(f"self.{name}", each) for name, each in (values.instance_dict(held.get("self")) or {}).items() if type(name) is str]
    return [(name, each) for name, each in mine + of_self if _is_config(name, each)]


def _is_config(name: str, value: object) -> bool:
    named = name.rpartition(".")[2].strip("_").lower() in _NAMES
    if type(value) is dict:
        return named and bool(value)
    ends = values.bare_name(type(value)).lower().endswith(_CLASS_ENDS)
    return _is_kind(value) or ((named or ends) and (values.is_a(value, dict) or _is_dataclass(value)))


def _is_kind(value: object) -> bool:
    return any(cls is not None and values.is_a(value, cls) for cls in (values.loaded(*each) for each in _KINDS))


def _is_dataclass(value: object) -> bool:
    return any("__dataclass_fields__" in type.__getattribute__(cls, "__dict__") for cls in values.lineage(value))


def _items(value: Any) -> Any:
    """Keys and values, or None. omegaconf and ml_collections keep theirs in one attribute; slots are read by their own descriptor."""
    if values.is_a(value, dict):
        return dict(dict.items(value))
    held = values.instance_dict(value)
    for inner in ("_content", "_fields"):
        if held and values.bare_name(type(value)) in ("DictConfig", "ConfigDict") and type(held.get(inner)) is dict:
            return held[inner]
    if held:
        return {key: each for key, each in held.items() if type(key) is str and not key.startswith("_")}
    return _slots(value) if _is_dataclass(value) else None


def _slots(value: Any) -> Any:
    found = {}
    for cls in values.lineage(value):
        for name, slot in type.__getattribute__(cls, "__dict__").items():
            if values.bare_name(type(slot)) == "member_descriptor" and not name.startswith("_"):
                try:
                    found[name] = slot.__get__(value)
                except AttributeError:  # declared, not set
                    continue
    return found


def _flat(value: Any, budget: Any, prefix: str = "", depth: int = DEPTH) -> dict[str, str]:
    told: dict[str, str] = {}
    for key, each in list((_items(value) or {}).items()):
        name = prefix + (key if type(key) is str else repr(key) if type(key) is int else "?")
        inner = _node(each)
        nested = values.is_a(inner, dict) or _is_kind(inner) or _is_dataclass(inner)
        if nested and depth and _items(inner):
            told.update(_flat(inner, budget, name + ".", depth - 1))
        else:
            told[name] = _leaf(inner, budget, name.rpartition(".")[2])
        if len(told) >= KEYS or budget.over():
            break
    return dict(list(told.items())[:KEYS])


def _leaf(value: Any, budget: Any, name: str) -> str:
    return str(values.alone(_node(value), budget, name))[:TEXT]


def _node(value: Any) -> Any:
    """omegaconf wraps each value, interpolations too: `${data.dim}` stays as it is written."""
    node = values.loaded("omegaconf", "Node")
    held = values.instance_dict(value) if node is not None and values.is_a(value, node) else None
    if held is None:
        return value
    if "_val" in held:
        return held["_val"]
    content = held.get("_content")
    return [_node(each) for each in content[:50]] if type(content) is list else content if type(content) is str else value
