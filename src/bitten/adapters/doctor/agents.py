"""The agents on this machine: which `claude` there is, whether it is new enough to fail closed, and the SDK. Starts no session."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from bitten.adapters.agents.claude.cli import OLDEST as OLDEST_DRIVEN
from bitten.adapters.agents.claude.cli import OLDEST_SDK
from bitten.adapters.claude_code.cli import OLDEST, TESTED
from bitten.core.noun import noun

from .scratch import Scratch
from .vital import ADVISORY, BROKEN, OK, Vital

TESTED_SDK = (0, 2, 189)
SECONDS = 30
INSTALL = "pip install 'bitten[claude]'"


@noun
class Program:
    """A `claude` that was found: `where` tells how. Without a version it does not run; `trouble` says why."""

    path: str
    where: str
    version: tuple[int, ...] = ()
    trouble: str = ""

    @property
    def fails_closed(self) -> bool:
        return self.version >= OLDEST


def programs(scratch: Scratch) -> list[Program]:
    """The person's own first, then the one that the SDK brings. Asked for its version in a home of its own."""
    named = [(shutil.which("claude"), "on PATH"), (_bundled(), "in the SDK")]
    return [_asked(str(Path(path).absolute()), where, scratch) for path, where in named if path]


def _bundled() -> str | None:
    spec = find_spec("claude_agent_sdk")
    path = Path(spec.origin).parent / "_bundled" / "claude" if spec and spec.origin else None
    return str(path) if path and path.is_file() else None


def _asked(path: str, where: str, scratch: Scratch) -> Program:
    try:
        done = subprocess.run([path, "--version"], env=dict(scratch.env), capture_output=True, text=True, errors="replace",
                              stdin=subprocess.DEVNULL, timeout=SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Program(path, where, trouble=f"it does not run: {error}")
    numbers = _numbers(done.stdout)
    return Program(path, where, numbers, "" if numbers else f"it tells no version: {(done.stdout or done.stderr).strip()[:100]!r}")


def vitals(found: list[Program]) -> Iterator[Vital]:
    if not found:
        yield _vital("claude", ADVISORY, "no Claude CLI on PATH, and none in the SDK: bitten works without, alone in a terminal",
                       f"npm install -g @anthropic-ai/claude-code, or:  {INSTALL}")
    yield from map(_program, found)
    yield _sdk()


def _program(each: Program) -> Vital:
    name = f"{dotted(each.version)} {each.where}, {each.path}"
    if each.trouble:
        return _vital("claude", BROKEN, f"{each.path}, {each.where}: {each.trouble}", "install it again")
    way = "claude update" if each.where == "on PATH" else f"{INSTALL} -U"
    if not each.fails_closed:
        why = f"{name}: before {dotted(OLDEST)} a hook that can't start lets the call through, without a word"
        return _vital("claude", BROKEN, why, way)
    if each.version < OLDEST_DRIVEN:
        return _vital("claude", ADVISORY, f"{name}: enough for the plugin; --with claude needs {dotted(OLDEST_DRIVEN)}", way)
    if each.version[:2] != TESTED[:2]:
        return _vital("claude", ADVISORY, f"{name}: tested with {dotted(OLDEST)} to {dotted(TESTED)}", "bitten doctor, without --quick")
    return _vital("claude", OK, name)


def _sdk() -> Vital:
    try:
        told = version("claude-agent-sdk")
    except PackageNotFoundError:
        return _vital("sdk", ADVISORY, "claude-agent-sdk is not installed: only --with claude needs it", INSTALL)
    numbers = _numbers(told)
    if numbers < OLDEST_SDK:
        why = f"claude-agent-sdk {told}: before {dotted(OLDEST_SDK)} a hook that fails does not block"
        return _vital("sdk", BROKEN, why, f"{INSTALL} -U")
    if numbers[:2] != TESTED_SDK[:2]:
        return _vital("sdk", ADVISORY, f"claude-agent-sdk {told}: tested with {dotted(OLDEST_SDK)} to {dotted(TESTED_SDK)}", INSTALL)
    return _vital("sdk", OK, f"claude-agent-sdk {told}")


def dotted(numbers: tuple[int, ...]) -> str:
    return ".".join(map(str, numbers)) or "(no version)"


def _numbers(told: str) -> tuple[int, ...]:
    found = re.match(r"\s*(\d{1,9})\.(\d{1,9})\.(\d{1,9})", told)
    return tuple(map(int, found.groups())) if found else ()


def _vital(name: str, state: str, said: str, way: str = "") -> Vital:
    return Vital("agent", name, state, said, way)

