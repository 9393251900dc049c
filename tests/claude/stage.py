"""A stranger's project with the real Claude CLI at work in it, on a scripted Messages API: an own home, and loopback alone."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from bitten.testing.scripted_api import ScriptedAPI, Step
from tests.claude.alone import alone
from tests.stories import Project


def cli() -> Path:
    """The CLI that the SDK's wheel brings. It is in requirements.lock: where it is missing, a test fails, and is not skipped."""
    spec = find_spec("claude_agent_sdk")
    assert spec and spec.origin, "claude-agent-sdk is not installed"
    return Path(spec.origin).parent / "_bundled" / "claude"


class Stage:
    """`project` with `home` as the user's; `api` plays the model. `is_alone` says that there is no network but loopback."""

    is_alone = False

    def __init__(self, project: Project, api: ScriptedAPI) -> None:
        self.project, self.api = project, api
        self.config = project.home / "claude"
        self.config.mkdir(exist_ok=True)
        project.env.update(
            CLAUDE_CONFIG_DIR=str(self.config), ANTHROPIC_BASE_URL=api.url, ANTHROPIC_API_KEY="dummy", IS_SANDBOX="1",
            CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1", CLAUDE_CODE_MAX_RETRIES="2", API_TIMEOUT_MS="20000")
        for name in [each for each in project.env if each.startswith("CLAUDECODE") or each == "CLAUDE_CODE_ENTRYPOINT"]:
            del project.env[name]

    def claude(self, prompt: str, *options: str, timeout: float = 120, **env: str) -> Said:
        """One headless session of the real CLI in the project."""
        words = [str(cli()), "-p", prompt, "--output-format", "stream-json", "--verbose", *options]
        done = subprocess.run(words, cwd=self.project.root, env={**self.project.env, **env}, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=timeout, check=False)
        return Said(done)


class Said:
    """What a headless session printed: each line is a message."""

    def __init__(self, done: subprocess.CompletedProcess[str]) -> None:
        self.exit, self.stderr = done.returncode, done.stderr
        self.messages: list[dict[str, Any]] = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]

    @property
    def result(self) -> dict[str, Any]:
        return next(each for each in reversed(self.messages) if each.get("type") == "result")


@contextmanager
def staged(place: Path, files: dict[str, str], steps: Sequence[Step] = (), git: bool = True) -> Iterator[Stage]:
    """A project on stage, and the script that is played; `stage.api.steps` may be extended as it goes."""
    with alone() as is_alone, ScriptedAPI(steps) as api:
        stage = Stage(Project(place, files, git=git), api)
        stage.is_alone = is_alone
        yield stage


