# ruff: noqa: E501 - a small program, or a story of records, is easier read unbroken
"""A spool, read: which exception is the root, where things happened, and what could not be read."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from tests.guest.visit import project, run, visit

from bitten.adapters.guest_told import guest_facts
from bitten.adapters.runs import invitation
from bitten.core import signature


def frame(file, line, function, **more):
    return {"f": file, "l": line, "n": function, **more}


def exc(kind="ValueError", msg="bad", at="/p/a.py", **more):
    return {"type": kind, "mro": ["Exception"], "msg": msg, "frames": [frame(at, 1, "f")], **more}


class Spool:
    """Logs, written by hand."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.now = 0.0
        path.mkdir()

    def hello(self, pid, ppid=1, **env):
        return self.add(pid, k="hello", ppid=ppid, exe=f"/bin/python{pid}", v=[3, 11, 7], argv=[], env=env)

    def crash(self, pid, exc, how="uncaught", sightings=()):
        return self.add(pid, k="exc", how=how, exc=exc, sightings=list(sightings))

    def add(self, pid, **record):
        self.now += 1
        with (self.path / f"p{pid}.log").open("a", encoding="utf-8") as file:
            file.write(repr({"t": self.now, **record}) + "\n")
        return self

    def read(self, ended_badly=None):
        return guest_facts.read(self.path, Path("/p"), ended_badly)


@pytest.fixture
def spool(tmp_path):
    return Spool(tmp_path / "spool")


def roles(story):
    return [(crash.type, crash.role, crash.handled) for crash in story.crashes]


def test_the_environment_lets_the_guest_in_before_the_users_own_path():
    base = {"PYTHONPATH": "/mine"}
    env = invitation.env_for(Path("/s"), Path("/c"), [Path("/a/probe.py"), Path("/b/probe.py")], True, base)
    assert env["PYTHONPATH"].split(os.pathsep)[1:] == ["/mine"] and env["PYTHONPATH"].split(os.pathsep)[0].endswith("guest")
    assert (env["BITTEN_SPOOL"], env["BITTEN_CACHE"], env["BITTEN_PROBES"], env["BITTEN_WATCH"]) == ("/s", "/c", "/a/probe.py:/b/probe.py", "1")
    assert os.pathsep not in invitation.env_for(Path("/s"), Path("/c"), [], False, {"PYTHONPATH": ""})["PYTHONPATH"]


def test_a_run_without_a_python_says_so(spool):
    story = spool.read()
    assert story.notes == ("no Python checked in: the guest saw nothing of this run",)
    assert (story.crashes, story.interpreter, story.environment) == ((), "", {})


def test_the_earliest_uncaught_is_the_root_and_a_launcher_tells_of_it(spool):
    spool.hello(1).hello(2, 1, RANK="0").hello(3, 1, RANK="1")
    spool.crash(3, exc(msg="rank one")).crash(2, exc("RuntimeError", "Connection closed by peer")).crash(1, exc("x.errors.ChildFailedError", "child"))
    story = spool.read()
    assert roles(story) == [("ValueError", "root", False), ("RuntimeError", "consequence", False), ("x.errors.ChildFailedError", "consequence", False)]
    assert story.crashes[0].process == "rank 1, pid 3" and story.interpreter == "/bin/python3"
    assert story.environment["RANK"] == "1"


def test_a_lost_connection_is_a_root_only_when_nobody_else_failed(spool):
    lost = {**exc("ConnectionResetError", "reset"), "mro": ["ConnectionError", "OSError", "Exception"]}
    spool.hello(1).crash(1, lost)
    assert roles(spool.read()) == [("ConnectionResetError", "root", False)]
    spool.hello(2).crash(2, exc())
    assert roles(spool.read()) == [("ValueError", "root", False), ("ConnectionResetError", "consequence", False)]


def test_an_exception_that_a_worker_sent_is_the_root_and_its_return_a_consequence(spool):
    sent = exc(msg="in worker", at="/lib/torch/utils/data/_utils/worker.py", worker=0, process="Process-1")
    back = exc(msg="Caught ValueError in DataLoader worker process 0.\nOriginal Traceback (most recent call last): …")
    spool.hello(1).add(9, k="fork", ppid=1).crash(9, sent, "formatted").crash(1, back)
    story = spool.read()
    assert roles(story) == [("ValueError", "root", False), ("ValueError", "consequence", False)]
    assert story.crashes[0].process == "DataLoader worker 0, pid 9" and story.interpreter == "/bin/python1"


