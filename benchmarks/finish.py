"""From the end of the crashed process to the finished debug.md, in a repository of 10,000 files, beside git's own status and diff there.

`python benchmarks/finish.py [--rounds N] [--files N]`
"""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from crash import child_of
from harness import cost, first_line, interval, options, section, table, verdict, workplace

import bitten

BITTEN = str(Path(sys.executable).with_name("bitten"))
CRASH = """import json
import pkg0.m0

with open("conf.json") as file:
    conf = json.load(file)
with open("data/rows.csv") as file:
    rows = file.read().split()
if conf["lr"] > 0.5:
    raise ValueError("diverged")
print("loss=%s" % pkg0.m0.VALUE)
"""
WHO = ("-c", "user.name=Ana", "-c", "user.email=ana@example.org")


@dataclass(frozen=True)
class Took:
    """From the end of the command's own process: `cpu` is that of bitten and of all that it started meanwhile."""

    seconds: float
    cpu: float


def main() -> None:
    given = options(rounds=9, files=10_000)
    with workplace() as project:
        fill(project, given.files)
        good = [kept(project) for _ in range(given.rounds)]
        (project / "conf.json").write_text('{"lr": 1.0}', "utf-8")
        first, later, git = [], [], []
        for _ in range(given.rounds):
            shutil.rmtree(project / ".bitten", ignore_errors=True)
            first.append(finished(project))
            (project / "crash.py").write_text(f"{CRASH}# {time.time()}\n", "utf-8")
            later.append(finished(project))
            git.append(asked(project))
    written = {"debug.md, the first case of a project": [each[0] for each in first], "debug.md, a later case": [each[0] for each in later]}
    others = {"the last line, a reproducer tried": [each[1] for each in (*first, *later)],
              "the end of `bitten` after a run that goes well, its record kept": good, "`git status`, then `git diff HEAD`": git}
    rows = [row(name, took) for name, took in {**written, **others}.items()]
    versions = {"bitten": bitten.__version__, "git": first_line(["git", "version"]).removeprefix("git version ")}
    section(f"From the end of the process to debug.md, {given.files:,} files", versions,
            table(["", "seconds [95 %]", "worst", "CPU s [95 %]"], rows),
            verdict("debug.md in at most 0.5 s", max(interval([each.seconds for each in took]).middle for took in written.values()) <= 0.5),
            verdict("the same in CPU time", max(interval([each.cpu for each in took]).middle for took in written.values()) <= 0.5))


def row(name: str, took: Sequence[Took]) -> list[str]:
    seconds, cpu = [each.seconds for each in took], [each.cpu for each in took]
    return [name, f"{interval(seconds):.2f}", f"{max(seconds):.2f}", f"{interval(cpu):.2f}"]


def fill(project: Path, files: int) -> None:
    """Sources in folders of a hundred, one changed and fifty that git doesn't know."""
    for at in range(files):
        file = project / f"pkg{at // 100}" / f"m{at % 100}.py"
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"VALUE = {at}\n" * 20, "utf-8")
    (project / "data").mkdir()
    (project / "data" / "rows.csv").write_text("1,2\n" * 1000, "utf-8")
    (project / "conf.json").write_text('{"lr": 0.1}', "utf-8")
    (project / "crash.py").write_text(CRASH, "utf-8")
    subprocess.run(["git", "add", "-A"], cwd=project, check=True)
    subprocess.run(["git", *WHO, "commit", "-q", "-m", "as found"], cwd=project, check=True)
    (project / "pkg1" / "m1.py").write_text("VALUE = 0\n", "utf-8")
    for at in range(50):
        (project / f"notes{at}.txt").write_text("note\n" * 10, "utf-8")


def kept(project: Path) -> Took:
    """To the end of bitten, after a command that went well."""
    return Running(project).to_its_end()


def finished(project: Path) -> tuple[Took, Took]:
    """To a whole debug.md, and to the end of bitten, which tries to shorten the failing call meanwhile."""
    known = set(project.glob(".bitten/*/debug.md"))
    running = Running(project)
    while not (written := set(project.glob(".bitten/*/debug.md")) - known) and running.goes_on:
        time.sleep(0.002)
    took, whole = running.so_far(), running.to_its_end()
    assert written, "no case was opened"
    subprocess.run([BITTEN, "drop", "measured"], cwd=project, capture_output=True, check=True)
    return took, whole


class Running:
    """`bitten run`, whose command's own process has just ended."""

    def __init__(self, project: Path) -> None:
        self.process = subprocess.Popen([BITTEN, "run", "--", sys.executable, "crash.py"], cwd=project, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        pid = child_of(self.process.pid)
        child = os.pidfd_open(pid)
        select.select([child], [], [])
        self.at = time.time()
        os.close(child)
        while Path(f"/proc/{pid}").exists():  # its own CPU time counts as bitten's once it was waited for
            time.sleep(0.0005)
        self.used = self._used()

    @property
    def goes_on(self) -> bool:
        return os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None

    def so_far(self) -> Took:
        return Took(time.time() - self.at, self._used() - self.used)

    def to_its_end(self) -> Took:
        os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOWAIT)
        took = self.so_far()
        self.process.wait()
        return took

    def _used(self) -> float:
        """CPU seconds of the process and of all that it waited for."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text("ascii").rpartition(")")[2].split()
        return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def asked(project: Path) -> Took:
    began, cpu = time.perf_counter(), 0.0
    for argv in (["git", "status", "--porcelain"], ["git", "diff", "HEAD"]):
        cpu += cost(argv, {"GIT_OPTIONAL_LOCKS": "0"}, project).cpu
    return Took(time.perf_counter() - began, cpu)


if __name__ == "__main__":
    main()
