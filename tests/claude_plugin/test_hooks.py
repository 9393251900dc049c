"""The slow hooks, told events as Claude Code tells them: what the model and the person hear, and what becomes of the case."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path

import pytest

import bitten
from bitten.interfaces.claude_code import stopping
from bitten.interfaces.claude_plugin.hooks import slow
from tests.claude.plugin import checked, events, remembered
from tests.stories import Project, windows_project

SLOW = Path(bitten.__file__).parent / "interfaces" / "claude_plugin" / "hooks" / "slow.py"
TRACE = 'Exit code 1\nTraceback (most recent call last):\n  File "main.py", line 3, in <module>\n    go()\nKeyError: \'rows\'\n'


def told(project: Project, name: str, session: str = "s1", attended: str = "1", cwd: Path | None = None, **event: object) -> dict:
    """What the hook answers, its context for the model under `model`. The script's own `main`, in this process: most of it is start-up."""
    came = {"hook_event_name": name, "session_id": session, "cwd": str(cwd or project.root), **event}
    env = {**project.env, "CLAUDE_CODE_SESSION_ATTENDED": attended}
    out = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out):
        for variable in {*os.environ, *env}:
            patch.setenv(variable, env[variable]) if variable in env else patch.delenv(variable)
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(came).encode())))
        patch.chdir("/")
        slow.main()
    said = json.loads(out.getvalue() or "{}")
    context = said.get("hookSpecificOutput", {})
    assert not context or context["hookEventName"] == name
    return {**said, "model": context.get("additionalContext", "")}


def typed(project: Project, line: str, **how: str) -> dict:
    name, _, rest = line.partition(" ")
    return told(project, "UserPromptExpansion", expansion_type="slash_command", command_name=name, command_args=rest, **how)


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    """A case whose evidence supports `case.name`. Nobody confirms it here."""
    project = windows_project(tmp_path_factory.mktemp("hooks"))
    project.name = checked(project)
    return project


def test_a_session_begins_with_where_its_case_stands(case):
    said = told(case, "SessionStart", "begins", source="startup")["model"]
    assert len(said) <= 4000 and "case 1 (.bitten/1-windows-of-unequal-size/debug.md) is open" in said.replace(", is open", " is open")
    assert f"- {case.name} supported (rows = 7): the last window is one row short" in said
    assert "no cause is confirmed" in said and f"/bitten:confirm {case.name} (only the person can type it)" in said


def test_a_session_is_remembered_with_a_nonce_that_outlives_a_compaction_and_no_restart(case):
    nonces = []
    for source in ("startup", "compact", "resume"):
        told(case, "SessionStart", "known", source=source)
        [known] = [each for each in remembered(case) if each["session"] == "known"]
        nonces.append(known["nonce"])
    assert nonces[0] == nonces[1] != nonces[2] and known["alive"] is False
    assert known["root"] == str(case.root) and known["version"] is not None
    file = case.home / "state" / "bitten" / "claude" / "known.json"
    assert file.stat().st_mode & 0o777 == 0o600


def test_what_another_session_takes_away_meanwhile_costs_no_session_its_beginning(case):
    gone = case.home / "state" / "bitten" / "claude" / "gone.json.1"
    told(case, "SessionStart", "first", source="startup")
    gone.symlink_to("nowhere")
    try:
        assert "case 1" in told(case, "SessionStart", "second", source="startup")["model"]
    finally:
        gone.unlink()


def test_where_there_is_no_case_nothing_is_said_and_no_session_that_is_not_one_is_remembered(tmp_path):
    project = windows_project(tmp_path)
    assert told(project, "SessionStart", "../../etc", source="startup") == {"model": ""}
    assert not list(project.home.rglob("*.json"))
    for name in ("SessionStart", "Stop", "PostToolUse"):
        assert told(project, name, last_assistant_message="fixed") == {"model": ""}
    assert "no case" in typed(project, "bitten:confirm h1 7")["reason"].lower()


