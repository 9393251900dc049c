"""What no tool of an agent writes, with or without a case: cases, settings, git's own folder, the gate itself. Knows no phase."""

from __future__ import annotations

import os
import re
import sys

from . import places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

FOLDERS = {".bitten": "the cases", ".claude": "Claude Code's settings", ".git": "git's own folder, its hooks and config"}
FILES = {".mcp.json": "the MCP servers", ".claude.json": "Claude Code's settings"}
NOTES = re.compile(r"(plans/[^/]+|projects/[^/]+/memory/.+)\.md")
"""Claude Code's own notes in its home: plans of plan mode, and its memory. They are text, and nothing runs them."""
MOST = 20_000
"""Files looked at for a hard link's other name."""


def protects(path: str, cwd: str) -> str:
    """What a path would write that stays as it is; empty where it is none of ours.

    Looked at as it is spelled and as it resolves, letter case and look-alikes folded: some file systems do so, and links hide the rest.
    """
    spelled = os.path.normpath(os.path.join(cwd, os.path.expanduser(path)))
    for each in dict.fromkeys((spelled, os.path.realpath(spelled), os.path.realpath(os.path.join(cwd, os.path.expanduser(path))))):
        found = _by_name(each) or _by_place(each)
        if found:
            return found
    return _by_link(os.path.realpath(spelled), cwd)


def _by_name(path: str) -> str:
    names = [folded(each) for each in path.split("/")]
    for number, name in enumerate(names):
        rest = names[number + 1:]
        if name == ".claude" and (_is_worktree(rest) or _is_note(path)):
            continue
        if name in FOLDERS:
            return f"{name} ({FOLDERS[name]})"
    return f"{names[-1]} ({FILES[names[-1]]})" if names[-1] in FILES else ""


def folded(name: str) -> str:
    """A file name as the most lenient file system would take it."""
    if not name.isascii():
        import unicodedata  # noqa: PLC0415 - for the few names that need it

        plain = unicodedata.normalize("NFKC", name)
        name = "".join(each for each in plain if unicodedata.category(each) != "Cf")
    return name.casefold().rstrip(". ")


def _is_worktree(rest: Sequence[str]) -> bool:
    """A work tree that Claude Code made for itself: what lies in it is judged by its own name."""
    return rest[:1] == ["worktrees"] and len(rest) > 2


def _is_note(path: str) -> bool:
    return any(NOTES.fullmatch(path[len(home) + 1:]) for home in claude_homes() if path.startswith(f"{home}/"))


def claude_homes() -> list[str]:
    """Claude Code's own folder."""
    named = os.environ.get("CLAUDE_CONFIG_DIR") or os.path.expanduser("~/.claude")
    return list(dict.fromkeys((os.path.abspath(named), os.path.realpath(named))))


def _by_place(path: str) -> str:
    for folder, what in _places():
        if path == folder or path.startswith(f"{folder}/"):
            return "" if what == FOLDERS[".claude"] and _is_note(path) else f"{folder} ({what})"
    return ""


def _places() -> Iterator[tuple[str, str]]:
    for home in claude_homes():
        yield home, FOLDERS[".claude"]
    for folder in (os.path.dirname(os.path.dirname(os.path.abspath(__file__))), os.environ.get("CLAUDE_PLUGIN_ROOT"), places.data()):
        if folder:
            yield os.path.realpath(folder), "the gate itself"
    for folder in (*places.spare(), *places.states()):
        yield os.path.realpath(folder), "bitten's own state"
    for entry in sys.path:
        if os.path.basename(entry) in ("site-packages", "dist-packages"):
            yield f"{os.path.realpath(entry)}/bitten", "the gate itself"


def _by_link(path: str, cwd: str) -> str:
    """A second name of a protected file: its inode is looked for, which only files with several names cost."""
    try:
        mine = os.lstat(path)
    except OSError:  # new
        return ""
    if mine.st_nlink < 2 or not os.path.isfile(path):
        return ""
    for number, file in enumerate(_protected_files(cwd)):
        if number > MOST:
            return f"{path} (one of several names of a file)"
        if os.path.exists(file) and os.path.samefile(file, path):
            return f"{file} (another name of it)"
    return ""


def _protected_files(cwd: str) -> Iterator[str]:
    """What a hard link would be made to. Our folders of copies and of what runs are left out: they are large, and nothing there decides."""
    here = [f"{root}/{name}" for root in places.roots(cwd) for name in (".claude", ".mcp.json", ".bitten", ".git/hooks", ".git/config")]
    home = [f"{home}/{name}" for home in claude_homes() for name in ("settings.json", "settings.local.json", ".claude.json", "plugins")]
    ours = [folder for folder, what in _places() if what == "the gate itself"]
    for top in (*here, *home, os.path.expanduser("~/.claude.json"), *ours, *(f"{place}/claude" for place in places.states())):
        if os.path.isfile(top):
            yield top
        for folder, _, files in os.walk(top):
            yield from (f"{folder}/{file}" for file in files)


SPOKEN = re.compile(
    r"(?<![\w-])\.(?:bitten(?![\w.-])|claude(?:\.json|(?![\w.-]))(?!/+worktrees/)|mcp\.json(?![\w.-])|git/+(?:hooks|config|modules)(?![\w.-]))"
    r"|hookspath|fsmonitor", re.I)
"""Protected paths as a command's text may name them, its quotes and backslashes taken out."""


def spoken_of(command: str) -> str:
    """The first protected path that a command's text names. A variable, a glob or an encoding hides one: this only sees plain words."""
    plain = re.sub(r"[\"'\\]|\n", "", command)
    found = SPOKEN.search(plain)
    named = [folder for folder, _ in _places() if f"{folder}/" in plain or plain.endswith(folder)]
    return found[0] if found else named[0] if named else ""
