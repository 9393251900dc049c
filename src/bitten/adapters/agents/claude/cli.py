"""The Claude CLI as a program: where it is, whether it is new enough, and how it is started so that it can't outlive us."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from bitten.adapters import places
from bitten.adapters.held import held_folder, sweep
from bitten.adapters.watching.proc import stat
from bitten.core.trouble import Unable

from .environment import dropped, passing

OLDEST = (2, 1, 317)
"""The first CLI that was seen to block a call when a hook of the SDK fails; 2.1.312 lets it through. (Hooks that are commands: 2.1.295.)"""
OLDEST_SDK = (0, 2, 177)
INSTALL = "pip install 'bitten[claude]'"
FENCED = Path(__file__).with_name("fenced.py")
GRACE = 3.0
"""Seconds from SIGTERM to SIGKILL; the CLI takes 0.1 to 2 to end."""


def found(given: str | Path | None, env: Mapping[str, str]) -> str:
    """The CLI to start, by its whole path: the session works in another folder.

    Raises: Unable `agent-not-installed`, `agent-no-cli`, `agent-too-old`.
    """
    package = _package()
    named = str(given) if given else _bundled(package) or "claude"
    there = shutil.which(named, path=env.get("PATH"))
    if not (there or given):
        raise Unable(
            "agent-no-cli", "claude-agent-sdk is installed without its Claude CLI, and there is no `claude` on the PATH.",
            "The wheels for musl systems and for Windows on ARM bring none.",
            "npm install -g @anthropic-ai/claude-code, then run the command again",
        )
    cli = os.path.abspath(there or named)  # noqa: PTH100 - a link stays one: programs look at the name that they are called by
    _new_enough(cli, env)
    return cli


def _package() -> Path:
    spec = find_spec("claude_agent_sdk")
    if spec is None or spec.origin is None:
        raise Unable("agent-not-installed", "The Claude Agent SDK is not installed.", way=INSTALL)
    with suppress(PackageNotFoundError):
        if _numbers(told := version("claude-agent-sdk")) < OLDEST_SDK:
            raise Unable("agent-too-old", f"claude-agent-sdk {told} is too old: a hook that fails would not block.", way=f"{INSTALL} -U")
    return Path(spec.origin).parent


def _bundled(package: Path) -> str | None:
    cli = package / "_bundled" / "claude"
    return str(cli) if cli.is_file() else None


def _new_enough(cli: str, env: Mapping[str, str]) -> None:
    try:
        told = subprocess.run([cli, "--version"], env=passing(env), capture_output=True, text=True, errors="replace",
                              stdin=subprocess.DEVNULL, timeout=30, check=False).stdout
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unable("agent-no-cli", f"{cli} does not start: {error}", way=f"reinstall it: {INSTALL} --force-reinstall") from None
    if _numbers(told) < OLDEST:
        raise Unable(
            "agent-too-old", f"{cli} is Claude CLI {told.strip()[:40] or '(of no version)'}; bitten needs 2.1.317.",
            "An older one lets a call through when the hook that guards it fails.", f"claude update, or {INSTALL} -U",
        )


def _numbers(told: str) -> tuple[int, ...]:
    numbers = re.match(r"\s*(\d{1,9})\.(\d{1,9})\.(\d{1,9})", told)
    return tuple(map(int, numbers.groups())) if numbers else (0, 0, 0)


@contextmanager
def launched(cli: str, env: Mapping[str, str], writable: Sequence[str]) -> Iterator[Launch]:
    """The script, and what the CLI leaves behind; gone with all that it started when the context ends."""
    with _folder() as folder:
        launch = Launch(cli, env, folder, writable)
        try:
            yield launch
        finally:
            launch.stop(wait=True)


@contextmanager
def _folder() -> Iterator[Path]:
    """Where programs may be run from: some systems forbid it for temporary folders."""
    for place in (places.scratch, places.state, places.memory):
        base = place() / "claude"
        with held_folder(base) as folder:
            sweep(base)
            (probe := folder / "probe").touch(0o700)
            if os.access(probe, os.X_OK):
                yield folder
                return
    raise Unable("agent-no-cli", "No folder of yours may hold a program.", way="set TMPDIR to a folder that programs may run from")


def _its_own(env: Mapping[str, str]) -> list[str]:
    """Where the CLI keeps its login, and clouds keep theirs: a refreshed token must not be lost.

    Not ~/.claude.json: it is replaced by a rename, which would take the right to write to the whole home. The CLI goes on without.
    """
    home = Path(env.get("HOME") or "/nonexistent")
    config = Path(env.get("CLAUDE_CONFIG_DIR") or home / ".claude")
    return [str(each) for each in (config, home / ".aws", home / ".azure", home / ".config" / "gcloud")]


class Launch:
    """A small script that starts the CLI as we want it: without what it must not inherit, in a session of its own, and gone when we are.

    The SDK adds to our environment and can't take from it, and where we are killed the CLI would go on: hence a script. `setpriv` makes the
    kernel end the CLI with us, whatever ended us; only Linux has it.
    """

    def __init__(self, cli: str, env: Mapping[str, str], folder: Path, writable: Sequence[str]) -> None:
        self.writable = [*writable, str(folder), "/dev", *_its_own(env)]
        own = dict.fromkeys(("TMPDIR", "CLAUDE_CODE_TMPDIR", "XDG_CACHE_HOME"), str(folder))
        self.cli, self.env = cli, {**passing(env), **own}
        self.path, self._pid = folder / "claude", folder / "pid"
        self.path.write_text(f"#!/bin/sh\necho $$ > {shlex.quote(str(self._pid))}\nexec {shlex.join(self._words())} \"$@\"\n", "utf-8")
        self.path.chmod(0o700)

    def _words(self) -> list[str]:
        unset = [word for name in dropped(os.environ, self.env) for word in ("-u", name)]
        alone = [tool] if (tool := shutil.which("setsid")) else []
        fenced = [sys.executable, "-I", "-S", str(FENCED), *self.writable, "--"]
        leashed = [tool, "--pdeathsig", "KILL", "--"] if (tool := shutil.which("setpriv")) else []
        return [shutil.which("env") or "/usr/bin/env", *unset, *alone, *fenced, *leashed, self.cli]

    def stop(self, wait: bool = False) -> None:
        """End the CLI and what it started; nothing where it has ended."""
        if self._signalled(signal.SIGTERM) and wait:
            until = time.monotonic() + GRACE
            while self._living() and time.monotonic() < until:
                time.sleep(0.02)
            self._signalled(signal.SIGKILL)

    def _signalled(self, number: int) -> bool:
        pid = self._living()
        with suppress(ProcessLookupError):
            if pid and os.getpgid(pid) == pid:
                os.killpg(pid, number)
            elif pid:
                os.kill(pid, number)
        return bool(pid)

    def _living(self) -> int:
        """The script noted its number before it became the CLI. 0 where that went to a stranger since, who is no child of ours, or where
        the system does not tell: then the SDK alone ends the CLI."""
        try:
            pid = int(self._pid.read_text("ascii"))
        except (OSError, ValueError):
            return 0
        told = stat(pid)
        return pid if told and told.ppid == os.getpid() and told.state != "Z" else 0
