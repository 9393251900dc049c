"""The whole life of a case, by the public command line, with real git, real processes and a typed confirmation."""

from __future__ import annotations

import json
import sys

import pytest

from tests.stories import COUNT, FIXED, MAIN, SUSPECT, TEST, WINDOWS, Project, captured, confirmed, fixed, windows_project


def test_from_a_failing_command_to_one_commit_of_fix_test_and_lesson(tmp_path):
    project = windows_project(tmp_path)
    project.write("notes.txt", "work in progress\n")
    confirmed(captured(project))
    fixed(project)
    proven = project.bitten("verify")
    assert proven.returncode == 0 and "✓ proven" in proven.stdout, proven.stdout + proven.stderr
    code, seen = project.typed("close", answers=(("only local", ""),))
    assert code == 0 and "✓ closed, commit" in seen, seen
    assert project.git("show", "--name-only", "--format=%s", "HEAD").split()[-3:] == ["CLAUDE.md", "test_windows.py", "windows.py"]
    assert "## Things that have bitten us" in project.read("CLAUDE.md")
    assert project.git("status", "--porcelain").split() == ["??", "notes.txt"], "what was in progress stays in progress"
    assert project.show()["step"] == "closed"
    told = json.loads((project.case() / "verification.json").read_text("utf-8"))
    assert told["tests"]["red"] == [["test_windows.py::test_every_row_is_in_a_window", "call", "failed", "AssertionError"]]


def test_the_story_works_from_a_dirty_tree_with_the_cause_in_the_uncommitted_part(tmp_path):
    project = Project(tmp_path, {"windows.py": FIXED, "main.py": MAIN, "count_rows.py": COUNT})
    project.write("windows.py", WINDOWS)
    fixed(confirmed(captured(project)))
    assert project.bitten("verify").returncode == 0
    code, seen = project.typed("close", answers=(("only local", ""),))
    assert code == 0 and "uncommitted work" in seen, seen
    assert project.git("show", "--name-only", "--format=", "HEAD").split() == ["CLAUDE.md", "test_windows.py"]
    assert project.read("windows.py") == FIXED


def test_with_consent_the_touched_files_are_committed_whole(tmp_path):
    project = Project(tmp_path, {"windows.py": FIXED, "main.py": MAIN, "count_rows.py": COUNT})
    project.write("windows.py", WINDOWS.replace("return 1", "return 2"))
    project.write("notes.txt", "work in progress\n")
    fixed(confirmed(captured(project)), FIXED.replace("return 1", "return 2"))
    assert project.bitten("verify").returncode == 0
    code, seen = project.typed("close", "--all", answers=(("only local", ""),))
    assert code == 0 and "✓ closed, commit" in seen, seen
    assert project.git("show", "--name-only", "--format=", "HEAD").split() == ["CLAUDE.md", "test_windows.py", "windows.py"]
    assert "return 2" in project.git("show", "HEAD:windows.py")
    assert project.git("status", "--porcelain").split() == ["??", "notes.txt"]


def test_unrelated_work_in_progress_in_the_same_file_is_not_committed(tmp_path):
    project = windows_project(tmp_path)
    project.write("windows.py", WINDOWS.replace("return 1", "return 2"))
    confirmed(captured(project))
    fixed(project, FIXED.replace("return 1", "return 2"))
    assert project.bitten("verify").returncode == 0
    code, seen = project.typed("close", answers=(("only local", ""),))
    assert code == 0, seen
    assert project.git("show", "HEAD:windows.py") == FIXED
    assert "return 2" in project.read("windows.py")
    assert project.git("diff", "--cached", "--name-only") == ""


def test_the_story_works_from_a_subfolder(tmp_path):
    project = Project(tmp_path, {f"inner/{name}": text for name, text in
                                 {"windows.py": WINDOWS, "main.py": MAIN, "count_rows.py": COUNT}.items()})
    captured(project, cwd="inner")
    suspected = project.bitten(*[word.replace("windows.py:", "inner/windows.py:") for word in SUSPECT], cwd="inner")
    assert suspected.returncode == 0, suspected.stderr
    name = project.show()["hypotheses"][0]["id"]
    name = next(h["id"] for h in project.show()["hypotheses"] if h["source"].startswith("person:"))
    assert "✓ supported" in project.bitten("check", name, cwd="inner").stdout
    code, seen = project.typed("confirm", name, answers=(("decided it?", "7"), ("name others)", "")), cwd="inner")
    assert code == 0, seen
    project.write("inner/windows.py", FIXED)
    project.write("inner/test_windows.py", TEST)
    verified = project.bitten("fix", "--test", "inner/test_windows.py", cwd="inner")
    assert verified.returncode == 0, verified.stderr
    proven = project.bitten("verify", cwd="inner")
    assert proven.returncode == 0, proven.stdout + proven.stderr
    code, seen = project.typed("close", answers=(("only local", ""),), cwd="inner")
    assert code == 0, seen


def test_the_story_works_outside_a_repository_and_leaves_the_patch_and_the_note(tmp_path):
    project = windows_project(tmp_path, git=False)
    fixed(confirmed(captured(project)))
    proven = project.bitten("verify")
    assert proven.returncode == 0, proven.stdout + proven.stderr
    code, seen = project.typed("close", answers=(("only local", ""),))
    assert code == 0 and "no repository" in seen, seen
    assert "len(rows))" in (project.case() / "fix.patch").read_text("utf-8")
    assert "Cause: the last window is one row short" in seen