def test_without_the_workers_own_word_its_return_is_the_root(spool):
    spool.hello(1).crash(1, exc(msg="Caught ValueError in DataLoader worker process 0."))
    assert roles(spool.read()) == [("ValueError", "root", False)]


def test_a_caught_exception_is_the_root_only_if_the_program_ended_badly(spool):
    spool.hello(1).crash(1, exc(msg="first"), "formatted").crash(1, exc(msg="second"), "formatted")
    assert roles(spool.read()) == [("ValueError", "context", True)] * 2
    assert spool.read(ended_badly=True).crashes[0].message == "second"
    spool.add(1, k="exit", fn="sys.exit", code=1, at=[])
    assert roles(spool.read()) == [("ValueError", "root", True), ("ValueError", "context", True)]
    spool.crash(1, exc("KeyError", "uncaught"))
    assert roles(spool.read())[0] == ("KeyError", "root", False)


def test_what_was_logged_and_then_raised_is_told_once(spool):
    spool.hello(1).crash(1, exc(), "formatted").crash(1, exc())
    spool.hello(2).crash(2, exc("RuntimeError", "peer"), "formatted").crash(2, exc("RuntimeError", "peer"))
    assert roles(spool.read()) == [("ValueError", "root", False), ("RuntimeError", "consequence", False)]


def test_causes_contexts_and_members_follow_the_root(spool):
    inner = exc("OSError", "disk", context=exc("IndexError", "i"))
    spool.hello(1).crash(1, exc("RuntimeError", "outer", cause=inner, group=[exc("TypeError", "member")]))
    assert [(type, role) for type, role, _ in roles(spool.read())] == [("RuntimeError", "root"), ("OSError", "cause"), ("IndexError", "context"),
                                                                      ("TypeError", "cause")]


def test_two_tests_that_fail_by_themselves_are_both_a_root(spool):
    spool.hello(1).crash(1, exc(msg="one"), "pytest").crash(1, exc(msg="two"), "pytest")
    assert [role for _, role, _ in roles(spool.read())] == ["root", "root"]


def test_torn_and_foreign_lines_are_counted_and_the_rest_is_read(spool):
    spool.hello(1).crash(1, exc())
    with (spool.path / "p1.log").open("a") as file:
        file.write("{'k': 'exc', 't': 5}\n{'k': 'config', 'p': '/x', 't'\nhallo\n[1]\n{'k': 'hello', 't': 1, 2: open}\n")
    (spool.path / "p2.log").write_bytes(b"\xff\xfe\x00{'k'")
    (spool.path / "other.txt").write_text("not ours")
    story = spool.read()
    assert roles(story) == [("ValueError", "root", False)]
    assert story.notes == ("6 lines of the guest's log could not be read",)


def test_the_guests_own_trouble_is_told_in_words(spool):
    spool.hello(1).add(1, k="hookerr", where="probe labels", err="KeyError: 'x'").add(1, k="hookerr", where="probe labels", err="KeyError: 'x'")
    assert spool.read().notes == ("the guest had trouble in probe labels: KeyError: 'x'",)


def test_the_last_word_of_each_process_about_a_place_counts(spool):
    def seen(calls, place="/p/src/a.py:f"):
        return {"probe": "p", "seam": "s", "place": place, "facts": {"n": calls}, "calls": calls, "finding": False}

    spool.hello(1).add(1, k="sighting", **seen(1)).add(2, k="sighting", **seen(3)).add(1, k="sighting", **seen(8)).add(1, k="sighting", **seen(1, "/q/b.py:g"))
    told = {(each.place, each.process): each.calls for each in spool.read().sightings}
    assert told == {("src/a.py:f", "pid 1"): 8, ("src/a.py:f", "pid 2"): 3, ("/q/b.py:g", "pid 1"): 1}


def test_facts_hold_no_value_of_a_secret_variable(spool, monkeypatch):
    monkeypatch.setenv("COMPANY_TOKEN", "plain-looking-value")
    told = {"said": ["it is plain-looking-value"], "password": "hunter2hunter", "n_tokens": 512}
    spool.hello(1).add(1, k="sighting", probe="p", seam="s", place="/p/a.py:f", facts=told, calls=1, finding=False)
    (sighting,) = spool.read().sightings
    assert sighting.facts == {"said": ["it is ‹secret:16-31›"], "password": "‹password:8-15›", "n_tokens": 512}


def test_data_read_by_several_processes_is_counted_together(spool):
    for pid, n in ((1, 8), (2, 8), (1, 64)):
        spool.add(pid, k="data", p=f"/p/d/{n}.npy", n=n, size=1, mtime=2.0)
    spool.add(1, k="data", p="/p/d/", n=70)
    (seen,) = spool.read().files
    assert (seen.path, seen.role, seen.count) == ("d/", "data", 78)


