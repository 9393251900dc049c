"""Which Python of a failed command the guest did not enter, and why. Told only where the failure may lie in it; starts nothing.

By what was sampled of the processes; one that lived too short for that is guessed at from the command's own words and recipes, and
then the note says "may".
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from bitten.adapters.folder import masked
from bitten.adapters.watching.watch import Seen
from bitten.core.failure import Command, Crash
from bitten.guest import HOME

FROM_TEXT = "read from the output: no variables"
"""What is said of a failure that only the output showed."""
MOST = 4
"""Processes that are named."""
LONGEST = 120
"""Characters of a command line."""
TEXT = 1 << 20
"""Bytes of a recipe that are read."""
ELSEWHERE = frozenset(("docker", "podman", "nerdctl", "apptainer", "singularity", "enroot", "kubectl", "ssh", "srun", "flux"))
DROPPERS = frozenset(("sudo", "su", "doas", "runuser", "tox", "nox", "bazel", "systemd-run", "nix-shell", "chroot"))
FROZEN = ("Failed to execute script", "[PYI-", "Nuitka")
RELAYED = frozenset(("CalledProcessError", "ChildFailedError", "ProcessExitedException"))
"""Exceptions that only say that another process failed."""
_TRACEBACK = "Traceback (most recent call last)"
_OLD = re.compile(r"python(?:2(?:\.\d+)?|3\.[0-7])$")
_WITH_VALUE = "WX"
_GUESSES: Mapping[str, tuple[re.Pattern[str], bool]] = {
    "starts Python with -I, -E or -S": (re.compile(r"\bpython[\d.]*\s+(?:-\w+\s+)*-[a-zA-Z]*[IES]"), True),
    "sets PYTHONPATH anew": (re.compile(r"\bPYTHONPATH=(?!\S*(?:\$\{?\(?PYTHONPATH))"), True),
    "drops the environment": (re.compile(r"\b(?:env\s+(?:-\w+\s+)*(?:-i\b|-\s|--ignore-environment)|sudo\b|tox\b)"), False),
    "starts a container, or a program on another host": (re.compile(rf"\b(?:{'|'.join(sorted(ELSEWHERE))})\s"), False),
}
"""What a line of a recipe does, how it is known, and whether the back door would help."""


def notes(
    command: Command, processes: Sequence[Seen], met: Collection[int], output: str, redact: Callable[[str], str], has_native: bool = False
) -> list[str]:
    """`met` are the processes that checked in, `output` is what was printed, redacted. `has_native`: the back door was open already.

    A failure that was read from the output alone was in a process that the guest did not enter, whether it was sampled or not.
    """
    missed = [each for each in processes if _is_python(each) and each.pid not in met]
    told = list(_named(missed, processes, redact)) or list(_guessed(command, output))
    words = [*(word for word, _ in told), *_elsewhere(processes)]
    if not has_native and any(helps for _, helps in told):
        words.append(f"to let the guest in: bitten run --native -- {shlex.join(masked(command.argv, redact))}")
    return words


def matters(crashes: Iterable[Crash]) -> bool:
    """Whether a failure may lie where the guest was not: it saw no end of a process, or only that another process failed."""
    return all(crash.type.rpartition(".")[2] in RELAYED for crash in crashes if not crash.handled)


def _is_python(each: Seen) -> bool:
    """Another user's program shows its command line alone."""
    return each.is_python or (not each.exe and bool(each.argv) and Path(each.argv[0]).name.startswith(("python", "pypy")))


def _named(missed: Sequence[Seen], processes: Sequence[Seen], redact: Callable[[str], str]) -> Iterator[tuple[str, bool]]:
    """One line for those of the same command line, as forked workers have."""
    groups: dict[tuple[str, ...], list[Seen]] = {}
    for each in missed:
        groups.setdefault(each.argv, []).append(each)
    parents = {each.pid: each for each in processes}
    for argv, (first, *others) in list(groups.items())[:MOST]:
        why, helps = reason(first, parents)
        more = f" and {len(others)} more" if others else ""
        yield f"the guest did not enter pid {first.pid}{more} ({_shown(argv, redact)}): {redact(why)}", helps


