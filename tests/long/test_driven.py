"""An agent's work on a case in bad weather: fixes that do not hold, kills at the worst instants, secrets, links, weak copies."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from tests.scripted import FIXES, GREEN, PROPOSES, RIGHT, WRONG, Driven, at_work, events, proposed, wait_for
from tests.stories import COUNT, FIXED, MAIN, TEST, WINDOWS, Project, captured, windows_project

PUT_AND_KILLED = '''
import os, signal
from bitten.adapters.agents import handover

real = handover.rewrite

def rewrite(path, content):
    if path.name == "{name}":
        os.kill(os.getpid(), signal.SIGKILL)
    real(path, content)

handover.rewrite = rewrite
'''


@pytest.fixture
def driven(tmp_path):
    return at_work(tmp_path)


def test_a_fix_that_does_not_hold_goes_back_to_step_two_and_a_fresh_session(driven):
    project = driven.confirmed().project
    third = {**RIGHT, "claim": "quite another cause of it", "supports_if": "rows > 100", "refutes_if": "rows < 100"}
    driven.plays({"writes": ["windows.py", WINDOWS.replace("len(rows) - 1", "len(rows) - 1 + 0")]}, FIXES[2], {"ends": ""},
                 {"proposes": {"hypotheses": [third, {**third, "claim": "and yet another one", "supports_if": "rows > 200"}]}})
    done = project.bitten("fix", "--with", "scripted", "--yes")
    assert done.returncode == 3 and project.slug(done) == "test-red-on-fix", done.stdout + done.stderr
    assert [each["phase"] for each in driven.heard] == ["fix", "diagnose"] and "does not pass with the fix" in driven.heard[1]["prompt"]
    assert project.git("status", "--porcelain") == ""
    shown = project.show()
    assert shown["step"] == "tested" and {h["claim"] for h in shown["hypotheses"]} >= {third["claim"], "and yet another one"}


def test_another_function_of_a_file_in_scope_is_out_of_scope(driven):
    project = driven.confirmed().project
    driven.plays({"writes": ["windows.py", FIXED.replace("return 1", "return 2")]}, FIXES[2], {"ends": ""}, *FIXES)
    done = project.bitten("fix", "--with", "scripted", "--yes")
    assert done.returncode == 0 and "left out: windows.py:other" in done.stderr and project.read("windows.py") == FIXED
    assert events(project, "Withdrawal")[0]["slug"] == "fix-changes-nothing"


def test_after_two_rounds_it_is_the_person_s_again(driven):
    project = driven.confirmed().project
    driven.plays({"ends": "I can't."}, {"ends": "I still can't."}, {"ends": "never asked"})
    done = project.bitten("fix", "--with", "scripted", "--yes")
    assert done.returncode == 3 and project.slug(done) == "fix-changes-nothing" and len(driven.heard) == 2
    assert project.show()["step"] == "confirmed" and project.git("status", "--porcelain") == ""


def test_a_person_looks_before_it_is_put_into_the_tree(driven):
    project = driven.confirmed().project
    driven.plays(*FIXES)
    done = project.bitten("fix", "--with", "scripted")
    assert done.returncode == 2 and project.slug(done) == "fix-needs-a-look" and driven.heard == []
    code, seen = project.typed("fix", "--with", "scripted", answers=(("n leaves it", "n"),))
    assert code == 3 and "fix-declined" in seen and project.git("status", "--porcelain") == "", seen
    code, seen = project.typed("fix", "--with", "scripted", answers=(("n leaves it", ""),))
    assert code == 0 and "✓ proven" in seen and project.read("windows.py") == FIXED, seen


def test_the_prompt_can_be_seen_without_sending_it(driven):
    done = driven.project.bitten("diagnose", "--with", "scripted", "--dry-run", "--turns", "7")
    assert done.returncode == 0 and "Hypotheses, not fixes" in done.stdout and driven.heard == []
    assert "characters for scripted; at most 7 turns, 600 s, $2.00. Nothing was sent." in done.stderr


def test_agents_that_are_not_there_broken_or_at_a_loss_are_named(driven):
    project = driven.project
    assert project.slug(project.bitten("diagnose", "--with", "")) == "no-such-agent", "a variable that is not set is no agent"
    done = project.bitten("diagnose", "--with", "nobody")
    assert done.returncode == 2 and project.slug(done) == "no-such-agent" and "claude, scripted" in done.stderr
    assert project.bitten("diagnose", "--turns", "3").returncode == 2
    done = project.bitten("diagnose", "--with", "scripted", SCRIPT="/nowhere")
    assert done.returncode == 4 and project.slug(done) == "agent-not-loaded"
    done = driven.diagnose({"raises": ["agent-unreachable", "Nobody answers."]})
    assert done.returncode == 4 and "Nobody answers." in done.stderr
    assert events(project, "Guard") == [], "a session that left nothing makes no case advisory"
    done = driven.diagnose({"ends": "I have no idea."})
    assert done.returncode == 4 and project.slug(done) == "agent-proposed-nothing" and "I have no idea." in done.stderr
    done = driven.diagnose({"says": "hm", "times": 50})
    assert "limit of turns: --turns gives it more" in done.stderr


def test_limits_of_the_settings_and_of_the_line_are_kept(driven):
    driven.project.write(".bitten.toml", "agent_turns = 3\nagent_seconds = 1\n")
    done = driven.diagnose({"says": "hm", "times": 50})
    assert "scripted: 3 of 3 turns" in done.stderr
    driven.plays({"sleeps": 60})
    assert "limit of seconds" in driven.project.bitten("diagnose", "--with", "scripted").stderr
    driven.plays({"says": "hm", "times": 50})
    assert "limit of dollars" in driven.project.bitten("diagnose", "--with", "scripted", "--turns", "40", "--dollars", "0.05").stderr


def test_secrets_reach_no_agent_and_come_back_untouched(tmp_path):
    secret = 'password = "correct-horse-battery"\n'
    driven = Driven(tmp_path, Project(tmp_path, {"windows.py": secret + WINDOWS, "main.py": MAIN, "count_rows.py": COUNT}))
    captured(driven.project)
    driven.project.bitten("expect", "eight rows")
    driven.confirmed()
    masked = secret.replace("correct-horse-battery", "‹password:16-31›")
    driven.plays({"reads": "windows.py"}, {"writes": ["windows.py", FIXED]}, FIXES[2], {"ends": ""},
                 {"reads": "windows.py"}, {"writes": ["windows.py", masked + FIXED]}, FIXES[2], {"ends": ""})
    done = driven.project.bitten("fix", "--with", "scripted", "--yes")
    assert done.returncode == 0, done.stdout + done.stderr
    assert [each["slug"] for each in events(driven.project, "Withdrawal")] == ["fix-touches-a-secret"]
    assert driven.project.read("windows.py") == secret + FIXED
    told = driven.told[0] + driven.heard[0]["prompt"] + done.stdout + done.stderr
    kept = "".join(path.read_text("utf-8", "replace") for path in driven.project.case().rglob("*") if path.is_file())
    assert masked.strip() in driven.told[0] and "correct-horse" not in told + kept


def test_a_scope_that_an_agent_can_not_be_given_is_refused_before_it_is_asked(driven):
    project = driven.confirmed().project
    os.link(project.root / "windows.py", project.home / "twin.py")
    driven.plays(*FIXES)
    done = project.bitten("fix", "--with", "scripted", "--yes")
    assert done.returncode == 3 and project.slug(done) == "scope-is-a-link"
    (project.home / "twin.py").unlink()
    project.write("data/windows.py", WINDOWS)
    done = project.bitten("fix", "--with", "scripted", "--yes", "--scope", "data/windows.py")
    assert project.slug(done) == "scope-not-kept"
    done = project.bitten("fix", "--with", "scripted", "--yes", "--scope", ".claude/settings.json")
    assert project.slug(done) == "scope-is-protected"
    project.write("main.py", "changed\n")
    done = project.bitten("fix", "--with", "scripted", "--yes", "--scope", "windows.py:windows")
    assert project.slug(done) == "fix-outside-scope" and driven.heard == [] and "round 2" not in done.stderr


def test_what_the_person_changed_in_the_meantime_stays(driven):
    project = driven.confirmed().project
    driven.plays(*FIXES[:-1], {"sleeps": 60})
    process = project.started("fix", "--with", "scripted", "--yes", "--seconds", "8")
    wait_for(lambda: driven.heard and any(Path(folder, "test_windows.py").exists() for folder in driven.copies))
    mine = WINDOWS.replace("return 1", "return 3")
    project.write("windows.py", mine)
    assert process.wait(timeout=60) == 3
    assert project.read("windows.py") == mine and not (project.root / "test_windows.py").exists()
    assert events(project, "Withdrawal") == []


def test_killed_in_a_session_nothing_that_was_proposed_is_lost(driven):
    driven.plays(PROPOSES, {"sleeps": 60})
    process = driven.project.started("diagnose", "--with", "scripted")
    wait_for(lambda: proposed(driven.project) and events(driven.project, "Evidence"))
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    left = driven.copies
    assert left, "the copy of a killed one is left"
    known = [h["claim"] for h in driven.project.show()["hypotheses"]]
    assert RIGHT["claim"] in known
    driven.confirmed()
    assert not any(Path(each).exists() for each in left), "the next session swept it"
    assert [h["claim"] for h in driven.project.show()["hypotheses"]] == known, "nothing stands there twice"


@pytest.mark.parametrize("name", ["windows.py", "test_windows.py"])
def test_killed_while_it_is_put_into_the_tree_it_is_completed_and_proven(driven, name):
    project = driven.confirmed().project
    driven.plays(*FIXES)
    module = driven.stage / "scripted_agent.py"
    whole = module.read_text("utf-8")
    module.write_text(whole + PUT_AND_KILLED.format(name=name), "utf-8")
    assert project.bitten("fix", "--with", "scripted", "--yes").returncode == -signal.SIGKILL
    assert json.loads((project.case() / "put.json").read_text("utf-8"))["by"] == "scripted"
    module.write_text(whole, "utf-8")
    driven.plays({"ends": "never asked"})
    done = project.bitten("fix", "--with", "scripted", "--yes")
    assert done.returncode == 0 and "stands in the tree" in done.stderr and driven.heard == [], done.stderr
    assert project.git("status", "--porcelain").split() == ["M", "windows.py", "??", "test_windows.py"]


def test_what_the_person_changed_elsewhere_costs_no_fix_that_stands_in_the_tree(driven):
    project = driven.confirmed().project
    driven.plays(*FIXES)
    module = driven.stage / "scripted_agent.py"
    whole = module.read_text("utf-8")
    module.write_text(whole + PUT_AND_KILLED.format(name="test_windows.py"), "utf-8")
    assert project.bitten("fix", "--with", "scripted", "--yes").returncode == -signal.SIGKILL
    module.write_text(whole, "utf-8")
    driven.plays({"ends": "never asked"})
    project.write("main.py", "changed\n")
    done = project.bitten("fix", "--with", "scripted", "--yes")
    assert project.slug(done) == "fix-outside-scope" and "taken back" not in done.stderr, done.stderr
    assert project.read("windows.py") == FIXED
    project.write("main.py", MAIN)
    done = project.bitten("fix", "--with", "scripted", "--yes")
    assert done.returncode == 0 and driven.heard == [], done.stderr


def test_killed_between_a_failed_proof_and_the_way_back_the_next_command_takes_it_back(driven):
    project = driven.confirmed().project
    driven.plays(FIXES[1], {"writes": ["test_windows.py", GREEN]}, {"ends": "done"})
    module = driven.stage / "scripted_agent.py"
    killed = "from bitten.adapters.agents.handover import Handover\nHandover.take_back = lambda *_: os.kill(os.getpid(), 9)\n"
    module.write_text(module.read_text("utf-8") + killed, "utf-8")
    assert project.bitten("fix", "--with", "scripted", "--yes").returncode == -signal.SIGKILL
    assert project.read("windows.py") == FIXED and events(project, "Withdrawal")
    done = project.bitten("expect", "eight rows")
    assert "was taken back" in done.stderr and project.git("status", "--porcelain") == ""


def test_a_command_that_an_agent_wrote_does_not_run_by_itself_behind_weak_walls(driven):
    """A variable may hold one too: MAKEFLAGS, BASH_ENV, and whatever else the person's command obeys."""
    named = {**RIGHT, "claim": "it hangs on a flag", "look": "env:MAKEFLAGS=--eval=x", "supports_if": "symptom.depends == true",
             "refutes_if": "symptom.depends == false"}
    driven.plays({"proposes": {"hypotheses": [RIGHT, WRONG, named]}})
    done = driven.project.bitten("diagnose", "--with", "scripted", BITTEN_SANDBOX="clone")
    assert done.returncode == 0, done.stderr
    assert f"It would run:\n  {RIGHT['look']}\n" in done.stderr and f"It would run:\n  {named['look']}\n" in done.stderr
    found = {h["claim"]: h for h in driven.project.show()["hypotheses"]}
    assert [found[each["claim"]]["verdict"] for each in (RIGHT, WRONG, named)] == [None, "refutes", None]
    assert "✓ supported" in driven.project.bitten("check", found[RIGHT["claim"]]["id"], BITTEN_SANDBOX="clone").stdout