def test_frames_tell_their_line_and_only_what_is_of_use(tmp_path):
    files = {"src/lib.py": "import json\ndef load(text, password):\n    api_key = 'sk-" + "a1B2" * 8 + "'\n    return json.loads(text)\n",
             "a.py": "import sys\nsys.path.insert(0, 'src')\nimport lib\nlib.load('x' * 999, 'hunter2hunter')\n"}
    done = visit(project(tmp_path, files), "a.py")
    crash = done.story.crashes[0]
    assert [(each.file, each.mine) for each in crash.frames[:2]] == [("a.py", True), ("src/lib.py", True)]
    assert crash.site.text == "return json.loads(text)"
    assert crash.site.variables["password"] == "‹password:8-15›" and len(crash.site.variables["text"]) <= 200
    assert crash.site.variables["api_key"].startswith("‹key:")
    assert [bool(each.variables) for each in crash.frames[2:]] == [False] * (len(crash.frames) - 3) + [True]
    assert signature.of_crash(crash) == "json.decoder.JSONDecodeError: Expecting value: line N column N (char N) @ load > JSONDecoder.raw_decode"


def test_a_syntax_error_has_a_place(tmp_path):
    crash = visit(project(tmp_path, {"a.py": "import b", "b.py": "x = 1\ndef f(:\n"}), "a.py").story.crashes[0]
    assert (crash.type, crash.site.file, crash.site.line, crash.site.text) == ("SyntaxError", "b.py", 2, "def f(:")


@pytest.mark.parametrize("pool", ["multiprocessing.Pool(1)", "concurrent.futures.ProcessPoolExecutor(1)"])
def test_a_pools_worker_is_the_root(tmp_path, pool):
    program = (f"import multiprocessing, concurrent.futures\ndef work(x):\n    return 1 / x\nif __name__ == '__main__':\n"
               f"    multiprocessing.set_start_method('fork')\n    with {pool} as p:\n        list(p.map(work, [1, 0]))")
    story = visit(project(tmp_path, {"a.py": program}), "a.py").story
    assert [(crash.type, crash.role) for crash in story.crashes] == [("ZeroDivisionError", "root"), ("ZeroDivisionError", "consequence")]
    assert story.crashes[0].site.function == "work" and not story.crashes[0].process.startswith("pid")


def test_a_childs_death_is_the_root_though_the_parent_says_so_in_its_own_words(tmp_path):
    program = ("import multiprocessing, sys\ndef work():\n    1 / 0\nif __name__ == '__main__':\n"
               "    p = multiprocessing.get_context('spawn').Process(target=work)\n    p.start()\n    p.join()\n    assert p.exitcode == 0, 'child failed'")
    story = visit(project(tmp_path, {"a.py": program}), "a.py").story
    assert [(crash.type, crash.role) for crash in story.crashes] == [("ZeroDivisionError", "root"), ("AssertionError", "consequence")]


TESTS = '''
import pytest
from lib import load

def test_good():
    assert load(1) == 1

def test_bad():
    assert load(0) == 1

def test_raises():
    load(-1)

@pytest.fixture
def broken():
    raise OSError("no disk")

def test_setup(broken): ...

@pytest.fixture
def leaky():
    yield
    raise OSError("left open")

def test_teardown(leaky): ...

@pytest.mark.skip
def test_skipped(): ...
'''


