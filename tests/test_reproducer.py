"""`bitten run` looks for a reproducer once the case is on disk; the public command line at work."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from bitten.core.case import Reproducer
from bitten.interfaces import reproducing
from tests.stories import Project

BROKEN = "LABELS = {'cat': 0}\n\n\ndef code(row):\n    return LABELS[row['kind']]\n\n\nprint(code({'kind': 'dog'}))\n"


@pytest.fixture
def project(tmp_path):
    made = Project(tmp_path, {"main.py": BROKEN})
    made.env["BITTEN_REPRODUCER"] = "1"
    return made


def debug(project):
    return next(project.root.glob(".bitten/1-*/debug.md")).read_text("utf-8")


def test_it_is_one_line_on_the_screen_a_file_and_a_section(project):
    ran = project.bitten("run", "--", "python3", "main.py")
    assert ran.returncode == 1
    line = ran.stderr.strip().splitlines()[-1]
    assert line.startswith("  reproducer: ")
    file = project.root / line.split("·")[-1].strip()
    assert "LABELS" in file.read_text("utf-8")
    assert "## Reproducer" in debug(project)
    assert "A fresh process shows the same: `KeyError: 'dog'`" in debug(project)


def test_an_option_and_a_setting_switch_it_off(project):
    ran = project.bitten("run", "--no-reproducer", "--", "python3", "main.py")
    assert "reproducer" not in ran.stderr
    assert "## Reproducer" not in debug(project)
    project.write(".bitten.toml", "reproducer = false\n")
    project.write("main.py", BROKEN.replace("'dog'", "3"))
    ran = project.bitten("run", "--", "python3", "main.py")
    assert "reproducer" not in ran.stderr


def test_real_arguments_are_kept_when_asked_for_and_make_a_reproducer_that_hangs_on_their_values(project):
    rows = "import numpy as np\n\n\ndef look(rows):\n    return [1, 2][int(rows[rows > 5][0])]\n\n\n" \
           "rows = np.zeros(5000)\nrows[1234] = 7.5\nlook(rows)\n"
    project.write("main.py", rows)
    ran = project.bitten("run", "--keep-arguments", "--", sys.executable, "main.py")
    folder = next(project.root.glob(".bitten/1-*/capture"))
    assert (folder / "arguments.npz").is_file()
    assert "reproducer: " in ran.stderr
    assert "np.load(" in (folder / "reproducer.py").read_text("utf-8")
    assert "IndexError" in debug(project)


def test_no_argument_is_kept_unasked(project):
    project.write("main.py", "import numpy as np\n\n\ndef look(rows):\n    return rows[700]\n\n\nlook(np.zeros(5))\n")
    project.bitten("run", "--", sys.executable, "main.py")
    assert not list(project.root.glob(".bitten/1-*/capture/arguments*"))


def test_reset_takes_it_when_no_script_is_named(project):
    project.bitten("run", "--", "python3", "main.py")
    done = project.bitten("reset", "--symptom", "a label is missing")
    assert done.returncode == 0, done.stderr
    journal = next(project.root.glob(".bitten/1-*/events.jsonl")).read_text("utf-8")
    assert '"kind":"Reset"' in journal
    assert "a label is missing" in journal


def test_a_typed_interrupt_only_skips_it(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("BITTEN_REPRODUCER", "1")
    house = SimpleNamespace(settings=SimpleNamespace(reproducer=True), person=SimpleNamespace(channel="pipe"))
    reproducing.reproduce(SimpleNamespace(house=house, reproduced=_interrupted), tmp_path)
    assert capsys.readouterr().err == ""


def _interrupted(spool):
    raise KeyboardInterrupt


def test_its_lines_are_counted_without_blank_ones():
    assert Reproducer("import a\n\na.f()\n").lines == 2
