"""What killed commands left in a project, put in order: a run is handed on, what is half-written goes out of the way. One line each.

Knows no case: whoever asks says what becomes of a run. What a machine that went down took along can't be found here; a torn
line of a journal is the journal's own affair.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shlex
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from bitten.adapters.runs.runner import found
from bitten.core.failure import Command
from bitten.core.ports import Observed
from bitten.core.trouble import Trouble

from . import config, places
from .folder import CaseFolder, Cases, Redact, homes, write
from .held import forget, owner, sweep
from .journal import FileJournal
from .sitting import Killed, killed

Rescue = Callable[[Observed, tuple[str, ...], Path], str]
Redraw = Callable[[], None]
ASIDE = "set-aside"


def recover(root: Path, redact: Redact, rescue: Rescue, redraw: Redraw) -> list[str]:
    """What was found. `rescue` makes a case of a run and says so, unless it was one already; `redraw` brings documents up to date."""
    said: list[str] = []
    for each in killed():
        if each.project == root:
            said += _recovered(each, root, redact, rescue, redraw)
        elif each.concerns(root):
            forget(each.folder)
    return said


def _recovered(each: Killed, root: Path, redact: Redact, rescue: Rescue, redraw: Redraw) -> list[str]:
    """The sitting goes last: whatever stops us before, the next command finds it again."""
    command = each.command
    if command and each.running:
        return [f"{_shown(command, redact)} (pid {each.running}) goes on, though the bitten that watched it was killed: "
                "what it prints is lost, what its Python says when it fails is not."]
    try:
        said = list(_tidied(root, owner(each.folder), redact))
        said += _handed_on(each, command, root, redact, rescue) if command else []
        redraw()
    except (Trouble, OSError) as why:  # a full disk, say: the next command tries again
        return [f"What a killed command left could not be put in order: {why}"]
    sweep(places.scratch())
    forget(each.folder)
    return said


def _handed_on(each: Killed, command: Command, root: Path, redact: Redact, rescue: Rescue) -> list[str]:
    seen = found(each, command, root, redact)
    if seen is None:
        name, kept = _shown(command, redact), _kept(each, root, redact)
        return [f"{name} was under way when bitten was killed, and nothing tells that it failed.{kept}"]
    if seen.interrupted:
        return []
    return list(filter(None, [rescue(seen, each.expected, each.folder)]))


def _kept(each: Killed, root: Path, redact: Redact) -> str:
    """Where its output is, if it printed any."""
    tape = each.tape()
    printed = tape.read() if tape else b""
    home = next((home for home in homes(root) if home.is_dir()), None)
    if tape:
        tape.close()
    if not printed or home is None:
        return ""
    write(home / "killed-run.output", redact(printed.decode("utf-8", "replace")))
    return f" What it had printed: {home / 'killed-run.output'}"


def _tidied(root: Path, pid: int, redact: Redact) -> Iterator[str]:
    """What that process had begun. Limit: in another pid namespace a living bitten might have the same number."""
    removed = sum(_removed(path) for path in _temporary(root, pid, redact))
    if removed:
        yield f"Removed {removed} temporary file{'s' if removed > 1 else ''} of a command that was killed."
    cases = Cases(root, redact)
    if any(map(_is_half_written, cases.all())):  # a project without a case gets no folder for our looking
        with cases.held():
            yield from [_set_aside(case) for case in cases.all() if _is_half_written(case)]


def _temporary(root: Path, pid: int, redact: Redact) -> Iterator[Path]:
    for home in filter(Path.is_dir, homes(root)):
        yield from home.glob(f".*.{pid}")
        yield from (*home.glob(f"index-{pid}-*"), *home.glob(f"objects/commit-{pid}-*"))
    for case in Cases(root, redact).all():
        yield from case.path.rglob(f".*.{pid}")
    yield from (places.state() / "heads").glob(f"*.{pid}")
    lessons = (root / config.settings(root).lessons).resolve()
    yield from lessons.parent.glob(f".{lessons.name}.{pid}")


def _removed(path: Path) -> bool:
    with contextlib.suppress(OSError):  # what can't be removed does no harm where it lies
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    return not path.exists()


def _is_half_written(case: CaseFolder) -> bool:
    """Begun, and never had its first event: no living command is between the two while we hold the lock."""
    later = (case.debug_md, case.path / "run.sh")
    return not FileJournal(case.path, places.state()).begun() and not any(path.exists() for path in later)


def _set_aside(case: CaseFolder) -> str:
    """Away with it, unless something is written in it."""
    if not any(path.is_file() and path.stat().st_size for path in case.path.rglob("*")):
        shutil.rmtree(case.path)
        return f"{case.path.name} was begun by a command that was killed, and holds nothing: removed."
    place = case.path.parent / ASIDE / f"{case.path.name}-{secrets.token_hex(2)}"
    place.parent.mkdir(mode=0o700, exist_ok=True)
    os.replace(case.path, place)  # noqa: PTH105 - a folder, whole
    return f"{case.path.name} was begun by a command that was killed, and has no first event: moved to {place}"


def _shown(command: Command, redact: Redact) -> str:
    return f"`{redact(shlex.join(command.argv))}`"
