"""What a user sees when the fault is ours, when nobody reads, and when the command line makes no sense. By a driver that breaks us."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.stories import Project

BREAK = """import sys
import bitten.interfaces.wiring as wiring
from bitten.interfaces import cli
def broken(self, everything=False):
    raise RuntimeError("no such thing: password=" + "hunter2" * 2)
wiring.OpenCase.shown = broken
{more}
sys.argv = ["bitten", *{words!r}]
cli.main()
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    project = Project(tmp_path_factory.mktemp("fault"), {"main.py": "raise ValueError('x')\n"}, git=False)
    project.bitten("run", "--", sys.executable, "main.py")
    return project


def broken(project, *words, more="", **env):
    driver = BREAK.format(words=words, more=more)
    return subprocess.run([sys.executable, "-c", driver], cwd=project.root, env={**project.env, **env}, capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, check=False)


def test_a_fault_of_ours_leaves_a_report_to_paste_without_secrets_or_arguments(project):
    done = broken(project, "show", "--all")
    assert done.returncode == 70 and project.slug(done) == "our-fault" and "Traceback" not in done.stderr
    path = done.stderr.split("paste ")[1].split(" into")[0]
    report = Path(path).read_text("utf-8")
    for part in ("bitten ", "Python 3", "command: show\n", "last events: Failure", "Visit", "RuntimeError: no such thing", "Traceback"):
        assert part in report
    assert "--all" not in report and "hunter2hunter2" not in report and "‹password:" in report


def test_bitten_debug_prints_the_traceback_too(project):
    done = broken(project, "show", BITTEN_DEBUG="1")
    assert done.returncode == 70 and "Traceback" in done.stderr and "hunter2hunter2" not in done.stderr


@pytest.mark.parametrize("more", [
    "import errno\ndef full(*a, **k): raise OSError(errno.ENOSPC, 'No space left on device', 'x')\n"
    "import bitten.interfaces.wiring.single as single\nsingle.write = full",
    "def worse(text): raise KeyError('worse')\nimport bitten.interfaces.fault as fault\nfault.keep_report = worse",
], ids=["the disk is full", "the report has a fault too"])
def test_a_fault_while_the_report_is_written_ends_as_the_first_one_did(project, more):
    done = broken(project, "show", more=more)
    assert done.returncode == 70 and "our-fault" in done.stderr and "hunter2hunter2" not in done.stderr
    assert "RuntimeError" in done.stderr and done.stderr.count("✗") == 1


def test_a_fault_that_nobody_can_hear_has_its_exit_code(project):
    done = broken(project, "show", more="import os\nos.close(2)")
    assert done.returncode == 70 and done.stderr == ""


def test_output_that_nobody_reads_ends_silently(project):
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([sys.executable, "-m", "bitten", "show", "--json"], cwd=project.root, env=project.env, stdout=writer,
                          stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.parametrize(("words", "way"), [
    (["chekc"], "bitten --help"), (["show", "--no-such"], "bitten show --help"), (["suspect", "x"], "bitten suspect --help"),
    (["switch", "x"], "bitten switch --help"), (["run"], "bitten run --help"),
])
def test_a_command_line_that_makes_no_sense_is_told_with_the_way_out(project, words, way):
    done = project.bitten(*words)
    assert done.returncode == 2 and project.slug(done) == "not-understood"
    assert f"way out:  {way}\n" in done.stderr and "Traceback" not in done.stderr
