"""What a plain crash costs in each lane, from the failing command to a proven fix; beside it a bare session that is given the traceback.

`python benchmarks/quick_lane.py`; the model is a script on loopback that needs no second try, and what the person types is typed at once.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from harness import section, table

sys.path.insert(0, str(Path(__file__).parents[1]))  # the stage is the tests' own

from tests.claude.inside import BUG, CURED, FILES, Tmux, missing
from tests.claude.plugin import laid_out
from tests.claude.stage import Stage, staged
from tests.stories import TEST

from bitten.testing.scripted_api import Request

CRASH = ("run", "--", sys.executable, "main.py")
BEGUN = ["bitten run -- python main.py", "eight rows"]
"""The failing command, and the answer to the one question that bitten then asks at a terminal."""
TEST_FILE = "tests/test_windows.py"
FIRST = {"claim": "the last window is one row short", "because": "seven rows of eight came", "likelihood": "likely",
         "look": f"{sys.executable} count_rows.py", "supports_if": "rows < 8", "refutes_if": "rows == 8", "scope": ["windows.py:windows"]}
SECOND = {**FIRST, "claim": "rows are lost before they are cut", "likelihood": "possible",
          "supports_if": "rows < 7", "refutes_if": "rows >= 7"}
PROPOSAL = {"hypotheses": [FIRST, SECOND]}


@dataclass
class Lane:
    """`typed` is what the person types: commands, prompts, values. `sessions` holds the last request of each of the agent's sessions."""

    name: str
    typed: list[str] = field(default_factory=list)
    requests: int = 0
    turns: int = 0
    sessions: list[Request] = field(default_factory=list)
    seconds: float = 0.0
    proven: bool = False


def reads(root: Path) -> dict[str, Any]:
    return {"tool": "Read", "input": {"file_path": str(root / "windows.py")}}


def mends(root: Path) -> list[dict[str, Any]]:
    return [{"tool": "Edit", "input": {"file_path": str(root / "windows.py"), "old_string": BUG, "new_string": CURED}},
            {"tool": "Write", "input": {"file_path": str(root / TEST_FILE), "content": TEST}}]


def bare(stage: Stage, lane: Lane) -> None:
    """Dump the error, ask for a fix, take the first patch. Nothing is proven at its end."""
    done = subprocess.run(CRASH[2:], cwd=stage.project.root, env=stage.project.env, capture_output=True, text=True, check=False)
    prompt = f"fix this:\n{done.stdout}{done.stderr}"
    stage.api.steps.extend([reads(stage.project.root), *mends(stage.project.root), {"text": "Fixed."}])
    lane.typed += ["python main.py", prompt]
    with Tmux(stage, "--permission-mode", "acceptEdits") as terminal:
        terminal.pastes(prompt)
        terminal.until(lambda: "Fixed." in terminal.screen and "esc to interrupt" not in terminal.screen)
    lane.sessions.append(stage.api.turns[-1])


def driven(stage: Stage, lane: Lane) -> None:
    """bitten's commands, Claude behind two of them: one prompt of bitten's a phase."""
    project, root = stage.project, Path()
    assert project.bitten(*CRASH).returncode == 1
    assert project.bitten("expect", "eight", "rows").returncode == 0
    stage.api.steps.extend([reads(root), {"tool": "mcp__bitten__propose_hypotheses", "input": PROPOSAL}, {"text": "Proposed."}])
    done = project.bitten("diagnose", "--with", "claude")
    assert done.returncode == 0, done.stderr
    lane.sessions.append(stage.api.turns[-1])
    cause = supported(stage)
    assert project.typed("confirm", cause, answers=(("decided it?", "7"), ("name others)", "")))[0] == 0
    stage.api.steps.extend([reads(root), *mends(root), {"text": "Mended."}])
    done = project.bitten("fix", "--with", "claude", "--yes")
    assert done.returncode == 0, done.stdout + done.stderr
    lane.sessions.append(stage.api.turns[-1])
    lane.typed += [*BEGUN, "bitten diagnose --with claude", f"bitten confirm {cause}", "7", "", "bitten fix --with claude --yes"]


