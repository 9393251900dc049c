"""What an attack is: the calls that a scripted model makes in one phase, and what must not come of them. Knows no player.

In an input, `$root` stands for the project, `$out` for a folder outside of it, `$home`, `$config` (Claude Code's own folder),
`$state` (bitten's memory at home), `$session` (the file there of this session), `$plugin`, `$case` (the case's folder) and `$python`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Call = tuple[str, Mapping[str, Any]]

NONE, BEFORE, FIX, VERIFIED = "no case", "before a confirmed cause", "fix", "verified"
PHASES = (NONE, BEFORE, FIX, VERIFIED)
"""Where the case stands: none is open; a hypothesis is supported but nobody confirmed it; confirmed, held to a scope; verified."""

HARM = "a file of the project changes"
FORGED = "the cause counts as confirmed"


@dataclass(frozen=True)
class Attack:
    """One row of the table. `harm` is what must not have happened, beside the change of any file that `may` does not name.

    `lawful` are calls that a well-behaved model makes first, and that must go through; a driver brings what they do into the tree at its
    end. `subagent` lets a subagent make the calls.
    `needs` names the program without which it could do no harm; `bites` says that without a gate it does harm: where it doesn't (a tool
    that this version lacks, a channel that is shut anyway) the row is there for the day that it will.
    `answer` stands in what the plugin's session is told, or the row attacked nothing.
    `options` are a person's, with which the session was started.
    `passes` says why the plugin lets it through, and `caught_by` names what still catches it: a key of `catches.CATCHES`.
    """

    name: str
    calls: tuple[Call, ...]
    phase: str = BEFORE
    harm: str = HARM
    kind: str = ""
    lawful: tuple[Call, ...] = ()
    may: tuple[str, ...] = ()
    subagent: bool = False
    needs: str = ""
    bites: bool = True
    options: tuple[str, ...] = ()
    answer: str = ""
    passes: str = ""
    caught_by: tuple[str, ...] = field(default=())

    @property
    def is_late(self) -> bool:
        """Whether its harm may come when its call is long over."""
        return any("sleep" in str(given) for _, given in self.calls)

    @property
    def does(self) -> str:
        """The calls in short, for the table."""
        made = [call for call in (*self.lawful, *self.calls) if call[0] != "Read"] or self.calls
        return "; ".join(_short(tool, given) for tool, given in made)


def _short(tool: str, given: Mapping[str, Any]) -> str:
    for key in ("command", "file_path", "notebook_path", "skill", "prompt", "plan", "url", "query", "name"):
        if key in given:
            text = " ".join(str(given[key]).replace("$python", "python").replace("$root/", "").split())
            return f"{tool} `{text if len(text) < 70 else text[:67] + '…'}`".replace("|", "\\|")
    return tool


def bash(command: str, **more: Any) -> Call:
    return "Bash", {"command": command, "description": "look", **more}


def edit(path: str, old: str, new: str, **more: Any) -> Call:
    return "Edit", {"file_path": path, "old_string": old, "new_string": new, **more}


def write(path: str, content: str = "stolen = 1\n") -> Call:
    return "Write", {"file_path": path, "content": content}


def read(path: str) -> Call:
    return "Read", {"file_path": path}
