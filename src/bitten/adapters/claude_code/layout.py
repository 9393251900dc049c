"""The plugin as real files with the interpreter filled in, in a marketplace of its own in our data folder. Starts no program but Python."""

from __future__ import annotations

import errno
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import platformdirs

import bitten
from bitten.core.trouble import Unable

MARKETPLACE = "bitten"
PLUGIN = f"bitten@{MARKETPLACE}"
SIGN = "bitten/claude-plugin/plugins/bitten/hooks/"
"""In the path of each of our hooks, wherever the data folder is."""
_SHIPPED = Path(bitten.__file__).parent / "interfaces" / "claude_plugin"


def place() -> Path:
    """The marketplace's folder; the plugin is in `plugins/bitten`."""
    return Path(platformdirs.user_data_dir("bitten")) / "claude-plugin"


def plugin_in(marketplace: Path) -> Path:
    return marketplace / "plugins" / "bitten"


def lay_out(marketplace: Path) -> Path:
    """Every file anew, whole or not at all; returns the plugin's own folder.

    Raises: Unable `plugin-cannot-import` where its hooks could not find bitten, `plugin-not-laid-out` where the folder can't be written.
    """
    _importable()
    new = marketplace.with_name(f".{marketplace.name}.{os.getpid()}")
    try:
        new.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(_SHIPPED, plugin_in(new), ignore=shutil.ignore_patterns("__pycache__", "*.pyc"))
        for file in plugin_in(new).rglob("*.json"):
            file.write_text(_filled(file.read_text("utf-8")), "utf-8")
        (new / ".claude-plugin").mkdir()
        (new / ".claude-plugin" / "marketplace.json").write_text(json.dumps(_catalogue(), indent=2) + "\n", "utf-8")
        _swap(new, marketplace)
    except OSError as error:
        raise Unable("plugin-not-laid-out", f"Can't write {error.filename or marketplace}: {error.strerror}.",
                     way="set XDG_DATA_HOME to a folder that can be written") from None
    finally:
        shutil.rmtree(new, ignore_errors=True)
    return plugin_in(marketplace)


def take_away(marketplace: Path) -> bool:
    """Whether there was one."""
    was = marketplace.is_dir()
    shutil.rmtree(marketplace, ignore_errors=True)
    return was


def hooks_at(plugin: Path) -> Mapping[str, list[object]]:
    """What a settings file takes: the hooks, by absolute paths into where the plugin is, or will be."""
    text = _filled((_SHIPPED / "hooks" / "hooks.json").read_text("utf-8"))
    here = re.sub(r'\\"\$\{CLAUDE_PLUGIN_ROOT\}/([^"\\]+)\\"', lambda found: _in_json(shlex.quote(str(plugin / found[1]))), text)
    told: dict[str, Mapping[str, list[object]]] = json.loads(here)
    return told["hooks"]


def commands() -> Mapping[str, str]:
    """Each of our commands' files, by name."""
    return {file.name: file.read_text("utf-8") for file in sorted((_SHIPPED / "commands").glob("*.md"))}


def _filled(text: str) -> str:
    told = {"@PYTHON@": shlex.quote(sys.executable), "@PROGRAM@": sys.executable, "@VERSION@": bitten.__version__}
    for name, value in told.items():
        text = text.replace(name, _in_json(value))
    return text


def _in_json(value: str) -> str:
    return json.dumps(value)[1:-1]


def _catalogue() -> Mapping[str, object]:
    return {"name": MARKETPLACE, "owner": {"name": "The bitten founders"}, "description": "bitten, from this machine",
            "plugins": [{"name": "bitten", "source": "./plugins/bitten", "description": "Evidence-gated debugging"}]}


def _importable() -> None:
    """Hooks run isolated (-I), so that nothing of the project is imported in our place; a user's own site-packages is left out too."""
    found = subprocess.run([sys.executable, "-I", "-c", "import bitten"], cwd="/", capture_output=True, check=False).returncode == 0
    if not found:
        raise Unable("plugin-cannot-import", f"{sys.executable} does not find bitten when it runs isolated, as hooks do.",
                     "It is on PYTHONPATH, or in the user's site-packages.", "install it into an environment: uv tool install bitten")


def _swap(new: Path, old: Path) -> None:
    """The old one stands until the new one is whole; between the two renames there is none for an instant."""
    aside = old.with_name(f".{old.name}.old-{os.getpid()}")
    with suppress(FileNotFoundError):  # the first; or another one lays out at this very moment
        old.rename(aside)
    try:
        new.rename(old)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):  # else it was quicker, and its own is as whole
            raise
    shutil.rmtree(aside, ignore_errors=True)
