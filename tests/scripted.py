"""A project with a scripted agent at work in it: in another process, found by its entry point as a third party's would be."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from tests.stories import FIXED, TEST, captured, windows_project

MODULE = '''import json, os
from pathlib import Path

from bitten.testing import ScriptedAgent


class Agent(ScriptedAgent):
    def __init__(self, model=None):
        script = json.loads(Path(os.environ["SCRIPT"]).read_text("utf-8"))
        super().__init__(script["steps"], gate=script.get("gate", True))

    def ask(self, brief, listener):
        told = Path(os.environ["SCRIPT"]).with_name("heard.jsonl")
        with told.open("a") as file:
            file.write(json.dumps({"phase": brief.phase, "prompt": brief.prompt, "folder": brief.folder, "may": brief.may_write}) + "\\n")
        answer = super().ask(brief, listener)
        with told.with_name("told.json").open("w") as file:
            json.dump(self.told, file)
        return answer
'''
RIGHT = {"claim": "the last window is one row short", "because": "stop is one below the end", "likelihood": "likely",
         "look": f"{sys.executable} count_rows.py", "supports_if": "rows < 8", "refutes_if": "rows == 8", "scope": ["windows.py:windows"]}
WRONG = {"claim": "the rows come in twice over", "because": "the list might be doubled", "likelihood": "unlikely", "look": "captured",
         "supports_if": "exit == 0", "refutes_if": "exit == 1", "scope": ["main.py"]}
PROPOSES = {"proposes": {"hypotheses": [RIGHT, WRONG]}}
CONFIRMING = (("decided it?", "7"), ("name others)", "windows.py:windows test_windows.py"))
GREEN = TEST.replace("== 8", "< 9")
FIXES = [{"says": "I mend the slice."}, {"writes": ["windows.py", FIXED]}, {"writes": ["test_windows.py", TEST]}, {"ends": "done"}]


class Driven:
    """A project, and what its agent plays next."""

    def __init__(self, place, project=None):
        self.project = project or windows_project(place)
        self.stage = place / "stage"
        info = self.stage / "scripted_agent-0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: scripted-agent\nVersion: 0\n", "utf-8")
        (info / "entry_points.txt").write_text("[bitten.agents]\nscripted = scripted_agent:Agent\n", "utf-8")
        (self.stage / "scripted_agent.py").write_text(MODULE, "utf-8")
        self.project.env.update(PYTHONPATH=str(self.stage), SCRIPT=str(self.stage / "script.json"))

    def plays(self, *steps, gate=True):
        (self.stage / "script.json").write_text(json.dumps({"steps": steps, "gate": gate}), "utf-8")
        (self.stage / "heard.jsonl").unlink(missing_ok=True)

    def diagnose(self, *steps, **options):
        self.plays(*steps)
        return self.project.bitten("diagnose", "--with", "scripted", **options)

    @property
    def heard(self):
        file = self.stage / "heard.jsonl"
        return [json.loads(line) for line in file.read_text("utf-8").splitlines()] if file.exists() else []

    @property
    def told(self):
        return json.loads((self.stage / "told.json").read_text("utf-8"))

    @property
    def copies(self):
        return [brief["folder"] for brief in self.heard if Path(brief["folder"]).exists()]

    def confirmed(self):
        done = self.diagnose(PROPOSES)
        assert done.returncode == 0, done.stdout + done.stderr
        name = next(h["id"] for h in self.project.show()["hypotheses"] if h["source"] == "agent:scripted" and h["verdict"] == "supports")
        code, seen = self.project.typed("confirm", name, answers=CONFIRMING)
        assert code == 0, seen
        return self


def events(project, kind):
    lines = (project.case() / "events.jsonl").read_text("utf-8").splitlines()
    return [each["event"] for each in map(json.loads, lines) if each["kind"] == kind]


def proposed(project):
    """Whether what the agent proposed has reached the disk."""
    return any(each["source"] == "agent:scripted" for each in events(project, "Hypothesis"))


def wait_for(there, seconds=60):
    until = time.monotonic() + seconds
    while not there():
        assert time.monotonic() < until, "it did not come to that"
        time.sleep(0.05)


def at_work(place):
    """A case of which it is said what was expected."""
    driven = Driven(place)
    captured(driven.project)
    assert driven.project.bitten("expect", "eight", "rows").returncode == 0
    return driven
