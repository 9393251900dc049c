"""Our hooks in a project's `.claude/settings.json`, beside whatever else a person keeps there; and our commands, which it can't hold.

Every other byte of the file stays. Knows no case.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bitten.adapters.theirs import rewrite
from bitten.core.trouble import BadInput, gate

from . import layout
from .splice import added, members, removed

FILES = ("settings.json", "settings.local.json")


@dataclass(frozen=True)
class Change:
    """What a file has, and what it would have; None where it is not there, or would go."""

    file: Path
    old: str | None
    new: str | None

    def make(self) -> None:
        """Raises: Refused `settings-not-agreed`, where the file is not any more what it was when the change was shown."""
        gate(_text(self.file) == self.old, "settings-not-agreed", f"{self.file} has changed since it was shown.",
             "Nothing was put over it.", "call the same once more")
        if self.new is not None:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            rewrite(self.file, self.new.encode("utf-8", "surrogateescape"))
            return
        self.file.unlink(missing_ok=True)
        with suppress(OSError):  # something else is in it
            self.file.parent.rmdir()


def put_in(root: Path, plugin: Path, name: str) -> list[Change]:
    """What it takes for a project's sessions to run our hooks, and to know our commands. Raises: BadInput `settings-not-json`."""
    file = root / ".claude" / name
    old = _text(file)
    new = _without_ours(file, old or "{}\n")
    for event, groups in layout.hooks_at(plugin).items():
        new = added(new, ("hooks", event), groups)
    return [*_changed(file, old, new), *_commands(root, there=True)]


def taken_out(root: Path) -> list[Change]:
    """The way back, of either settings file. Raises: BadInput `settings-not-json`."""
    return [*(each for name in FILES for each in _back(root / ".claude" / name)), *_commands(root, there=False)]


def _back(file: Path) -> Iterator[Change]:
    old = _text(file)
    if old is not None:
        new = _without_ours(file, old)
        yield from _changed(file, old, None if new != old and not json.loads(new) else new)


def _changed(file: Path, old: str | None, new: str | None) -> list[Change]:
    return [] if old == new else [Change(file, old, new)]


def _text(file: Path) -> str | None:
    return file.read_bytes().decode("utf-8", "surrogateescape") if file.exists() else None


def _without_ours(file: Path, text: str) -> str:
    """Also without those of an earlier install, wherever that lay."""
    _held(file, text)
    for event in members(text, ("hooks",)):
        text = removed(text, ("hooks", event), lambda group: layout.SIGN in json.dumps(group))
    return text


def _held(file: Path, text: str) -> None:
    """Raises: BadInput, where we can't tell what we would change."""
    why = ""
    try:
        told = json.loads(text, object_pairs_hook=_once)
        hooks = told.get("hooks", {}) if isinstance(told, dict) else None
        if not isinstance(hooks, dict) or not all(isinstance(each, list) for each in hooks.values()):
            why = "its hooks have another form than Claude Code's"
    except ValueError as error:
        why = f"it is no JSON: {error}"
    if why:
        raise BadInput("settings-not-json", f"Can't change {file}: {why}.", "Nothing was written.",
                       f"mend {file}, or use the plugin:  bitten plugin install")


def _once(pairs: Sequence[tuple[str, Any]]) -> Mapping[str, Any]:
    told = dict(pairs)
    if len(told) != len(pairs):
        raise ValueError("a name stands twice in one object")
    return told


def _commands(root: Path, *, there: bool) -> Iterator[Change]:
    """Claude Code's screen asks no hook about a command that it does not know. A file that a person changed is theirs."""
    for name, text in layout.commands().items():
        file = root / ".claude" / "commands" / "bitten" / name
        old = _text(file)
        if there and old is None:
            yield Change(file, None, text)
        elif not there and old == text:
            yield Change(file, old, None)
