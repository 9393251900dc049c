"""Whether an edit stays in the scope that a person agreed to: the file by its real place, the function by the text that would result."""

from __future__ import annotations

import os
import stat

from .functions import Broken, Unsure, strays

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from .reading import Reading

PYTHON = (".py", ".pyi", ".pyw")
MOST = 16 << 20
"""Bytes of a file that is parsed here; larger ones are left to `verify`."""


class Misfit(Exception):  # noqa: N818 - it says what the call is
    """The edit can't be made as it is written."""


def refusal(case: Reading, tool: str, told: Mapping[str, Any], path: str, cwd: str) -> str:
    """Why an edit is out of scope; empty where it is inside."""
    if ".." in path.split("/"):  # by the names or by the links? Claude Code and the system would not agree
        return "its path goes up by `..`"
    place = os.path.join(cwd, path)
    name = _in_root(case.root, place)
    if name not in case.files:
        return f"{name or path} is not in it"
    try:
        mode = os.lstat(place)
    except FileNotFoundError:
        mode = None
    if mode and not stat.S_ISREG(mode.st_mode):
        return f"{name} is a link or a special file, so what it leads to would change"
    if mode and mode.st_nlink > 1:
        return f"{name} is a hard link: another file would change with it"
    return _in_functions(case, name, tool, told, place)


def _in_root(root: str, place: str) -> str:
    """The file's name from the root on, as its folder really lies, in the letter case it is given in; empty where it lies elsewhere."""
    folder, root = os.path.realpath(os.path.dirname(place)), os.path.realpath(root)
    real = os.path.join(folder, os.path.basename(place))
    return real[len(root) + 1:] if real.startswith(f"{root}/") else ""


def _in_functions(case: Reading, name: str, tool: str, told: Mapping[str, Any], place: str) -> str:
    parts = [part for part in case.parts if part.split(":")[0] == name]
    names = [part.split(":", 1)[1] for part in parts if ":" in part]
    if name == case.test or len(names) < len(parts) or not name.endswith(PYTHON):
        return ""
    old = _text(place)
    if old is None:
        return ""
    try:
        stray = strays(old, _result(old, tool, told), names)
    except Misfit as why:
        return str(why)
    except Broken as why:
        return f"{name} would no longer parse ({why}); make the change in one edit"
    except Unsure:
        # The bug may be a syntax error, or the project's Python newer than ours: the file itself is in scope, so it is let through, and
        # `verify` holds the change to the function by a parser of its own.
        return ""
    return f"it changes {name} outside of {', '.join(names)}, at `{stray[:80]}`" if stray else ""


def _text(place: str) -> str | None:
    """None where there is nothing to compare with: a new file, a huge one, or one that is no UTF-8."""
    try:
        if os.path.getsize(place) > MOST:
            return None
        with open(place, encoding="utf-8-sig", newline="") as file:
            return _plain(file.read())
    except (FileNotFoundError, UnicodeDecodeError):
        return None


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n")


def _result(old: str, tool: str, told: Mapping[str, Any]) -> str:
    """The text as the tool would leave it. Raises: Misfit, where that is not certain."""
    if tool == "Write":
        return _plain(_string(told, "content"))
    edits = told.get("edits") if tool == "MultiEdit" else [told]
    if tool not in ("Edit", "MultiEdit") or not isinstance(edits, list):
        raise Misfit(f"{tool} is not followed here; use Edit")
    for each in edits:
        old = _edited(old, each)
    return old


def _edited(text: str, edit: Mapping[str, Any]) -> str:
    was, becomes = _plain(_string(edit, "old_string")), _plain(_string(edit, "new_string"))
    times = text.count(was) if was else 0
    if not times or (times > 1 and not edit.get("replace_all")):
        raise Misfit("old_string does not stand in the file exactly once as it is written; read the file again and quote it exactly")
    if not becomes and not was.endswith("\n") and f"{was}\n" in text:  # Claude Code takes the end of line away with what it deletes
        was = f"{was}\n"
    return text.replace(was, becomes)


def _string(told: Mapping[str, Any], name: str) -> str:
    value = told.get(name)
    if not isinstance(value, str):
        raise Misfit(f"{name} is no text")
    return value