def _shown(argv: Sequence[str], redact: Callable[[str], str]) -> str:
    words = " ".join(shlex.join(masked(argv, redact)).split())
    return words if len(words) <= LONGEST else words[:LONGEST] + "…"


def reason(each: Seen, parents: Mapping[int, Seen] = {}) -> tuple[str, bool]:
    """Why the guest is not in it, and whether the back door would have let it in."""
    if _OLD.search(each.exe):
        return f"{Path(each.exe).name} is older than 3.8", False
    if not each.exe:
        return f"it is another user's, {_dropper(each, parents)}", False
    if not each.is_invited:  # one that can't be read is empty: whose program we may see, its environment we may read
        return f"its environment was dropped, {_dropper(each, parents)}", False
    if flags := shutting(each.argv):
        return f"{flags} shuts it out", True
    return _by_path(each)


def _by_path(each: Seen) -> tuple[str, bool]:
    paths = (each.pythonpath or "").split(os.pathsep)
    if HOME not in paths:
        return f"PYTHONPATH={each.pythonpath or ''} was set for it", True
    if before := next((path for path in paths[:paths.index(HOME)] if Path(path, "sitecustomize.py").is_file()), None):
        return f"{before}/sitecustomize.py stands before ours, and may let no other run", True
    return "it may have ended before it had begun", False


def _dropper(each: Seen, parents: Mapping[int, Seen]) -> str:
    for _ in range(len(parents)):
        parent = parents.get(each.ppid)
        if parent is None:
            break
        if parent.name in DROPPERS:
            return f"by {parent.name}"
        each = parent
    return "as env -i, sudo and tox do"


def shutting(argv: Sequence[str]) -> str:
    """The interpreter's own options that keep PYTHONPATH or site from it; empty when none does."""
    found, words = "", iter(argv[1:])
    for word in words:
        if not word.startswith("-") or word in ("-", "--"):
            break
        if word.startswith("--"):
            next(words, None)
            continue
        for at, flag in enumerate(word[1:], 1):
            if flag in "cm":
                return _dashed(found)
            if flag in _WITH_VALUE:
                if at == len(word) - 1:
                    next(words, None)
                break
            found += flag if flag in "IES" and flag not in found else ""
    return _dashed(found)


def _dashed(flags: str) -> str:
    return " ".join(f"-{flag}" for flag in flags)


def _elsewhere(processes: Sequence[Seen]) -> Iterator[str]:
    for name in dict.fromkeys(each.name for each in processes if each.name in ELSEWHERE):
        yield f"{name} starts programs in another container or on another host, where the guest may not be"


def _guessed(command: Command, output: str) -> Iterator[tuple[str, bool]]:
    """No Python was found that did not check in: it came and went between two looks, or looks like none."""
    if any(sign in output for sign in FROZEN):
        yield "a frozen application has its own Python, which lets no guest in", False
    else:
        for where, line in _recipes(command, _TRACEBACK in output):
            for what, (pattern, helps) in _GUESSES.items():
                if pattern.search(line):
                    yield f"{where} {what}, which may have kept the guest out", helps
                    return


def _recipes(command: Command, is_python: bool) -> Iterator[tuple[str, str]]:
    """The command itself; where a Python spoke, the lines of the files too that it names as scripts, or that make reads."""
    yield "the command", " ".join(command.argv)
    if not is_python:
        return
    folder = Path(command.cwd)
    names = [word for word in command.argv if word.endswith((".sh", ".bash", ".mk", "akefile"))]
    if Path(command.argv[0]).name in ("make", "gmake"):
        names += ["GNUmakefile", "makefile", "Makefile"]
    for name in names:
        for number, line in enumerate(_lines(folder / name), 1):
            yield f"{name}:{number}", line


def _lines(file: Path) -> list[str]:
    try:
        with file.open("rb") as opened:
            return opened.read(TEXT).decode("utf-8", "replace").splitlines()
    except OSError:
        return []
