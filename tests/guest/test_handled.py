"""Exceptions that a program swallows, where the interpreter tells of them."""

from __future__ import annotations

import pytest

from tests.guest.test_invariance import same
from tests.guest.visit import project, python, visit

LATE = """
import json

def load(n):
    raise ValueError(f"bad shard {n}")

class Lazy:
    def __getattr__(self, name):
        raise AttributeError(name)

def main():
    ok = True
    for n in range(3):
        try:
            load(n)
        except ValueError:
            ok = False
    try:
        json.loads("")
    except ValueError:
        pass
    [x for x in iter([1])]
    hasattr(Lazy(), "nothing")
    return 0 if ok else 1

if main():
    raise SystemExit(3)
"""
TRACED = {"BITTEN_HANDLED": "1"}


@pytest.mark.parametrize("version", ["3.12", "3.13"])
def test_what_was_swallowed_before_a_late_exit_is_told_once_a_place(tmp_path, version):
    exe = python(version)
    if exe is None:
        pytest.skip(f"Python {version} is not installed here")
    done = visit(project(tmp_path, {"a.py": LATE}), "a.py", exe=exe, env=TRACED)
    told = [(crash.type, crash.message, crash.role, crash.site.function) for crash in done.story.crashes]
    assert told[0] == ("json.decoder.JSONDecodeError", "Expecting value: line 1 column 1 (char 0)", "root", "main")
    assert told[1:] == [("ValueError", "bad shard 0", "context", "load")]
    assert all(crash.handled for crash in done.story.crashes)
    exits = [(record["fn"], record["code"], record["at"][-1]["l"]) for record in done.log.of("exit")]
    assert exits == [("raise SystemExit", 3, 27)]


@pytest.mark.parametrize("version", ["3.12", "3.13"])
def test_tracing_changes_no_output(tmp_path, version):
    exe = python(version)
    if exe is None:
        pytest.skip(f"Python {version} is not installed here")
    same(project(tmp_path, {"a.py": LATE + "\nprint('never')"}), exe, ["a.py"], TRACED)


def test_what_is_swallowed_is_not_looked_at_unless_asked(tmp_path):
    exe = python("3.12")
    if exe is None:
        pytest.skip("Python 3.12 is not installed here")
    done = visit(project(tmp_path, {"a.py": LATE.replace("raise SystemExit(3)", "import sys; sys.exit(3)")}), "a.py", exe=exe)
    assert not list(done.log.of("exc"))
    (crash,) = done.story.crashes
    assert (crash.type, crash.message, crash.site.line) == ("SystemExit", "3", 27)
    assert any("--trace-handled" in note for note in done.story.notes)


def test_an_older_python_says_that_it_cannot(tmp_path):
    exe = python("3.11")
    if exe is None:
        pytest.skip("Python 3.11 is not installed here")
    done = visit(project(tmp_path, {"a.py": LATE}), "a.py", exe=exe, env=TRACED)
    assert "swallowed exceptions are seen by Python 3.12 and later only" in done.story.notes
