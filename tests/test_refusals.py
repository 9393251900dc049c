"""What is refused, by its slug and with the way out, as its user sees it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.stories import FIXED, SUSPECT, TEST, WINDOWS, captured, confirmed, fixed, windows_project


@pytest.fixture
def project(tmp_path):
    return captured(windows_project(tmp_path))


def refused(project, slug, *words):
    done = project.bitten(*words)
    assert project.slug(done) == slug, done.stdout + done.stderr
    assert "way out:  " in done.stderr
    assert done.returncode in (2, 3, 4) and "Traceback" not in done.stderr
    return done


def test_fix_before_a_confirmation(project):
    refused(project, "fix-before-confirmation", "fix")
    fixed(project)
    refused(project, "fix-before-confirmation", "verify")


def test_confirm_from_a_pipe(project):
    project.bitten(*SUSPECT)
    name = next(h["id"] for h in project.show()["hypotheses"] if h["source"].startswith("person:"))
    refused(project, "confirm-without-evidence", "confirm", name)
    project.bitten("check", name)
    refused(project, "confirm-not-a-person", "confirm", name)
    code, seen = project.typed("confirm", name, answers=(("decided it?", "yes"), ("name others)", "windows.py test_windows.py")))
    assert code == 3 and "confirm-wrong-value" in seen
    assert project.show()["step"] == "tested"


@pytest.mark.parametrize(("slug", "test"), [
    ("test-green-on-base", "def test_it():\n    assert True is not False\n"),
    ("test-skipped-on-base", "import pytest\n\n\ndef test_it():\n    pytest.skip('later')\n"),
    ("test-breaks-before-call", "import no_such_module\n\n\ndef test_it():\n    assert no_such_module\n"),
    ("test-red-for-another-reason", "def test_it():\n    import no_such_module\n"),
    ("test-not-found", "def helper():\n    return 8\n"),
])
def test_a_test_that_is_not_red_on_the_base_for_the_right_reason(project, slug, test):
    fixed(confirmed(project), test=test)
    refused(project, slug, "verify")
    assert project.show()["step"] == "confirmed", "the cause was not put in doubt"


def test_a_python_that_has_no_pytest(project, tmp_path):
    bare = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare)], check=True)
    project.bitten("drop")
    project.bitten("run", "--", str(bare / "bin" / "python"), "main.py")
    fixed(confirmed(project))
    done = refused(project, "test-did-not-run", "verify")
    assert "No module named pytest" in done.stderr


def test_a_patch_outside_the_scope(project):
    confirmed(project)
    fixed(project, FIXED.replace("return 1", "return 2"))
    done = refused(project, "fix-outside-scope", "verify")
    assert "windows.py:other" in done.stderr


def test_a_fix_without_its_test_and_a_test_without_its_fix(project):
    confirmed(project)
    refused(project, "fix-changes-nothing", "verify")
    project.write("windows.py", FIXED)
    refused(project, "fix-without-test", "verify")
    project.write("windows.py", WINDOWS)
    project.write("test_windows.py", TEST)
    refused(project, "fix-changes-nothing", "verify")


def test_a_patch_that_silences_the_symptom_while_the_check_still_supports(project):
    confirmed(project)
    silenced = WINDOWS.replace("yield rows[start:stop]", "if stop < len(rows) - 1:\n            yield rows[start:stop]")
    test = "from windows import windows\n\n\ndef test_equal():\n    assert len({len(p) for p in windows(list(range(8)), 4)}) == 1\n"
    fixed(project, silenced, test)
    refused(project, "cause-still-there", "verify")
    assert project.show()["step"] == "tested", "back to step 2"


def test_a_confirming_check_that_crashes_on_the_fix(project):
    confirmed(project)
    # The window now refuses what the check gives it; the command, which reads main's own rows, passes.
    code = FIXED.replace(
        "    for start", "    import sys\n    if sys.argv[0].endswith('count_rows.py'):\n        raise OSError('no')\n    for start"
    )
    fixed(project, code)
    refused(project, "check-incomplete-on-fix", "verify")


def test_a_fix_with_which_the_command_still_fails(project):
    confirmed(project)
    code = FIXED.replace(
        "    for start", "    import sys\n    if sys.argv[0].endswith('main.py'):\n        raise OSError('no')\n    for start"
    )
    fixed(project, code)
    done = refused(project, "command-still-fails", "verify")
    assert "OSError: no" in done.stderr


def test_learn_and_close_before_a_proof(project):
    refused(project, "learn-before-verification", "learn", "--text", "- x")
    refused(project, "close-before-lesson", "close")
    fixed(confirmed(project))
    refused(project, "close-before-lesson", "close")


def test_a_fix_that_was_changed_after_its_proof(project):
    fixed(confirmed(project))
    assert project.bitten("verify").returncode == 0
    project.write("windows.py", FIXED + "\n\nLATE = True\n")
    refused(project, "fix-stale", "close", "--local", "only here")


def test_a_lesson_that_no_person_accepted(project):
    fixed(confirmed(project))
    project.bitten("verify")
    done = refused(project, "lesson-needs-a-person", "close")
    assert "Lesson:" in done.stderr, "the draft is shown"


def test_a_refuted_claim_that_comes_back(project):
    again = [word.replace("rows < 8", "rows < 3").replace("rows == 8", "rows == 7") for word in SUSPECT]
    project.bitten(*again)
    name = next(h["id"] for h in project.show()["hypotheses"] if h["source"].startswith("person:"))
    assert "✗ refuted" in project.bitten("check", name).stdout
    refused(project, "already-refuted", *again)


def test_a_costly_check_that_nobody_agreed_to(project):
    (project.root / ".bitten.toml").write_text("ask_after = 0.0\n", "utf-8")
    project.bitten(*SUSPECT)
    done = refused(project, "check-costs", "check")
    assert sys.executable in done.stderr, "the command is printed"


@pytest.mark.parametrize(("slug", "words"), [
    ("bad-prediction", ["run", "--expect", "nonsense", "--", "true"]),
    ("command-not-found", ["run", "--", "no-such-program"]),
    ("no-such-case", ["show", "--case", "99"]),
    ("no-such-hypothesis", ["confirm", "h99"]),
    ("no-such-playbook", ["prove", "no-such"]),
    ("reset-needs-script", ["reset"]),
    ("demo-needs-a-terminal", ["demo"]),
])
def test_what_can_not_be_used_is_said_with_the_way_out(project, slug, words):
    done = project.bitten(*words)
    assert project.slug(done) == slug, done.stderr
    assert "way out:  " in done.stderr and "Traceback" not in done.stderr


def test_a_reset_needs_ten_lines_that_show_this_failure(project):
    project.write("short.py", "raise ValueError('windows of unequal size: [4, 3]')\n")
    project.write("long.py", "x = 1\n" * 11)
    project.write("other.py", "raise KeyError('x')\n")
    refused(project, "reproducer-too-long", "reset", "--script", "long.py", "--symptom", "as before")
    refused(project, "reproducer-shows-another", "reset", "--script", "other.py", "--symptom", "as before")
    done = project.bitten("reset", "--script", "short.py", "--symptom", "as before")
    assert done.returncode == 0, done.stderr
