"""The person's own `claude`: found, asked for its version, and told to take our plugin in or out. Knows no case and no hook."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from bitten.core.noun import noun
from bitten.core.trouble import Unable

from .layout import MARKETPLACE, PLUGIN

OLDEST = (2, 1, 295)
"""The first that honours `onFailure: block`: an older one lets a call through when its hook can't start, without a word (bisected)."""
TESTED = (2, 1, 332)
SECONDS = 120


@noun
class Claude:
    """The program that was found."""

    path: str

    def version(self) -> tuple[int, ...]:
        """Empty where it does not say."""
        told = re.match(r"(\d+)\.(\d+)\.(\d+)", self._run(["--version"]).stdout.strip())
        return tuple(map(int, told.groups())) if told else ()

    def tell(self, words: list[str]) -> None:
        """Raises: Unable `plugin-not-taken`, with its own last words."""
        done = self._run(words)
        if done.returncode:
            said = " ".join((done.stderr.strip() or done.stdout.strip()).splitlines()[-1:])
            raise Unable("plugin-not-taken", f"{' '.join(['claude', *words])} failed: {said[:300]}", "Nothing more was done.",
                         "run it by hand, or:  claude --plugin-dir $(bitten plugin path)")

    def has_plugin(self) -> bool:
        return f'"{PLUGIN}"' in self._run(["plugin", "list", "--json"]).stdout

    def _run(self, words: list[str]) -> subprocess.CompletedProcess[str]:
        try:
            return subprocess.run([self.path, *words], capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL,
                                  timeout=SECONDS, check=False)
        except (OSError, subprocess.TimeoutExpired) as why:
            raise Unable("agent-no-cli", f"{self.path} can't be run: {why}.", way="name another one:  --cli PATH") from None


def found(named: str = "") -> Claude | None:
    """By its path, or on PATH."""
    path = shutil.which(named or "claude")
    return Claude(str(Path(path).absolute())) if path else None


def commands_in(marketplace: Path) -> Iterator[list[str]]:
    yield ["plugin", "marketplace", "add", str(marketplace)]
    yield ["plugin", "install", PLUGIN]


def commands_out() -> Iterator[list[str]]:
    yield ["plugin", "uninstall", PLUGIN]
    yield ["plugin", "marketplace", "remove", MARKETPLACE]