def test_a_hook_that_fails_names_the_way_out_and_does_not_say_what_it_can_not_know(case, tmp_path, monkeypatch):
    project = windows_project(tmp_path)
    (project.root / ".bitten" / "1-x").mkdir(parents=True)
    (project.root / ".bitten" / "current").write_text("1-x\n", "utf-8")
    (project.root / ".bitten" / "1-x" / "events.jsonl").write_text("{}\n", "utf-8")
    assert "In a terminal:  bitten" in told(project, "SessionStart", source="startup")["systemMessage"]
    monkeypatch.setattr("bitten.interfaces.commands.hook.answer", lambda _: 1 / 0)  # perhaps after the confirmation was written
    said = typed(case, f"bitten:confirm {case.name} 7")
    assert said["decision"] == "block" and "ZeroDivisionError" in said["reason"] and said["reason"].endswith("In a terminal:  bitten")


def test_a_case_is_found_from_where_the_session_went_meanwhile(case, tmp_path):
    case.env["CLAUDE_PROJECT_DIR"] = str(case.root)
    try:
        assert "case 1" in told(case, "SessionStart", cwd=tmp_path, source="resume")["model"]
    finally:
        del case.env["CLAUDE_PROJECT_DIR"]


def test_a_headless_session_confirms_nothing_and_is_told_where_a_person_can(case):
    typed(case, f"bitten:confirm {case.name}", session="headless")
    said = typed(case, f"bitten:confirm {case.name} 7", session="headless", attended="0")
    assert said["decision"] == "block" and "[confirm-not-a-person]" in said["reason"] and "in a terminal" in said["reason"]
    assert not [each for each in events(case) if each["kind"] == "Confirmation"]


@pytest.mark.parametrize("event", [
    {"name": "UserPromptSubmit", "prompt": "/bitten:confirm NAME 7"},  # so comes a prompt that the model scheduled for itself
    {"name": "PostToolUse", "tool_name": "Skill", "tool_input": {"skill": "bitten:confirm", "args": "NAME 7"}},
    {"name": "UserPromptExpansion", "command_name": "other:confirm", "command_args": "NAME 7"},
    {"name": "SubagentStop", "last_assistant_message": "/bitten:confirm NAME 7"},
    {"name": "UserPromptExpansion", "command_name": "bitten:status", "command_args": "/bitten:confirm NAME 7"},
], ids=lambda event: event["name"])
def test_what_is_no_typed_command_confirms_nothing(case, event):
    typed(case, f"bitten:confirm {case.name}", session="other-ways")
    event = json.loads(json.dumps(event).replace("NAME", case.name))
    told(case, event.pop("name"), "other-ways", **event)
    assert not [each for each in events(case) if each["kind"] == "Confirmation"]


def test_a_confirmation_is_one_line_of_its_own(case):
    for line in (f"bitten:confirm {case.name} 7\nand the log:\n…", "bitten:confirm", "bitten:confirm  "):
        assert "[confirm-not-alone]" in typed(case, line)["reason"]


def test_a_fix_is_not_begun_before_a_cause_is_confirmed(case):
    said = typed(case, "bitten:fix")
    assert said["decision"] == "block" and "No cause is confirmed" in said["reason"]


def test_status_gives_the_model_where_the_case_stands(case):
    assert "Hypotheses:" in typed(case, "bitten:status")["model"]


@pytest.mark.parametrize(("words", "is_claim"), [
    ("I have fixed the slicing.", True),
    ("h3 is confirmed: the last window is short.", True),
    ("The root cause is the slicing.", True),
    ("The evidence supports h3. Please type /bitten:confirm h3.", False),
    ("It is not fixed yet.", False),
    ("Once you have confirmed it, I will mend it.", False),
    ("Shall I call it fixed?", False),
    ("The evidence is in; that's all for this turn.", False),
])
def test_a_claim_is_told_from_a_not_a_condition_and_a_question(words, is_claim):
    assert stopping.claims(words, stopping.CAUSE) is is_claim


def test_a_claim_that_nothing_bears_is_sent_back_once(case):
    said = told(case, "Stop", "claims", last_assistant_message="I have fixed the slicing.", stop_hook_active=False)
    assert said["decision"] == "block" and "no cause is confirmed" in said["reason"]
    again = told(case, "Stop", "claims", last_assistant_message="I have fixed the slicing.", stop_hook_active=True)
    assert "decision" not in again and "no cause is confirmed" in again["systemMessage"]
    assert told(case, "Stop", "claims", last_assistant_message="The evidence supports it.") == {"model": ""}