def test_a_confirmed_cause_needs_no_more_hypotheses(driven):
    project = driven.confirmed().project
    done = driven.diagnose(PROPOSES)
    assert done.returncode == 3 and project.slug(done) == "cause-is-confirmed" and "bitten fix --with scripted" in done.stderr
    project.write("test_windows.py", TEST)


def test_it_works_outside_a_repository(tmp_path):
    driven = Driven(tmp_path, windows_project(tmp_path, git=False))
    captured(driven.project)
    driven.project.bitten("expect", "eight rows")
    driven.confirmed().plays(FIXES[1], {"writes": ["test_windows.py", GREEN]}, {"ends": "done"}, *FIXES)
    done = driven.project.bitten("fix", "--with", "scripted", "--yes")
    assert done.returncode == 0 and "round 2 of 2" in done.stderr and "✓ proven" in done.stdout, done.stdout + done.stderr
    assert driven.project.read("windows.py") == FIXED and driven.project.read("test_windows.py") == TEST


def test_two_sessions_on_one_case_lose_nothing_of_each_other(driven):
    """Both propose while the other is at work: numbers differ, and all of it is there."""
    def proposing(word):
        these = [{**RIGHT, "claim": f"the {word} cause of {n}", "supports_if": f"rows < {n}"} for n in (2, 3)]
        return [{"sleeps": 1.5}, {"proposes": {"hypotheses": these}}, {"sleeps": 1.5}]
    driven.plays(*proposing("first"))
    first = driven.project.started("diagnose", "--with", "scripted")
    wait_for(lambda: driven.heard)
    driven.plays(*proposing("second"))
    second = driven.project.started("diagnose", "--with", "scripted")
    assert [first.wait(90), second.wait(90)] == [0, 0]
    theirs = [h for h in driven.project.show()["hypotheses"] if h["source"] == "agent:scripted"]
    assert len({h["id"] for h in theirs}) == len(theirs) == 4


def test_however_many_files_it_leaves_they_fit_on_the_screen(driven):
    project = driven.confirmed().project
    driven.plays(*({"writes": [f"junk{n}.py", "x"]} for n in range(40)), *FIXES, gate=False)
    done = project.bitten("fix", "--with", "scripted", "--yes", "--turns", "100")
    assert done.returncode == 0 and "and 28 more" in done.stderr and "junk39" not in done.stderr
