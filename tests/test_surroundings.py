"""What surrounded a failure, by the public command line: config and data, environment, what changed since it last worked, files to read."""

from __future__ import annotations

import json
import sys

import pytest

from tests.adapters.project import every_file
from tests.stories import Project

TRAIN = '''import json

import helper

conf = json.load(open("conf.json"))
rows = open("data/rows.csv").read().splitlines()


def main(args):
    helper.check(conf, rows)


main({"steps": 3})
print("done")
'''
HELPER = '''import limits


def check(conf, rows):
    if conf["lr"] > limits.HIGHEST:
        raise ValueError("diverged")
'''
TOKEN = "hf_" + "Ab12" * 9
CONF = {"lr": 0.1, "model": {"dim": 64}, "hub": {"token": TOKEN}, "data": "data/rows.csv", "val": "data/val.csv"}
RUN = ("run", "--", sys.executable, "train.py")


def project(place, **how) -> Project:
    made = Project(place, {"train.py": TRAIN, "helper.py": HELPER, "limits.py": "HIGHEST = 0.5\n", "conf.json": json.dumps(CONF),
                           "requirements.txt": "numpy==0.0.1\n", ".gitignore": "data/\n"}, **how)
    made.write("data/rows.csv", "a\nb\nc\n")
    return made


def failing(made: Project, **conf) -> str:
    made.write("conf.json", json.dumps({**CONF, "lr": 1.0, **conf}))
    assert made.bitten(*RUN).returncode == 1
    return (made.case() / "debug.md").read_text("utf-8")


def section(document: str, name: str) -> str:
    return document.partition(f"## {name}\n")[2].partition("\n## ")[0]


@pytest.fixture(scope="module")
def told(tmp_path_factory) -> tuple[Project, str]:
    """A run that went well, then a commit, an edit, another value and more data, and the failure."""
    made = project(tmp_path_factory.mktemp("story"))
    done = made.bitten(*RUN)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
    made.write("limits.py", "HIGHEST = 0.6\n")
    made.commit("raise the limit")
    made.write("helper.py", HELPER + "\n")
    made.write("data/rows.csv", "a\nb\n")
    return made, failing(made)


def test_config_and_data_name_files_digests_values_and_what_is_missing(told):
    text = section(told[1], "Config and data")
    assert "- config: `conf.json` (" in text and "sha256 " in text and "- data: `data/rows.csv` (4 bytes, 2 lines, sha256 " in text
    assert "conf.json names 2 files of data; not there: data/val.csv" in text
    assert "    lr = 1.0\n" in text and "    model.dim = 64\n" in text
    assert "args (dict), a variable at train.py:10 in main\n    steps = 3" in text


def test_the_environment_names_packages_builds_and_the_lock(told):
    text = section(told[1], "Environment")
    assert "- packages: " in text and "- requirements.txt: of its 1 packages 1 differ: numpy " in text and "- torch build: " in text
    assert "- encoding: utf-8\n" in text and "- processor: " in text and "- memory: " in text and "- interpreter" not in text


def test_what_changed_since_the_last_good_run_is_in_lines(told):
    text = section(told[1], "What changed")
    assert "Last good run: " in text and "raise the limit" in text and "- files: conf.json, helper.py, limits.py\n" in text
    assert "- conf.json: lr 0.1 → 1.0\n" in text and "- data/rows.csv: 3 → 2 lines\n" in text
    assert "packages:" not in text and "environment:" not in text


def test_files_to_read_are_ranked_with_their_reasons(told):
    lines = section(told[1], "Files to read").strip().splitlines()
    assert lines[0].startswith("- `helper.py`: in the stack, line 6; changed since the last good run; not committed")
    assert lines[1].startswith("- `train.py`: in the stack, line 10")
    assert any(line.startswith("- `limits.py`: changed since the last good run") for line in lines[2:])


def test_a_plain_crash_fits_two_screens_and_the_command_stands_first(told):
    lines = told[1].splitlines()
    assert lines[2] == "## Command" and len(lines) <= 130
    assert lines.index("## What happened") < 20


def test_the_whole_of_it_lies_beside_and_no_secret_anywhere(told):
    made = told[0]
    kept = {name: json.loads((made.case() / "capture" / name).read_text("utf-8")) for name in ("manifest.json", "environment.json")}
    assert {each["path"] for each in kept["manifest.json"]["files"]} == {"conf.json", "data/rows.csv"}
    assert "pytest" in kept["environment.json"]["packages"]
    for folder in (made.root / ".bitten", made.home, made.root.parent / "run"):
        holding = [file for file in folder.rglob("*") if file.is_file() and TOKEN.encode() in file.read_bytes()]
        assert holding == []


def test_an_unchanged_world_has_nothing_to_tell_and_works_outside_git(tmp_path):
    made = project(tmp_path, git=False)
    made.write("train.py", TRAIN.replace('print("done")', 'import os\nassert "FAIL" not in os.environ'))
    assert made.bitten(*RUN).returncode == 0
    assert made.bitten(*RUN, FAIL="1").returncode == 1
    first = section((made.case() / "debug.md").read_text("utf-8"), "What changed")
    assert "nothing that bitten looks at" in first
    made.write("limits.py", "HIGHEST = 0.4\n")
    assert "- files: conf.json, limits.py\n" in section(failing(made), "What changed")


def test_without_a_good_run_or_a_python_no_record_is_kept_or_spoken_of(tmp_path):
    made = project(tmp_path)
    assert made.bitten("run", "--", "true").returncode == 0
    assert "Last good run" not in failing(made)
    assert not (made.home / "state" / "bitten" / "good").exists()


def test_a_run_that_goes_well_leaves_the_project_as_it_was(tmp_path):
    made = project(tmp_path)
    before = every_file(made.root)
    assert made.bitten(*RUN).returncode == 0
    assert every_file(made.root) == before
    assert len(list((made.home / "state" / "bitten" / "good").iterdir())) == 1


def test_what_the_run_itself_wrote_is_no_change_of_the_persons(tmp_path):
    made = project(tmp_path)
    made.write("train.py", 'open("metrics.txt", "w").write("1")\n' + TRAIN)
    made.commit("write")
    assert made.bitten(*RUN, PYTHONDONTWRITEBYTECODE="").returncode == 0
    made.git("add", "metrics.txt")
    text = failing(made)
    assert "metrics.txt" not in section(text, "What changed") + section(text, "Files to read")
    assert "- wrote: `metrics.txt` (1 bytes)" in text and "__pycache__" not in text


def test_a_checkpoint_that_no_python_call_opened_is_the_runs_too(tmp_path):
    made = project(tmp_path)
    made.write("train.py", 'import os\nos.system("printf 123 > best.ckpt; printf 1 > notes.txt")\n' + TRAIN)
    made.write("old.ckpt", "the person's")
    text = failing(made)
    assert "- wrote: `best.ckpt` (3 bytes)" in text and "best.ckpt" not in section(text, "What changed")
    assert "`old.ckpt`" in section(text, "What changed") and "`notes.txt`" in section(text, "What changed")


def test_code_that_changes_while_the_command_runs_is_said(tmp_path):
    made = project(tmp_path)
    made.write("train.py", "from pathlib import Path\n\nPath(__file__).write_text(Path(__file__).read_text() + '\\n')\n1 / 0\n")
    done = made.bitten(*RUN)
    assert "train.py changed after the command began" in done.stderr
    assert "train.py changed after the command began" in section((made.case() / "debug.md").read_text("utf-8"), "What happened")
