"""A Python of a shell with the hook leaves what it knows when it crashes, and nothing at all when it is well."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bitten.adapters.guest_told import guest_facts, guest_log
from bitten.adapters.handing_on import shell_hook
from tests.guest.test_invariance import PROGRAMS, SMALL
from tests.guest.visit import bare_environment, python

CRASH = """def load(path):
    tries = [path] * 3
    raise OSError("no shard " + path)


if __name__ == "__main__":
    open("config.yaml").close()
    load("a")
"""
WORKER = """from multiprocessing import get_context
import sys

import crash

if __name__ == "__main__":
    with get_context(sys.argv[1]).Pool(1) as pool:
        try:
            pool.map(crash.load, ["b"])
        except OSError:
            if sys.argv[2:]:
                raise
"""


class Shell:
    """An environment with the hook in it."""

    def __init__(self, place: Path) -> None:
        self.base, self.root = place / "base", place / "project"
        for folder in (self.base, self.root, place / "cache"):
            folder.mkdir(mode=0o700)
        self.env = {**bare_environment(), "PYTHONDONTWRITEBYTECODE": "1"}
        told = shell_hook.variables(self.base, place / "cache", [], self.env)
        self.env |= {name: value for name, value in told.items() if value is not None}
        for name, text in {"crash.py": CRASH, "worker.py": WORKER, "config.yaml": "lr: 1\n"}.items():
            (self.root / name).write_text(text)

    def run(self, *argv, exe=sys.executable, **options):
        return subprocess.run([str(exe), *argv], cwd=self.root, env=self.env, capture_output=True, text=True, check=False, **options)

    @property
    def left(self):
        return sorted(self.base.iterdir())

    def story(self, at=-1):
        return guest_facts.read(self.left[at], self.root, ended_badly=True)


@pytest.fixture
def shell(tmp_path):
    return Shell(tmp_path)


@pytest.mark.parametrize("version", ["3.8", "3.11", "3.13"])
def test_a_crash_leaves_its_variables_its_files_and_its_command(shell, version):
    exe = python(version)
    if exe is None:
        pytest.skip(f"no Python {version} here")
    done = shell.run("crash.py", exe=exe)
    assert done.returncode == 1 and done.stderr.endswith("OSError: no shard a\n")
    story = shell.story()
    assert [(crash.type, crash.message, crash.handled) for crash in story.crashes] == [("OSError", "no shard a", False)]
    assert story.crashes[0].site.variables["path"] == "'a'"
    assert story.environment["command"].endswith(" crash.py") and [each.path for each in story.files] == ["config.yaml"]
    assert shell.left[0].stat().st_mode & 0o777 == 0o700 and story.notes == ()


@pytest.mark.parametrize("argv", [
    ["-c", "import json, threading, logging"], ["-c", "import sys; sys.exit(3)"], ["-c", "import os; os._exit(3)"],
    ["-c", "import traceback\ntry: 1/0\nexcept Exception: traceback.print_exc()"], ["-c", "raise KeyboardInterrupt"],
    ["-c", "import subprocess, sys; subprocess.run([sys.executable, '-c', 'pass'])"], ["-c", "import os; os.fork() or os._exit(0)"],
    ["-m", "json.tool", "/nowhere"],
])  # fmt: skip
def test_a_python_that_is_well_or_is_a_tool_leaves_nothing(shell, argv):
    shell.run(*argv)
    assert shell.left == []


@pytest.mark.parametrize("name", SMALL)
def test_a_program_prints_and_exits_as_without_the_hook(shell, name):
    files, argv = PROGRAMS[name]
    for file, text in files.items():
        (shell.root / file).parent.mkdir(parents=True, exist_ok=True)
        (shell.root / file).write_text(text)
    with_hook, shell.env = shell.env, bare_environment()
    plain = shell.run(*argv)
    shell.env = with_hook
    seen = shell.run(*argv)
    assert (seen.returncode, seen.stdout, seen.stderr) == (plain.returncode, plain.stdout, plain.stderr)


@pytest.mark.parametrize("name", ["pip", "black", "bitten", "ipykernel_launcher"])
def test_a_tool_that_crashes_leaves_nothing(shell, name):
    for file in (name, f"{name}.py"):
        (shell.root / file).write_text("import sys\nsys.stderr.write('here')\n1 / 0\n")
    assert "here" in shell.run(str(shell.root / name)).stderr and "here" in shell.run("-m", name, "--option").stderr
    assert shell.left == []


def test_what_was_typed_at_a_prompt_leaves_nothing(shell):
    shell.run("-i", "-q", input="1/0\nimport crash\ncrash.load('a')\n")
    primary, secondary = pty.openpty()
    child = subprocess.Popen([sys.executable, "-q"], cwd=shell.root, env=shell.env, stdin=secondary, stdout=secondary, stderr=secondary)
    os.close(secondary)
    os.write(primary, b"1/0\nimport crash\ncrash.load('a')\nexit()\n")
    seen = _until_closed(primary)
    assert child.wait(timeout=60) == 0 and b"no shard a" in seen
    assert shell.left == []


def _until_closed(fd):
    seen = b""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            part = os.read(fd, 4096)
        except OSError:
            break
        if not part:
            break
        seen += part
    return seen


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_worker_and_its_parent_leave_one_story(shell, method):
    shell.run("worker.py", method, "raise")
    assert len(shell.left) == 1
    story = shell.story()
    assert story.crashes[0].role == "root" and story.crashes[0].site.variables["path"] == "'b'"
    assert "worker.py" in story.environment["command"] or method == "spawn"
    told = guest_log.load(shell.left[0])
    assert told.torn == 0 and any("worker.py" in " ".join(each["argv"]) for each in told.of("hello", "root"))


def test_children_of_one_command_leave_their_crashes_in_its_spool(shell):
    shell.run("-c", "import subprocess, sys; [subprocess.run([sys.executable, 'crash.py']) for _ in 'ab']")
    assert len(shell.left) == 1 and len(list(shell.left[0].iterdir())) == 2
    root = next(guest_log.load(shell.left[0]).of("root"))
    assert root["argv"][1] == "-c" and root["cwd"] == str(shell.root)


def test_the_oldest_spools_go_and_what_is_not_ours_stays(shell):
    for at in range(30):
        old = shell.base / f"{1_700_000_000 + at}.000000-{at}"
        old.mkdir()
        (old / f"p{at}.log").write_text("{}\n")
    recent = [shell.base / f"{time.time() - at:.6f}-7" for at in range(30)]
    for each in (*recent, shell.base / "theirs"):
        each.mkdir()
    shell.run("crash.py")
    names = {each.name for each in shell.left}
    assert len(names) == 25 and "theirs" in names and recent[0].name in names and not any(name.startswith("17000") for name in names)


def test_a_base_that_is_gone_or_full_or_somebody_elses_changes_nothing(shell):
    with_hook, shell.env = shell.env, bare_environment()
    plain = shell.run("crash.py")
    shell.env = with_hook
    for spoil in (lambda: None, lambda: shell.base.chmod(0o500), shell.base.rmdir):
        for each in shell.left if shell.base.is_dir() else ():
            for log in each.iterdir():
                log.unlink()
            each.rmdir()
        spoil()
        done = shell.run("crash.py")
        assert (done.returncode, done.stdout, done.stderr) == (plain.returncode, plain.stdout, plain.stderr)


def test_bitten_run_in_such_a_shell_goes_before_it(shell, tmp_path):
    spool = tmp_path / "spool"
    spool.mkdir()
    shell.env["BITTEN_SPOOL"] = str(spool)
    shell.run("crash.py")
    assert shell.left == [] and len(list(spool.glob("p*.log"))) == 1
