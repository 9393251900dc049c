"""Promises P1 and P2: the program is as it was, and before a confirmed cause nothing of the person's is touched."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.stories import SUSPECT, Project, windows_project

BUSY = '''import os, pathlib, subprocess, sys

here = pathlib.Path(__file__).parent
print("loss=0.5")
print("warning", file=sys.stderr)
(here / "data").mkdir(exist_ok=True)
with open(here / "data" / "rows.csv", "a") as file:
    file.write("1\\n")
for place in (os.environ["ELSEWHERE"], os.path.expanduser("~/.cache")):
    os.makedirs(place, exist_ok=True)
    with open(os.path.join(place, "model.pt"), "a") as file:
        file.write("weights\\n")
(here / "windows.py").write_text((here / "windows.py").read_text() + "# touched\\n")
subprocess.run(["git", "stash", "-q"], cwd=here)
subprocess.run(["git", "commit", "-q", "--allow-empty", "-m", "by the program"], cwd=here)
raise ValueError("busy")
'''


def plain(project: Project, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "main.py"], cwd=project.root, env={**project.env, **env}, capture_output=True, text=True, check=False
    )


def test_run_leaves_what_the_command_itself_leaves_and_nothing_else(tmp_path):
    ours, theirs = (windows_project(make(tmp_path / name)) for name in ("ours", "theirs"))
    run = ours.bitten("run", "--", sys.executable, "main.py")
    bare = plain(theirs)
    assert (run.returncode, run.stdout) == (bare.returncode, bare.stdout)
    assert run.stderr.startswith(bare.stderr.replace(str(theirs.root), str(ours.root)))
    assert names(ours) == names(theirs)
    assert ours.git("status", "--porcelain", "--ignored") == theirs.git("status", "--porcelain", "--ignored") + "!! .bitten/\n"
    for words in (("for-each-ref",), ("stash", "list"), ("ls-files", "-s")):
        assert len(ours.git(*words).splitlines()) == len(theirs.git(*words).splitlines())


def make(folder):
    folder.mkdir()
    return folder


def names(project: Project) -> dict[str, bytes]:
    return {str(file.relative_to(project.root)): file.read_bytes() for file in sorted(project.root.rglob("*"))
            if file.is_file() and not {".bitten", ".git"} & set(file.parts)}


@pytest.mark.parametrize("sandbox", ["", "clone"])
def test_from_diagnose_to_confirm_every_byte_ref_and_stash_stays(tmp_path, sandbox):
    project = windows_project(tmp_path)
    elsewhere = make(tmp_path / "elsewhere")
    project.write("main.py", BUSY)
    (project.root / "data").mkdir()
    project.write("data/rows.csv", "0\n")
    project.write("work.txt", "in progress\n")
    env = {"ELSEWHERE": str(elsewhere), "BITTEN_SANDBOX": sandbox}
    project.bitten("run", "--", sys.executable, "main.py", **env)
    project.git("stash", "pop")
    before = state(project, elsewhere)
    for words in (["diagnose"], ["check", "--yes"], SUSPECT, ["check", "h4", "--yes"]):
        project.bitten(*words, **env)
    name = next(h["id"] for h in project.show()["hypotheses"] if h["source"].startswith("person:"))
    project.bitten("check", name, **env)
    assert state(project, elsewhere) == before
    code, seen = project.typed(
        "confirm", name, answers=(("decided it?", "7"), ("name others)", "windows.py:windows test_windows.py")), **env
    )
    assert code == 0, seen
    assert state(project, elsewhere) == before


def state(project: Project, elsewhere):
    files = project.photograph(elsewhere, project.home / ".cache")
    own = str(project.home / ".cache" / "bitten")
    return (
        {name: seen for name, seen in files.items() if not name.startswith(own)},
        project.git("for-each-ref"),
        project.git("stash", "list"),
    )


def test_numbers_and_output_are_the_same_bit_for_bit(tmp_path):
    code = "import random; random.seed(1); print([random.random() for _ in range(5)]); print(hash('a') == hash('a'), id(1) > 0)"
    project = Project(tmp_path, {"main.py": code})
    assert project.bitten("run", "--", sys.executable, "main.py").stdout == plain(project).stdout
