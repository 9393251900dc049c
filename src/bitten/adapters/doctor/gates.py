"""Our gates in Claude Code as they lie on disk: installed, of our version, whole, and not switched off by any setting. Runs nothing."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import stat
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bitten import __version__
from bitten.adapters import places
from bitten.adapters.claude_code import effective, layout
from bitten.adapters.claude_code.effective import Layer
from bitten.adapters.claude_code.sessions import remembered
from bitten.core.noun import noun

from .vital import ADVISORY, BROKEN, OK, Vital

AGAIN = "bitten plugin install"
TRIAL = "a trial"
"""Where none is installed: laid out as it would be."""
ROOT = "${CLAUDE_PLUGIN_ROOT}"
NEEDED = ("SessionStart", "UserPromptExpansion", "PreToolUse", "PostToolUse", "PostToolUseFailure", "Stop")
BARE = "--bare and --safe-mode switch hooks off for one session, and can't be seen from here"


@noun
class Gate:
    """A plugin's folder that sessions here load; `where` says by which way."""

    folder: Path
    where: str

    def copied(self, place: Path) -> Gate:
        """The same gate elsewhere, to be tried: a Python that runs its scripts leaves byte code beside them."""
        shutil.copytree(self.folder, place, ignore=shutil.ignore_patterns("__pycache__"))
        hooks = place / "hooks" / "hooks.json"
        hooks.write_text(hooks.read_text("utf-8").replace(str(self.folder), str(place)), "utf-8")
        return Gate(place, self.where)

    def hooks(self) -> Mapping[str, list[dict[str, Any]]]:
        """By event. Raises: OSError, ValueError where there are none to be read."""
        told = json.loads((self.folder / "hooks" / "hooks.json").read_text("utf-8"))
        hooks = told.get("hooks") if isinstance(told, dict) else None
        if not isinstance(hooks, dict) or not all(map(_is_groups, hooks.values())):
            raise ValueError('it has no "hooks" of the form that Claude Code reads')
        return hooks

    def commands(self, event: str) -> list[dict[str, Any]]:
        return [hook for group in self.hooks().get(event, []) for hook in group["hooks"] if hook.get("command")]

    def is_closed(self) -> bool:
        """Whether the hook before each tool call is asked for every tool, and blocks when it fails."""
        every = [group for group in self.hooks().get("PreToolUse", []) if group.get("matcher") in (None, "", "*")]
        return any("|| exit 2" in str(hook.get("command")) and hook.get("onFailure") == "block" and not hook.get("async")
                   for group in every for hook in group["hooks"])


def _is_groups(told: object) -> bool:
    """Whether Claude Code takes it for what an event is answered with."""
    return isinstance(told, list) and all(isinstance(group, dict) and isinstance(group.get("hooks"), list)
                                          and all(isinstance(hook, dict) for hook in group["hooks"]) for group in told)


def gates(root: Path) -> list[Gate]:
    """Installed as a plugin, or put into a settings file."""
    found = effective.layers(root)
    plugins = [Gate(folder, "plugin") for folder in effective.installed(layout.PLUGIN, root)]
    by_settings = [Gate(folder, f"{layer.name} settings") for layer in found for folder in _folders_in(layer)]
    return [*plugins, *by_settings]


def _folders_in(layer: Layer) -> list[Path]:
    commands = re.findall(r'"command": ("(?:[^"\\]|\\.)*")', json.dumps(layer.told.get("hooks", {})))
    gates = (word for each in commands for word in _words(json.loads(each)) if word.startswith("/") and word.endswith("/hooks/gate.py"))
    return list(dict.fromkeys(Path(each).parent.parent for each in gates))


def _words(command: str) -> list[str]:
    """As a shell would split it; nothing of what no shell would take."""
    try:
        return shlex.split(command)
    except ValueError:
        return []


def vitals(root: Path, found: list[Gate]) -> Iterator[Vital]:
    if not found:
        yield _vital("plugin", ADVISORY, "is not installed: sessions in Claude Code have no gate of ours here", AGAIN)
        return
    for gate in found:
        yield from _whole(gate)
    layers = effective.layers(root)
    yield from _switched_off(found, layers)
    yield from _modes(found, layers)
    yield _trusted(root)
    yield from _heard(root)


def _whole(gate: Gate) -> Iterator[Vital]:
    """One line: the first thing that is wrong with it, or that nothing is."""
    try:
        why = _missing(gate)
    except (OSError, ValueError) as error:
        why = f"hooks.json can't be read ({error}): none of its hooks runs, and edits go through without a word"
    version = _version(gate)
    if why:
        yield _vital("plugin", BROKEN, f"{gate.folder}: {why}", AGAIN)
    elif version != __version__:
        other = f"is of bitten {version or '(no version)'}, and this is {__version__}"
        yield _vital("plugin", BROKEN, other, f"{AGAIN}, then a new session")
    else:
        yield _vital("plugin", OK, f"{version} by {gate.where}, {gate.folder}")


