"""What the cases take is kept under its limit; what tells a case's story, and all of an open case, stays."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.stories import Project
from tests.weather.table import Row, hold

LOUD = '''import sys
from part import NUMBER
for line in range(20000):
    print("step", line, "of", NUMBER, "loss=0.25")
raise ValueError("no number %s" % sys.argv[1])
'''
STAYS = ("debug.md", "events.jsonl", "run.sh")
KILLED_AT = '''import os, signal, sys
from pathlib import Path
from bitten.interfaces.wiring import House
left, plain = [int(sys.argv[1])], os.unlink
def unlink(*args, **kwargs):
    if not left[0]:
        os.kill(os.getpid(), signal.SIGKILL)
    left[0] -= 1
    plain(*args, **kwargs)
os.unlink = unlink
House(Path.cwd()).tidied()
'''


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Three open cases of one project."""
    made = Project(tmp_path_factory.mktemp("template"), {"loud.py": LOUD, "part.py": "NUMBER = 0\n"})
    for number in (1, 2, 3):
        made.write("part.py", f"NUMBER = {number}\n")
        assert made.bitten("run", "--", sys.executable, "loud.py", "abc"[number - 1]).returncode == 1
    return made


@pytest.fixture
def project(template: Project, tmp_path: Path) -> Project:
    made = Project(tmp_path, {}, git=False)
    shutil.copytree(template.root, made.root, symlinks=True, dirs_exist_ok=True)
    return made


def case(project: Project, number: int) -> Path:
    return next((project.root / ".bitten").glob(f"{number}-*"))


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def kept(project: Project) -> dict[str, bytes]:
    """All that must never go: every file of the open case, and the story of each other."""
    stories = [case(project, number) / name for number in (1, 2) for name in STAYS]
    return {str(path): path.read_bytes() for path in (*case(project, 3).rglob("*"), *stories) if path.is_file() and path.suffix != ".lock"}


def limit(project: Project, mib: float) -> None:
    project.write(".bitten.toml", f"keep_mib = {mib}\n")


def age(project: Project) -> None:
    """As if two hours had gone: what is younger than one is never pruned."""
    for path in (project.root / ".bitten" / "objects").rglob("*"):
        os.utime(path, (1_000_000_000, 1_000_000_000))


def trees(project: Project) -> dict[int, bool]:
    """Whether each case's tree is still in the store, its changed file included."""
    return {number: _holds(project, case(project, number)) for number in (1, 2, 3)}


def _holds(project: Project, folder: Path) -> bool:
    tree = json.loads((folder / "events.jsonl").read_text("utf-8").splitlines()[0])["event"]["tree"]
    store = ["git", "--git-dir", str(project.root / ".bitten" / "objects")]
    return subprocess.run([*store, "cat-file", "-e", f"{tree}:part.py"], capture_output=True, check=False).returncode == 0


def test_below_the_limit_nothing_goes(project: Project) -> None:
    project.bitten("drop", "--case", "1")
    told = project.bitten("gc")
    assert told.returncode == 0 and told.stdout.startswith("nothing to free: ")
    assert {"capture", "evidence"} <= names(case(project, 1))


def test_raw_output_of_what_is_done_goes_oldest_first(project: Project) -> None:
    before = kept(project)
    project.bitten("drop", "--case", "1")
    project.bitten("drop", "--case", "2")
    stories = kept(project)
    assert before.keys() == stories.keys()
    size = json.loads(project.bitten("gc", "--dry-run", "--json").stdout)["before"] / 2**20
    limit(project, size - 0.1)
    told = project.bitten("gc")
    assert told.stdout.startswith("freed ") and "capture of case 1" in told.stdout and "case 2" not in told.stdout, told.stdout
    assert "capture" not in names(case(project, 1)) and "capture" in names(case(project, 2))
    assert kept(project) == stories


def test_a_dry_run_says_the_same_and_does_nothing(project: Project) -> None:
    project.bitten("drop", "--case", "1")
    limit(project, 0.1)
    first = json.loads(project.bitten("gc", "--dry-run", "--json").stdout)
    assert {"capture", "evidence"} <= names(case(project, 1))
    done = json.loads(project.bitten("gc", "--json").stdout)
    assert first["dry_run"] and not done["dry_run"]
    assert [each["what"] for each in first["freed"]] == [each["what"] for each in done["freed"]] == ["capture of case 1"]
    assert done["after"] == json.loads(project.bitten("gc", "--json").stdout)["before"]


def test_it_runs_by_itself_when_a_case_is_dropped_over_the_limit(project: Project) -> None:
    limit(project, 0.1)
    stays = {path: content for path, content in kept(project).items() if "/3-" in path}
    dropped = project.bitten("drop", "--case", "2")
    assert dropped.returncode == 0 and "freed " in dropped.stderr and "capture of case 2" in dropped.stderr, dropped.stderr
    assert "The rest belongs to open cases" in dropped.stderr
    assert {path: content for path, content in kept(project).items() if "/3-" in path} == stays
    assert project.bitten("show", "--case", "2").returncode == 0
    hold(Row("Strange places", "the cases take more than `keep-mib`",
             "what is raw goes, of cases that are done and oldest first; stories and open cases stay", "`freed … capture of case 2 …`", 0))


def test_trees_that_no_open_case_names_are_pruned(project: Project) -> None:
    project.bitten("drop", "--case", "1")
    assert project.bitten("gc").returncode == 0
    assert trees(project) == {1: True, 2: True, 3: True}, "nothing younger than an hour goes"
    age(project)
    assert "trees that no open case names" in project.bitten("gc").stdout
    assert trees(project) == {1: False, 2: True, 3: True}


def test_a_case_that_can_not_be_read_keeps_every_tree(project: Project) -> None:
    project.bitten("drop", "--case", "1")
    (case(project, 2) / "events.jsonl").write_bytes(b'{"no": "event"}\n')
    age(project)
    told = project.bitten("gc")
    assert told.returncode == 0 and "No tree was removed: case 2 can't be read" in told.stdout, told.stdout
    assert (case(project, 2) / "capture" / "output").exists()


def test_nothing_outside_goes_by_a_link(project: Project, tmp_path: Path) -> None:
    project.bitten("drop", "--case", "1")
    outside = tmp_path / "outside"
    (case(project, 1) / "capture").rename(outside)
    (case(project, 1) / "capture").symlink_to(outside)
    limit(project, 0.01)
    assert project.bitten("gc").returncode == 0
    assert (outside / "output").exists()


def _killed_at(project: Project, removal: int) -> bool:
    words = [sys.executable, "-c", KILLED_AT, str(removal)]
    return subprocess.run(words, cwd=project.root, env=project.env, check=False).returncode == -9


def test_killed_at_any_removal_it_has_lost_nothing_that_must_stay(project: Project) -> None:
    for number in (1, 2):
        project.bitten("drop", "--case", str(number))
        for name in "abcd":
            (case(project, number) / "evidence" / name).mkdir()
            (case(project, number) / "evidence" / name / "output").write_bytes(b"x" * 10_000)
    stays = kept(project)
    limit(project, 0.01)
    killed = 0
    while _killed_at(project, killed % 3):
        killed += 1
        assert kept(project) == stays
        assert killed < 80
    assert killed > 3
    assert kept(project) == stays
    assert not {"capture", "evidence"} & (names(case(project, 1)) | names(case(project, 2)))
    assert project.bitten("show", "--case", "1").returncode == 0
