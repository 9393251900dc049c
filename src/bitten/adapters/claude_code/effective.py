"""What Claude Code's settings say where several files say it: managed, local, project and user, the first that speaks wins. Writes none."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bitten.core.noun import noun

MANAGED = Path("/Library/Application Support/ClaudeCode" if sys.platform == "darwin" else "/etc/claude-code")


@noun
class Layer:
    """One file as it was read; `trouble` says why it can't be."""

    name: str
    file: Path
    told: dict[str, Any]
    trouble: str = ""


def config() -> Path:
    """Claude Code's own folder."""
    return Path(os.environ.get("CLAUDE_CONFIG_DIR") or _at_home(".claude"))


def _at_home(name: str) -> Path:
    return Path(os.path.expanduser("~"), name)  # noqa: PTH111 - Path.home() raises for a user without one


def layers(root: Path) -> list[Layer]:
    """Those that are there, strongest first."""
    named = [*(("managed", each) for each in _dropped_in()), ("managed", MANAGED / "managed-settings.json"),
             ("local", root / ".claude" / "settings.local.json"), ("project", root / ".claude" / "settings.json"),
             ("user", config() / "settings.json")]
    return [layer for name, file in named if (layer := _read(name, file))]


def value(found: list[Layer], *path: str) -> tuple[Any, Layer | None]:
    """What the strongest layer says that speaks of it, and which that is."""
    for layer in found:
        told: Any = layer.told
        for name in path:
            told = told.get(name) if isinstance(told, dict) else None
        if told is not None:
            return told, layer
    return None, None


def is_trusted(root: Path) -> bool | None:
    """Whether somebody said so at Claude Code's question, for the folder or one above it; None where its file does not tell."""
    beside = os.environ.get("CLAUDE_CONFIG_DIR")
    file = Path(beside) / ".claude.json" if beside else _at_home(".claude.json")
    layer = _read("state", file)
    projects = layer.told.get("projects") if layer else None
    if not isinstance(projects, dict):
        return None
    told = (projects.get(str(each)) for each in (root, *root.parents))
    return any(isinstance(each, dict) and each.get("hasTrustDialogAccepted") is True for each in told)


def installed(plugin: str, root: Path) -> Iterator[Path]:
    """The folders that a plugin is loaded from here.

    Out of a marketplace that is a folder of this machine it is loaded from there, and not from the copy that installing made; where that
    folder is gone nothing is loaded, and nothing said (both observed with 2.1.332).
    """
    told = _plugins("installed_plugins.json").get("plugins")
    for each in (told.get(plugin) if isinstance(told, dict) else None) or ():
        if isinstance(each, dict) and each.get("installPath") and each.get("projectPath") in (None, str(root)):
            yield _in_marketplace(plugin) or Path(each["installPath"])


def _in_marketplace(plugin: str) -> Path | None:
    """None where the marketplace is no folder of this machine."""
    name, _, market = plugin.partition("@")
    told = _plugins("known_marketplaces.json").get(market)
    source = told.get("source") if isinstance(told, dict) else None
    if not isinstance(source, dict) or source.get("source") != "directory" or not source.get("path"):
        return None
    folder = Path(source["path"])
    catalogue = _read("marketplace", folder / ".claude-plugin" / "marketplace.json")
    plugins = catalogue.told.get("plugins") if catalogue else None
    where = next((each.get("source") for each in plugins or () if isinstance(each, dict) and each.get("name") == name), None)
    return folder / (where if isinstance(where, str) else "")


def _plugins(name: str) -> dict[str, Any]:
    layer = _read("plugins", config() / "plugins" / name)
    return layer.told if layer else {}


def _dropped_in() -> list[Path]:
    """Strongest first: Claude Code lays each over those before it in the alphabet, and all over managed-settings.json."""
    try:
        return sorted((MANAGED / "managed-settings.d").glob("[!.]*.json"), reverse=True)
    except OSError:
        return []


def _read(name: str, file: Path) -> Layer | None:
    try:
        told = json.loads(file.read_text("utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        return Layer(name, file, {}, str(error))
    return Layer(name, file, told) if isinstance(told, dict) else Layer(name, file, {}, "it holds no object")
