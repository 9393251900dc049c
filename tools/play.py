"""Plays the recipe's story in a pseudo-terminal, with a scripted person at the keyboard, and prints the real transcript.

usage: python tools/play.py [--quiet] [--keep FOLDER] [--write FILE | --check FILE]

The commands and their output are real; only the typing is scripted. `--write` puts the transcript, times and names
scrubbed, between two marks of FILE; `--check` fails when what stands there differs from what was just played.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pexpect
from pages import put

from bitten.adapters.example import lay_out, mend
from bitten.interfaces.story import STORY, Scene

MARKS = ("<!-- transcript: made by `make transcript` -->", "<!-- /transcript -->")
COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07")
SPINNER = re.compile(r"[\u2800-\u28ff] ")
"""A line of progress, which is erased when its work is done."""
SCRUBS = (
    (re.compile(r"\b\d+\.\d s\b"), "4.2 s"),
    (re.compile(r"\ba \d+ s run"), "a 4 s run"),
    (re.compile(r"pid \d+"), "pid 4121"),
    (re.compile(r"\b[0-9a-f]{12,40}\b"), "c0ffee123456"),
    (re.compile(r"\(20\d\d-\d\d-\d\d\)"), "(2026-05-04)"),
    (re.compile(r"[ \t]+$", re.M), ""),
)


def play(project: Path, quiet: bool) -> Iterator[str]:
    """Each scene's transcript, as it ends. Raises: SystemExit when a command does not end well (but for the failing run)."""
    for number, scene in enumerate(STORY):
        yield f"# {scene.says}"
        yield (
            f"(edits src/data.py, and adds a test to tests/unit/test_data.py)\n{_changed(mend(project))}"
            if scene.edits
            else _typed(project, scene, number == 0, quiet)
        )


def _changed(patch: str) -> str:
    return "\n".join(line for line in patch.splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---"))


def _typed(project: Path, scene: Scene, may_fail: bool, quiet: bool) -> str:
    outer = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}  # the story's make is not below ours
    env = {**outer, "COLUMNS": "120", "TERM": "xterm-256color", "GIT_PAGER": "cat", "PYTHONDONTWRITEBYTECODE": "1",
           "BITTEN_REPRODUCER": "0"}  # what is printed must not hang on how fast interpreters start
    child = pexpect.spawn("bash", ["-c", scene.command], cwd=project, env=env, encoding="utf-8", timeout=300, dimensions=(50, 120))
    if not quiet:
        print(f"\n$ {scene.command}", flush=True)
        child.logfile_read = sys.stdout
    seen = ""
    for prompt, answer in scene.answers:
        child.expect_exact(prompt)
        seen += child.before + child.after
        time.sleep(0 if quiet else 0.5)  # a person reads before they type
        child.sendline(answer.format(value=_decided(seen)))
    child.expect(pexpect.EOF)
    child.close()
    if child.exitstatus and not may_fail:
        raise SystemExit(f"{scene.command} ended with {child.exitstatus}:\n{child.before}")
    return f"$ {scene.command}\n{plain(seen + child.before)}"


def _decided(seen: str) -> str:
    """The value that the evidence marks, as a person would read it off the screen."""
    marked = re.search(r"→ \S+ = (.+)", plain(seen))
    return marked[1].strip() if marked else ""


def plain(text: str) -> str:
    """What a person saw: no colours, and of a line that was redrawn its last state."""
    lines = (line.rstrip("\r").split("\r")[-1] for line in COLOURS.sub("", text).split("\n"))
    return "\n".join(line for line in lines if not SPINNER.match(line)).strip("\n")


def scrubbed(text: str, project: Path) -> str:
    text = text.replace(str(project), "~/charngram")
    for pattern, instead in SCRUBS:
        text = pattern.sub(instead, text)
    return text


def elided(text: str) -> str:
    """The program's own traceback is untouched on the screen; on paper it is in the way."""
    return re.sub(
        r"^Traceback \(most recent call last\):\n.*?(?=^✗ )", "… the program's own traceback, untouched …\n\n", text, flags=re.S | re.M
    )


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--quiet", action="store_true")
    options.add_argument("--keep", type=Path)
    options.add_argument("--write", type=Path)
    options.add_argument("--check", type=Path)
    given = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="bitten-demo-") as folder:
        project = lay_out(given.keep.resolve() if given.keep else Path(folder) / "charngram")
        if not given.quiet:
            print(f"A scripted person is at the keyboard; commands and output are real. The project is {project}.", flush=True)
        transcript = elided(scrubbed("\n\n".join(play(project, given.quiet)), project))
    file = given.check or given.write
    return put(f"```text\n{transcript}\n```", file, MARKS, bool(given.check), "make transcript") if file else 0


if __name__ == "__main__":
    sys.exit(main())
