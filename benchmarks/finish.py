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
from pathlib import Path

from crash import child_of
from harness import first_line, interval, options, section, table, verdict, workplace

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
    rows = [[name, f"{interval(times):.2f}", f"{max(times):.2f}"] for name, times in {**written, **others}.items()]
    versions = {"bitten": bitten.__version__, "git": first_line(["git", "version"]).removeprefix("git version ")}
    section(f"From the end of the process to debug.md, {given.files:,} files", versions, table(["", "seconds [95 %]", "worst"], rows),
            verdict("debug.md in at most 0.5 s", max(interval(times).middle for times in written.values()) <= 0.5))


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


def kept(project: Path) -> float:
    """Seconds from the end of a command that went well to the end of bitten."""
    process, at = ended(project)
    process.wait()
    return time.time() - at


def finished(project: Path) -> tuple[float, float]:
    """Seconds to a whole debug.md, and to the end of bitten, which tries to shorten the failing call meanwhile."""
    known = set(project.glob(".bitten/*/debug.md"))
    process, at = ended(project)
    while not (written := set(project.glob(".bitten/*/debug.md")) - known) and process.poll() is None:
        time.sleep(0.002)
    took = time.time() - at
    process.wait()
    whole = time.time() - at
    assert written, "no case was opened"
    subprocess.run([BITTEN, "drop", "measured"], cwd=project, capture_output=True, check=True)
    return took, whole


def ended(project: Path) -> tuple[subprocess.Popen[bytes], float]:
    """`bitten run`, and when the command's own process ended."""
    process = subprocess.Popen([BITTEN, "run", "--no-reproducer", "--", sys.executable, "crash.py"], cwd=project, stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    child = os.pidfd_open(child_of(process.pid))
    select.select([child], [], [])
    os.close(child)
    return process, time.time()


def asked(project: Path) -> float:
    began = time.perf_counter()
    for argv in (["git", "status", "--porcelain"], ["git", "diff", "HEAD"]):
        subprocess.run(argv, cwd=project, env={**os.environ, "GIT_OPTIONAL_LOCKS": "0"}, capture_output=True, check=True)
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