def test_the_outcome_of_each_test_is_told_with_its_phase_and_signature(tmp_path):
    lib = "def load(n):\n    if n < 0:\n        raise ValueError(f'bad {n}')\n    return n\n"
    root = project(tmp_path, {"test_it.py": TESTS, "lib.py": lib, "a.py": "import lib\nlib.load(-7)"})
    done = visit(root, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "_bitten_pytest", "test_it.py")
    told = {each.test.partition("::")[2]: (each.phase.value, each.result, each.error) for each in done.story.outcomes}
    assert told == {"test_good": ("call", "passed", ""), "test_bad": ("call", "failed", "AssertionError"),
                    "test_raises": ("call", "failed", "ValueError"), "test_setup": ("setup", "error", "OSError"),
                    "test_teardown": ("teardown", "error", "OSError"), "test_skipped": ("setup", "skipped", "Skipped")}
    raised = next(each for each in done.story.outcomes if each.test.endswith("test_raises"))
    crash = visit(root, "a.py", name="crash").story.crashes[0]
    assert raised.signature == signature.of_crash(crash) == "ValueError: bad -N @ load > load"
    plain = run(root, dict(os.environ), sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py")
    assert done.done.returncode == plain.returncode and "warning" not in done.done.stdout


def test_a_module_that_cannot_be_collected_is_told_with_what_it_raised(tmp_path):
    root = project(tmp_path, {"test_it.py": "import no_such_thing\n", "test_other.py": "1 / 0\n"})
    done = visit(root, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "_bitten_pytest", ".")
    assert [(each.phase.value, each.result, each.error) for each in done.story.outcomes] == [
        ("collect", "error", "ModuleNotFoundError"), ("collect", "error", "ZeroDivisionError")]


def test_a_failing_test_is_a_crash_without_the_plugin_too(tmp_path):
    root = project(tmp_path, {"test_it.py": "def test_a():\n    n = 3\n    assert n == 4\n"})
    story = visit(root, "-m", "pytest", "-q", "-p", "no:cacheprovider").story
    assert (story.crashes[0].type, story.crashes[0].role, story.crashes[0].site.function) == ("AssertionError", "root", "test_a")
    assert story.outcomes == ()


KILLED = "DataLoader worker (pid 9) is killed by signal: Killed. "


@pytest.mark.parametrize("parents", [
    exc("RuntimeError", KILLED),
    exc("RuntimeError", "DataLoader worker (pid(s) 9) exited unexpectedly", cause=exc("RuntimeError", KILLED)),
    {**exc("ConnectionResetError", "[Errno 104] Connection reset by peer"), "mro": ["ConnectionError", "OSError", "Exception"]},
    exc("EOFError", "", at="/lib/python3.11/multiprocessing/connection.py"),
])
def test_a_killed_worker_is_the_root_whichever_error_its_parent_met(spool, parents):
    spool.hello(1).add(9, k="fork", ppid=1).add(9, k="worker", id=0).add(8, k="fork", ppid=1).add(8, k="worker", id=1)
    spool.crash(1, parents).add(1, k="dead", child=9, signal=9).add(1, k="kill", child=8, signal=15).add(1, k="dead", child=8, signal=15)
    first, second = spool.read(ended_badly=True).crashes
    assert (first.type, first.role, first.process) == ("Killed", "root", "DataLoader worker 0, pid 9")
    assert first.message == "DataLoader worker 0 (pid 9) was ended by SIGKILL"
    assert signature.of_crash(first) == "Killed: DataLoader worker N (pid N) was ended by SIGKILL @ - > -"
    assert (second.type, second.role) == (parents["type"], "consequence")


def test_a_worker_that_left_its_stack_is_told_by_that_alone(spool):
    spool.hello(1).add(9, k="fork", ppid=1).add(9, k="worker", id=0)
    spool.crash(9, exc("Segmentation fault", ""), "fault").crash(1, exc("RuntimeError", KILLED.replace("Killed", "Segmentation fault")))
    spool.add(1, k="dead", child=9, signal=11)
    story = spool.read(ended_badly=True)
    assert roles(story) == [("Segmentation fault", "root", False), ("RuntimeError", "consequence", False)]
    assert story.crashes[0].process == "DataLoader worker 0, pid 9"


def test_a_rank_that_was_killed_is_named_by_its_launchers_words(spool):
    words = ("\n===\ntrain.py FAILED\nRoot Cause (first observed failure):\n[0]:\n  time      : now\n  host      : here\n  rank      : 1 (local_rank: 1)\n"
             "  exitcode  : -9 (pid: 3) \n  error_file: <N/A>\n  traceback : Signal 9 (SIGKILL) received by PID 3\n")
    spool.hello(1).hello(2, 1, RANK="0").hello(3, 1, RANK="1")
    spool.crash(2, exc("RuntimeError", "[pair.cc:553] Connection closed by peer")).crash(1, exc("x.errors.ChildFailedError", words))
    story = spool.read(ended_badly=True)
    assert roles(story) == [("Killed", "root", False), ("RuntimeError", "consequence", False), ("x.errors.ChildFailedError", "consequence", False)]
    assert (story.crashes[0].message, story.crashes[0].process) == ("rank 1 (pid 3) was ended by SIGKILL", "rank 1, pid 3")


def test_a_cell_that_was_allowed_to_fail_is_no_root(spool):
    spool.hello(1).crash(1, exc("KeyError", "allowed"), "cell").crash(1, exc("ValueError", "last"), "cell")
    assert roles(spool.read(ended_badly=True)) == [("ValueError", "root", False), ("KeyError", "context", True)]