def _missing(gate: Gate) -> str:
    for event in NEEDED:
        if not gate.commands(event):
            return f"hooks.json has no hook for {event}"
    for event in gate.hooks():
        for hook in gate.commands(event):
            if why := _unusable(gate, str(hook["command"])):
                return why
    return "" if gate.is_closed() else "its hook before a tool call lets calls through when it fails (onFailure, || exit 2, matcher *)"


def _unusable(gate: Gate, command: str) -> str:
    """Why a hook's command can't run."""
    program, *words = shlex.split(command.replace(ROOT, str(gate.folder)))
    if not Path(program).is_file() or not os.access(program, os.X_OK):
        return f"the interpreter of its hooks, {program}, is not there"
    script = next((word for word in words if word.endswith(".py")), "")
    return f"the script {script} is not there" if script and not Path(script).is_file() else ""


def _version(gate: Gate) -> str:
    try:
        told = json.loads((gate.folder / ".claude-plugin" / "plugin.json").read_text("utf-8"))
    except (OSError, ValueError):
        return ""
    return str(told.get("version", "")) if isinstance(told, dict) else ""


def _switched_off(found: list[Gate], layers: list[Layer]) -> Iterator[Vital]:
    why = list(_reasons(found, layers))
    yield from why or [_vital("settings", OK, f"switch nothing off; {BARE}")]


def _reasons(found: list[Gate], layers: list[Layer]) -> Iterator[Vital]:
    for layer in layers:
        if layer.trouble:
            yield _vital("settings", ADVISORY, f"{layer.file} can't be read: {layer.trouble}", f"mend {layer.file}")
    off, by = effective.value(layers, "disableAllHooks")
    if off is True and by:
        yield _vital("settings", BROKEN, f"disableAllHooks in {by.file}: no hook runs, ours neither", f"take it out of {by.file}")
    only, by = effective.value([each for each in layers if each.name == "managed"], "allowManagedHooksOnly")
    if only is True and by:
        yield _vital("settings", BROKEN, f"allowManagedHooksOnly in {by.file}: your administrator lets only their own hooks run",
                       "ask them to add ours, or debug with bitten in a terminal")
    enabled, by = effective.value(layers, "enabledPlugins", layout.PLUGIN)
    if any(gate.where == "plugin" for gate in found) and enabled is not True:
        place = f"in {by.file}" if by else "in no settings file"
        yield _vital("settings", BROKEN, f"the plugin is installed and not enabled ({place})", f"claude plugin enable {layout.PLUGIN}")
    if os.environ.get("CLAUDE_CODE_SIMPLE", "").lower() in ("1", "true", "yes"):
        yield _vital("settings", BROKEN, "CLAUDE_CODE_SIMPLE is set: sessions of this shell run no hooks", "unset CLAUDE_CODE_SIMPLE")


def _modes(found: list[Gate], layers: list[Layer]) -> Iterator[Vital]:
    """Who else could rewrite what decides."""
    files = [*(layer.file for layer in layers if layer.name != "managed"), *(path for gate in found for path in _parts(gate.folder))]
    loose = [path for path in files if _others_write(path)]
    if loose:
        yield _vital("modes", BROKEN, f"others may write {loose[0]}" + (f" and {len(loose) - 1} more" if len(loose) > 1 else ""),
                       f"chmod -R go-w {shlex.quote(str(loose[0]))}")
    else:
        yield _vital("modes", OK, "settings and hook scripts are yours alone to write")


def _parts(folder: Path) -> Iterator[Path]:
    yield folder
    yield from folder.rglob("*")


def _others_write(path: Path) -> bool:
    try:
        told = path.stat()
    except OSError:
        return False
    by_group = told.st_mode & stat.S_IWGRP and told.st_gid != os.getgid()  # a group of one's own is usual
    return told.st_uid not in (os.getuid(), 0) or bool(told.st_mode & stat.S_IWOTH or by_group)


def _trusted(root: Path) -> Vital:
    if effective.is_trusted(root):
        return _vital("trust", OK, "Claude Code trusts this folder, so its sessions at a terminal run hooks")
    return _vital("trust", ADVISORY, "Claude Code was not told to trust this folder: at a terminal it holds hooks back until then",
                    "start claude here once, and answer its question")


def _heard(root: Path) -> Iterator[Vital]:
    """Of the last session here: whether its gate answered, and of which version that was."""
    if not (places.state() / "claude").is_dir():
        return
    here = [each for each in remembered() if each.get("root") in (str(root), str(root.resolve()))]
    if not here:
        return
    last = max(here, key=lambda each: float(each.get("began") or 0))
    ago = f"{(time.time() - float(last.get('began') or 0)) / 3600:.1f} h ago"
    if last.get("version") not in (None, "", __version__):
        old = f"the last session here began {ago} with the hooks of bitten {last['version']}"
        yield _vital("heartbeat", ADVISORY, old, "begin a new one")
    elif last.get("alive"):
        yield _vital("heartbeat", OK, f"the last session here began {ago}, and its gate answered")
    else:
        yield _vital("heartbeat", ADVISORY, f"the last session here began {ago}, and made no tool call that our gate saw",
                       "if it made any, its gate is dead: bitten doctor, without --quick")


def _vital(name: str, state: str, said: str, way: str = "") -> Vital:
    return Vital("plugin", name, state, said, way)
