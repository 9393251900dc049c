"""A session inside Claude Code as a person sees it: the real CLI in tmux, a scripted model, and the screen after each scene."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import psutil

from tests.claude.plugin import laid_out
from tests.claude.stage import Stage, cli, staged
from tests.stories import COUNT, MAIN, SUSPECT, TEST, WINDOWS, captured

SECONDS = 60
"""For any one thing to appear, on a machine that is busy with others."""
WIDTH, HEIGHT = 112, 150
"""So high that nothing scrolls away."""
FILES = {"windows.py": WINDOWS, "main.py": MAIN, "count_rows.py": COUNT, "CLAUDE.md": "# Windows\n"}
BUG, CURED = "min(start + size, len(rows) - 1)", "min(start + size, len(rows))"


@dataclass(frozen=True)
class Scene:
    """What the person types, what the model then says and does, and the words by which the screen shows that it is over."""

    says: str
    types: str
    steps: tuple[dict[str, Any], ...]
    shows: str


def story(root: Path, cause: str) -> list[Scene]:
    source = str(root / "windows.py")
    mends = {"file_path": source, "old_string": BUG, "new_string": CURED}
    strays = {"file_path": source, "old_string": "return 1", "new_string": "return 2"}
    return [
        Scene("The model takes the first plausible patch. Nobody has confirmed a cause, so it is refused.",
              "The run fails: windows of unequal size. Please fix it.",
              ({"tool": "Read", "input": {"file_path": source}},
               {"text": "The slice stops one row early. I change it.", "tool": "Edit", "input": mends},
               {"text": f"bitten lets nothing be written yet: {cause} is supported, and you have not confirmed it."}),
              "you have not confirmed it."),
        Scene("You ask for the evidence. It is shown to you, and nothing is confirmed by that.", f"/bitten:confirm {cause}",
              (), "VALUE FILE:NAME … TEST"),
        Scene("You name the value that decided. Only what you type counts; a model's own call does not.", f"/bitten:confirm {cause} 7",
              ({"text": "Confirmed. I mend the slice and add its test.", "tool": "Edit", "input": mends},
               {"tool": "Write", "input": {"file_path": str(root / "tests" / "test_windows.py"), "content": TEST}},
               {"text": "While I am here, I tidy the function below.", "tool": "Edit", "input": strays},
               {"text": "That function is out of scope, so it stays as it was."}), "so it stays as it was."),
        Scene("Where the case stands, at any time.", "/bitten:status",
              ({"text": "Case 1 is confirmed, and the fix is in the tree, not proven yet. Next: bitten verify."},), "Next: bitten verify."),
    ]  # fmt: skip


class Tmux:
    """One interactive session in a terminal of tmux, in the network of the calling thread."""

    def __init__(self, stage: Stage, *options: str) -> None:
        root = str(stage.project.root)
        known = {"hasCompletedOnboarding": True, "theme": "dark", "customApiKeyResponses": {"approved": ["dummy"], "rejected": []},
                 "projects": {root: {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}}}
        (stage.config / ".claude.json").write_text(json.dumps(known), "utf-8")
        self._server = ["tmux", "-L", f"bitten-{os.getpid()}-{time.monotonic_ns()}", "-f", os.devnull]
        kept = {name: value for name, value in stage.project.env.items() if name not in ("TMUX", "NO_COLOR")}
        self._env = {**kept, "TERM": "xterm-256color"}
        self._run("new-session", "-d", "-x", str(WIDTH), "-y", str(HEIGHT), "-c", root, "--", str(cli()), *options)

    def __enter__(self) -> Tmux:
        try:
            self.until(lambda: "❯" in self.screen)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """It may take its time over the end of its own programs: what they write must not outlive the folder."""
        with suppress(subprocess.SubprocessError, psutil.NoSuchProcess):
            first = psutil.Process(int(self._run("display-message", "-p", "#{pane_pid}")))
            family = [first, *first.children(recursive=True)]
            self._run("kill-server")
            for each in psutil.wait_procs(family, timeout=10)[1]:
                each.kill()
            psutil.wait_procs(family, timeout=5)

    @property
    def screen(self) -> str:
        return self._run("capture-pane", "-p").rstrip()

    def types(self, line: str) -> None:
        """A line, and Enter once it stands on the screen."""
        before = self.screen.count(line)
        self._run("send-keys", "-l", line)
        self.until(lambda: self.screen.count(line) > before)
        self._run("send-keys", "Enter")

    def pastes(self, text: str) -> None:
        """Several lines at once, and Enter once they stand on the screen, or what the screen shows for them."""
        last = text.strip().split("\n")[-1][:60]
        self._run("set-buffer", text)
        self._run("paste-buffer", "-p", "-d")
        self.until(lambda: last in self.screen or "Pasted text" in self.screen)
        self._run("send-keys", "Enter")

    def until(self, happened: Callable[[], bool]) -> None:
        deadline = time.monotonic() + SECONDS
        while not happened():
            assert time.monotonic() < deadline, self.screen[-4000:]
            time.sleep(0.1)

    def _run(self, *words: str) -> str:
        return subprocess.run([*self._server, *words], env=self._env, capture_output=True, text=True, check=True, timeout=30).stdout


@contextmanager
def session(place: Path) -> Iterator[tuple[Stage, Iterator[tuple[Scene, str]]]]:
    """The stage, and each scene with the screen as it stood at its end; a scene is played when it is asked for."""
    with staged(place, FILES) as stage:
        captured(stage.project)
        assert stage.project.bitten(*SUSPECT).returncode == 0
        cause = next(each["id"] for each in stage.project.show()["hypotheses"] if each["source"].startswith("person:"))
        assert "✓ supported" in stage.project.bitten("check", cause).stdout
        with Tmux(stage, "--plugin-dir", str(laid_out(stage)), "--permission-mode", "acceptEdits") as terminal:
            yield stage, _played(stage, terminal, cause)


def _played(stage: Stage, terminal: Tmux, cause: str) -> Iterator[tuple[Scene, str]]:
    for scene in story(stage.project.root, cause):
        stage.api.steps.extend(map(dict, scene.steps))
        terminal.types(scene.types)
        terminal.until(partial(_is_over, scene, stage, terminal))
        yield scene, terminal.screen


def _is_over(scene: Scene, stage: Stage, terminal: Tmux) -> bool:
    screen = re.sub(r"\s+", " ", terminal.screen)
    return not stage.api.steps and scene.shows in screen and "esc to interrupt" not in screen


def version() -> str:
    """Of the Claude Code that is played with."""
    return subprocess.run([cli(), "--version"], capture_output=True, text=True, check=True).stdout.split()[0]


def missing() -> str:
    """Why no session can be shown here; empty where it can."""
    return "" if shutil.which("tmux") else "tmux is not installed"