def test_a_missed_expectation_is_a_failure_and_its_fix_is_held_to_it(tmp_path):
    quiet = MAIN.split("if len")[0]
    project = Project(tmp_path, {"windows.py": WINDOWS, "main.py": quiet, "count_rows.py": COUNT})
    run = project.bitten("run", "--expect", "rows == 8", "--", sys.executable, "main.py")
    assert run.returncode == 65 and run.stdout == "rows=7\n" and "expected rows == 8; measured 7" in run.stderr
    fixed(confirmed(project))
    proven = project.bitten("verify")
    assert proven.returncode == 0 and "rows == 8" in proven.stdout, proven.stdout + proven.stderr


def test_running_the_command_again_joins_the_case_and_another_failure_opens_a_linked_one(tmp_path):
    project = captured(windows_project(tmp_path))
    again = project.bitten("run", "--", sys.executable, "main.py")
    assert "case 1 ·" in again.stderr and "seen 2 times" in again.stderr
    project.write("main.py", "raise KeyError('other')\n")
    other = project.bitten("run", "--", sys.executable, "main.py")
    assert "case 2 ·" in other.stderr
    project.write("main.py", "print('fine')\n")
    fine = project.bitten("run", "--", sys.executable, "main.py")
    assert fine.returncode == 0 and "passes now" in fine.stderr and "bitten drop" in fine.stderr


def test_what_was_expected_is_asked_once_on_a_terminal_and_can_be_said_later(tmp_path):
    project = windows_project(tmp_path)
    code, seen = project.typed("run", "--", sys.executable, "main.py", answers=(("What did you expect?", "equal windows"),))
    assert code == 1 and "ValueError: windows of unequal size" in seen
    assert "equal windows" in (project.case() / "debug.md").read_text("utf-8")
    project.bitten("expect", "eight", "rows")
    assert "eight rows" in (project.case() / "debug.md").read_text("utf-8")


def test_what_was_said_later_is_held_to_by_the_next_run(tmp_path):
    project = captured(windows_project(tmp_path))
    project.write("main.py", "print('rows=7')\n")
    assert project.bitten("run", "--", sys.executable, "main.py").returncode == 0
    project.bitten("expect", "rows == 8")
    assert project.bitten("run", "--", sys.executable, "main.py").returncode == 65


def test_what_a_person_writes_into_debug_md_stays_and_is_read_back(tmp_path):
    project = captured(windows_project(tmp_path))
    document = project.case() / "debug.md"
    document.write_text(document.read_text("utf-8").replace("Nothing yet.", "Turned it off and on again."), "utf-8")
    project.bitten("check")
    assert "Turned it off and on again." in document.read_text("utf-8")
    assert '"Turned it off and on again."' in (project.case() / "events.jsonl").read_text("utf-8")


def test_a_fix_that_does_not_hold_goes_back_to_step_two_with_what_was_learnt(tmp_path):
    project = confirmed(captured(windows_project(tmp_path)))
    fixed(project, WINDOWS.replace("len(rows) - 1)", "len(rows) - 0) if start else start + size - 0"), TEST.replace("== 8", "in (8,)"))
    project.write("windows.py", WINDOWS.replace("- 1)", "- 2)"))
    failed = project.bitten("verify")
    assert project.slug(failed) == "test-red-on-fix", failed.stderr
    assert project.show()["step"] == "tested"
    assert "a fix did not hold (test-red-on-fix)" in (project.case() / "debug.md").read_text("utf-8")


@pytest.mark.parametrize(
    "script", ["raise SystemExit(3)", "import os; os.kill(os.getpid(), 9)", "print('no newline', end=''); raise SystemExit(2)"]
)
def test_every_kind_of_end_opens_a_case_and_is_passed_on(tmp_path, script):
    project = Project(tmp_path, {"main.py": script})
    done = project.bitten("run", "--", sys.executable, "main.py")
    assert done.returncode == {"r": 3, "i": -9, "p": 2}[script[0]]
    assert "case 1 ·" in done.stderr and "next:" in done.stderr


def test_tests_of_a_project_inside_a_repository_run_from_where_the_command_ran(tmp_path):
    main, count, test = (text.replace("from windows", "from pkg.windows") for text in (MAIN, COUNT, TEST))
    project = Project(
        tmp_path, {"inner/pkg/windows.py": WINDOWS, "inner/main.py": main, "inner/count_rows.py": count, "inner/pkg/__init__.py": ""}
    )
    captured(project, cwd="inner")
    assert project.bitten(*[word.replace("windows.py:", "inner/pkg/windows.py:") for word in SUSPECT], cwd="inner").returncode == 0
    name = next(h["id"] for h in project.show()["hypotheses"] if h["source"].startswith("person:"))
    assert "✓ supported" in project.bitten("check", name, cwd="inner").stdout
    scope = "inner/pkg/windows.py:windows inner/tests/test_windows.py"
    code, seen = project.typed("confirm", name, answers=(("decided it?", "7"), ("name others)", scope)), cwd="inner")
    assert code == 0, seen
    project.write("inner/pkg/windows.py", FIXED)
    project.write("inner/tests/test_windows.py", test)
    proven = project.bitten("verify", cwd="inner")
    assert proven.returncode == 0, proven.stdout + proven.stderr