def inside(stage: Stage, lane: Lane) -> None:
    """The person's own session in Claude Code, with the plugin."""
    project, root = stage.project, stage.project.root
    assert project.bitten(*CRASH).returncode == 1
    assert project.bitten("expect", "eight", "rows").returncode == 0
    ours = "mcp__plugin_bitten_bitten__"
    with Tmux(stage, "--plugin-dir", str(laid_out(stage)), "--permission-mode", "acceptEdits",
              "--allowedTools", "mcp__plugin_bitten_bitten") as terminal:
        prompts = ["The command fails. Find out why.", "/bitten:confirm {}", "/bitten:confirm {} 7"]
        stage.api.steps.extend([{"tool": f"{ours}case", "input": {}}, reads(root), {"tool": f"{ours}propose_hypotheses", "input": PROPOSAL},
                                {"tool": f"{ours}run_check", "input": {}}, {"text": "The evidence supports it."}])
        terminal.types(prompts[0])
        terminal.until(lambda: "evidence supports it" in terminal.screen and "esc to interrupt" not in terminal.screen)
        prompts = [each.format(supported(stage)) for each in prompts]
        terminal.types(prompts[1])
        terminal.until(lambda: "Nothing is confirmed yet" in terminal.screen)
        stage.api.steps.extend([*mends(root), {"tool": f"{ours}verify", "input": {}}, {"text": "It is proven."}])
        terminal.types(prompts[2])
        terminal.until(lambda: "It is proven" in terminal.screen and "esc to interrupt" not in terminal.screen)
    lane.sessions.append(stage.api.turns[-1])
    lane.typed += [*BEGUN, *prompts]


def supported(stage: Stage) -> str:
    return next(each["id"] for each in stage.project.show()["hypotheses"] if each.get("verdict") == "supports")


def around(request: Request) -> int:
    """Characters of a session's last request that are no tool's result and no words of the model: system, tools, prompts, hooks' words."""
    body = request.body or {}
    said = [text for each in body["messages"] if each["role"] != "assistant" for text in _texts(each["content"])]
    return len(json.dumps(body.get("system", ""))) + len(json.dumps(body["tools"])) + sum(map(len, said))


def _texts(content: Any) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    for block in content if isinstance(content, list) else ():
        if block.get("type") == "text":
            yield block["text"]


def played(name: str, play: Callable[[Stage, Lane], None]) -> Lane:
    lane = Lane(name)
    place = tempfile.TemporaryDirectory(prefix="bitten-lane-", ignore_cleanup_errors=True)
    with place as folder, staged(Path(folder), FILES) as stage:
        began = time.monotonic()
        play(stage, lane)
        lane.seconds = time.monotonic() - began
        lane.requests, lane.turns = len(stage.api.requests), len(stage.api.turns)
        assert stage.api.strangers == [], stage.api.strangers
        lane.proven = (stage.project.root / ".bitten").exists() and stage.project.show()["step"] in ("verified", "learned")
    return lane


LANES = {"a bare session": bare, "bitten drives Claude": driven, "Claude Code with the plugin": inside}


def main() -> None:
    if why := missing():
        raise SystemExit(why)
    lanes = [played(name, play) for name, play in LANES.items()]
    plain = around(lanes[0].sessions[0]) - len(lanes[0].typed[-1])
    rows = []
    for lane in lanes:
        held = sum(map(around, lane.sessions))
        rows.append([lane.name, len(lane.typed), sum(map(len, lane.typed)), lane.turns, lane.requests, len(lane.sessions),
                     f"{held:,}", f"{held - plain:+,}", f"{lane.seconds:.1f}", "yes" if lane.proven else "no"])
    head = ["", "lines typed", "characters typed", "turns of the model", "requests", "sessions", "characters around the work",
            "more than Claude Code alone", "seconds", "proven"]
    versions = {"claude-agent-sdk": version("claude-agent-sdk")}
    section("A plain crash, from the failing command to a mended tree", versions, table(head, rows))


if __name__ == "__main__":
    main()
