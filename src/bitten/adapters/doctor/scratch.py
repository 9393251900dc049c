"""A small world of its own for a trial: home, state, settings and a project, gone afterwards, also after a kill. Knows no trial.

It lies outside of every folder that our gate protects: there it would refuse an edit whatever the case.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from bitten.adapters import places
from bitten.adapters.held import held_folder, sweep
from bitten.core.trouble import Unable

SOURCE = "ROWS = 127\n"
FAILS = "raise ValueError('a failure that bitten doctor made up')"
SECONDS = 60


@dataclass(frozen=True)
class Scratch:
    folder: Path

    @property
    def project(self) -> Path:
        return self.folder / "project"

    @property
    def source(self) -> Path:
        """The file that nobody may edit before a cause is confirmed."""
        return self.project / "data.py"

    @property
    def env(self) -> Mapping[str, str]:
        """Nothing of the person's but where programs and words are found."""
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH") if name in os.environ}
        home = self.folder / "home"
        return {**kept, "HOME": str(home), "CLAUDE_CONFIG_DIR": str(home / ".claude"), "XDG_STATE_HOME": str(home / "state"),
                "XDG_CACHE_HOME": str(home / "cache"), "XDG_DATA_HOME": str(home / "data"), "XDG_CONFIG_HOME": str(home / "config"),
                "XDG_RUNTIME_DIR": str(self.folder / "run"), "TMPDIR": str(self.folder / "tmp"), "PYTHONDONTWRITEBYTECODE": "1",
                "BITTEN_REPRODUCER": "0", "NO_COLOR": "1"}

    def lay(self) -> None:
        for name in ("home/.claude", "run", "tmp", "project"):
            (self.folder / name).mkdir(parents=True, mode=0o700)
        self.source.write_text(SOURCE, "utf-8")
        with suppress(OSError, subprocess.TimeoutExpired):  # without git a project is a folder
            subprocess.run(["git", "init", "-q"], cwd=self.project, env=self.env, capture_output=True, timeout=SECONDS, check=False)

    def open_a_case(self) -> None:
        """By the product itself. Raises: Unable `doctor-no-case`."""
        words = [sys.executable, "-I", "-m", "bitten", "run", "--no-reproducer", "--", sys.executable, "-c", FAILS]
        try:
            done = subprocess.run(words, cwd=self.project, env=self.env, capture_output=True, text=True, errors="replace",
                                  stdin=subprocess.DEVNULL, timeout=SECONDS, check=False)
            why = done.stderr
        except (OSError, subprocess.TimeoutExpired) as error:
            done, why = None, str(error)
        if not done or done.returncode != 1 or not (self.project / ".bitten" / "current").exists():
            raise Unable("doctor-no-case", "A failing command opened no case.", " ".join(why.split())[-300:],
                         "bitten run -- python -c 1/0, in an empty folder")


def ended(words: Sequence[str], cwd: Path, env: Mapping[str, str], seconds: float, given: str = "") -> subprocess.CompletedProcess[str]:
    """Run to its end, else ended with all that it started. Raises: OSError, subprocess.TimeoutExpired."""
    with subprocess.Popen(words, cwd=cwd, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          errors="replace", start_new_session=True) as child:
        try:
            out, err = child.communicate(given, timeout=seconds)
        except BaseException:
            os.killpg(child.pid, signal.SIGKILL)
            raise
    return subprocess.CompletedProcess(words, child.returncode, out, err)


@contextmanager
def scratch() -> Iterator[Scratch]:
    base = places.private(Path(tempfile.gettempdir()).resolve() / f"bitten-doctor-{os.getuid()}")
    sweep(base)
    try:
        with held_folder(base) as folder:
            made = Scratch(folder)
            made.lay()
            yield made
    finally:
        with suppress(OSError):  # another doctor is at work
            base.rmdir()