def test_a_running_job_is_not_finished(case):
    jobs = [{"id": "b1", "type": "shell", "status": "running", "command": "make train"}]
    said = told(case, "Stop", "jobs", last_assistant_message="The training is done.", background_tasks=jobs)
    assert said["decision"] == "block" and "make train is still running" in said["reason"]
    again = told(case, "Stop", "jobs", last_assistant_message="I wait for it.", background_tasks=jobs)
    assert "decision" not in again and "make train is still running" in again["systemMessage"]


def test_a_failing_command_is_offered_as_a_case_once_a_signature(case):
    def ran(command: str, error: str = TRACE) -> dict:
        return told(case, "PostToolUseFailure", "offers", tool_name="Bash", tool_input={"command": command}, error=error)

    said = ran("python main.py --fast")
    assert "bitten run -- python main.py --fast" in said["model"] and "KeyError: 'rows'" in said["systemMessage"]
    assert ran("python main.py") == {"model": ""}, "the same signature again"
    assert "bash -c" in ran("python a.py | tee log", TRACE.replace("KeyError", "IndexError"))["systemMessage"]
    assert ran("bitten run -- python a.py", TRACE.replace("KeyError", "TypeError")) == {"model": ""}, "it is one already"
    assert ran("grep x y", "Exit code 1") == {"model": ""}


def test_what_is_offered_is_the_very_command_or_none(case):
    def way(command: str, kind: str) -> str:
        error = TRACE.replace("KeyError", kind)
        said = told(case, "PostToolUseFailure", "very", tool_name="Bash", tool_input={"command": command}, error=error)
        return said["systemMessage"].split("make a case of it:  ")[1]

    assert way("python main.py  'a  b'", "OSError") == "bitten run -- python main.py  'a  b'"
    assert way("cd src\npython main.py", "TypeError") == "bitten run -- bash -c 'cd src\npython main.py'"
    assert way(f"python main.py {'x' * 300}", "NameError") == "bitten run -- CMD"


def test_secrets_of_an_output_reach_neither_model_nor_screen(case):
    secret = "ghp_" + "a1B2" * 9
    said = told(case, "PostToolUseFailure", "secrets", tool_name="Bash", tool_input={"command": f"TOKEN={secret} python a.py"},
                error=TRACE.replace("'rows'", secret))
    assert secret not in json.dumps(said) and "bitten run" in said["systemMessage"]


def test_a_missed_expectation_of_the_case_is_offered(tmp_path):
    project = windows_project(tmp_path)
    project.write("score.py", "print('val_acc=0.5')\n")
    assert project.bitten("run", "--expect", "val_acc >= 0.8", "--", "python", "score.py").returncode == 65
    response = {"stdout": "val_acc=0.4\n", "stderr": "", "interrupted": False}
    said = told(project, "PostToolUse", tool_name="Bash", tool_input={"command": "python score.py"}, tool_response=response)
    assert "missed what is expected, val_acc >= 0.8: measured 0.4" in said["systemMessage"]


def test_a_person_confirms_by_typing_the_value_that_was_shown(tmp_path):
    project = windows_project(tmp_path)
    name = checked(project)
    first = typed(project, f"bitten:confirm {name} 7")
    assert first["decision"] == "block" and "had not been shown" in first["reason"], "a value from elsewhere was not read here"
    assert "→ rows = 7" in first["reason"] and "windows.py:windows tests/test_windows.py" in first["reason"]
    wrong = typed(project, f"bitten:confirm {name} 8")
    assert "[confirm-wrong-value]" in wrong["reason"] and f"/bitten:confirm {name}" in wrong["reason"]
    said = typed(project, f"bitten:confirm {name} 7 windows.py test_windows.py")
    assert "confirmed" in said["systemMessage"] and "Do not refactor anything else" in said["model"]
    [made] = [each for each in events(project) if each["kind"] == "Confirmation"]
    assert made["channel"] == made["event"]["channel"] == "claude-code prompt"
    assert made["event"]["scope"] == {"parts": ["windows.py"], "test": "test_windows.py"}

    assert "[confirm-out-of-turn]" in typed(project, f"bitten:confirm {name} 7")["reason"]
    assert "may touch windows.py" in typed(project, "bitten:fix")["model"]
    assert "decision" not in told(project, "Stop", last_assistant_message="It is confirmed, so I begin with the test.")
    done = told(project, "Stop", last_assistant_message="Done.")
    assert done["decision"] == "block" and "verify" in done["reason"]
    assert "decision" not in told(project, "SubagentStop", last_assistant_message="Done: read the three files.")


def test_what_was_shown_in_another_session_was_not_shown_in_this_one(case):
    typed(case, f"bitten:confirm {case.name}", session="one")
    assert "had not been shown" in typed(case, f"bitten:confirm {case.name} 7", session="two")["reason"]


def test_a_broken_case_is_said_and_confirms_nothing(tmp_path):
    project = windows_project(tmp_path)
    name = checked(project)
    journal = project.case() / "events.jsonl"
    journal.write_text(journal.read_text("utf-8").replace('"rows":7', '"rows":6'), "utf-8")
    said = typed(project, f"bitten:confirm {name}")
    assert said["decision"] == "block" and "[journal-damaged]" in said["reason"]
    assert "failed" in told(project, "SessionStart", source="startup").get("systemMessage", "")


def test_a_run_apart_from_the_session_is_not_finished_either(tmp_path):
    project = windows_project(tmp_path)
    project.write("slow.py", "import pathlib, time\nwhile not pathlib.Path('end').exists():\n    time.sleep(0.05)\n")
    assert project.bitten("run", "--detach", "--", "python", "slow.py").returncode == 0
    said = told(project, "Stop", last_assistant_message="The training is complete.")
    assert said["decision"] == "block" and "`python slow.py` is still running" in said["reason"]
    project.write("end", "")
    project.bitten("wait")
    assert told(project, "Stop", last_assistant_message="The training is complete.") == {"model": ""}


def test_a_hook_that_fails_says_so_and_confirms_nothing(case):
    """The interpreter without its packages: as when bitten was taken away after the plugin was put in."""
    for event, sign in (({"hook_event_name": "SessionStart", "source": "startup"}, "systemMessage"),
                        ({"hook_event_name": "UserPromptExpansion", "command_name": "bitten:confirm", "command_args": "h1 7"}, "reason")):
        came = json.dumps({**event, "session_id": "bare", "cwd": str(case.root)})
        done = subprocess.run([sys.executable, "-I", "-S", str(SLOW)], input=came, capture_output=True, text=True, env=case.env,
                              check=False, timeout=60)
        assert done.returncode == 0 and "hook failed: ModuleNotFoundError" in json.loads(done.stdout)[sign]


def test_an_event_that_is_none_is_said(case):
    for came in ("", "[]", '{"hook_event_name": "SessionStart"}', "\x00"):
        done = subprocess.run([sys.executable, "-I", str(SLOW)], input=came, capture_output=True, text=True, env=case.env, check=False,
                              timeout=60)
        assert done.returncode == 0 and "hook failed" in json.loads(done.stdout)["systemMessage"]
    assert case.slug(case.bitten("hook", "Stop")) == "not-understood"


def test_where_there_is_nothing_to_do_it_imports_none_of_bitten(tmp_path):
    project = windows_project(tmp_path)
    events = [{"hook_event_name": "Stop"}, {"hook_event_name": "SessionStart", "session_id": "s", "source": "startup"},
              {"hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_response": {"stdout": "a"}},
              {"hook_event_name": "UserPromptExpansion", "command_name": "review", "command_args": ""}]
    for each in events:
        done = subprocess.run([sys.executable, "-I", "-X", "importtime", str(SLOW)], input=json.dumps({**each, "cwd": str(project.root)}),
                              capture_output=True, text=True, env=project.env, check=False, timeout=60)
        names = [line.rpartition("|")[2].strip() for line in done.stderr.splitlines()]
        assert done.stdout == "" and "json" in names and not any(name.split(".")[0] in ("bitten", "click", "pathlib") for name in names)
