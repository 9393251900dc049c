# ruff: noqa: E501 - a small program is easier read unbroken
"""Probes: the same facts at a crash and in a healthy watched run, and no harm from a faulty one."""

from __future__ import annotations

import pytest

from tests.guest.visit import probe, project, visit

ADD = '''
"""What add was given."""
SEAMS = ("lib:add", "lib:Box.put")

def read(call, frames):
    return {"a": call["a"], "seam": call["seam"], "caller": frames[0].f_code.co_name}

def finding(facts):
    return facts["a"] < 0
'''
LIB = ("def add(a, b=1):\n    if a < 0:\n        raise ValueError(a)\n    return a + b\n"
       "class Box:\n    def put(self, a):\n        return add(a)\n    @staticmethod\n    def s(a):\n        return a\n")


def sightings(done):
    return {(each.probe, each.place): each for each in done.story.sightings}


def test_a_crash_is_read_from_the_innermost_frame_of_a_seam(tmp_path):
    root = project(tmp_path, {"lib.py": LIB, "a.py": "import lib\ndef main():\n    lib.add(3)\n    lib.add(-1)\nmain()"})
    (seen,) = visit(root, "a.py", probes=(probe(tmp_path, ADD),)).story.sightings
    assert (seen.probe, seen.place, seen.calls, seen.finding) == ("seams", "a.py:main", 1, True)
    assert seen.facts == {"a": -1, "seam": "lib:add", "caller": "main"}


def test_a_healthy_run_is_read_too_when_it_is_watched(tmp_path):
    root = project(tmp_path, {"lib.py": LIB, "a.py": "import lib\ndef main():\n    for i in range(5):\n        lib.add(i)\n"
                                                     "    lib.Box().put(a=7)\nmain()\nprint(lib.add.__name__, lib.Box.put.__qualname__)"})
    done = visit(root, "a.py", probes=(probe(tmp_path, ADD),), watch=True)
    assert done.done.stdout == "add Box.put\n"
    seen = sightings(done)
    assert seen["seams", "a.py:main"].calls == 6
    assert seen["seams", "lib.py:Box.put"].facts == {"a": 7, "seam": "lib:add", "caller": "put"}
    assert not visit(root, "a.py", probes=(probe(tmp_path, ADD, "idle"),), name="idle").story.sightings


def test_watched_or_not_a_failing_call_gives_the_same_facts_once(tmp_path):
    root = project(tmp_path, {"lib.py": LIB, "a.py": "import lib\ndef main():\n    lib.add(3)\n    lib.add(-1)\nmain()"})
    file = probe(tmp_path, ADD)
    (crashed,) = visit(root, "a.py", probes=(file,)).story.sightings
    (watched,) = visit(root, "a.py", probes=(file,), watch=True, name="watched").story.sightings
    assert (watched.place, watched.facts, watched.finding) == (crashed.place, crashed.facts, crashed.finding)
    assert (crashed.calls, watched.calls) == (1, 2)


def test_facts_are_merged_as_the_probe_says_and_a_finding_stays(tmp_path):
    merging = ADD + "\ndef merge(old, new):\n    return {**new, 'least': min(old.get('least', old['a']), new['a'])}\n"
    program = "import lib\ndef main():\n    for i in (5, 2, 9):\n        lib.add(i)\n    try:\n        lib.add(-4)\n    except ValueError:\n        pass\n    lib.add(1)\nmain()"
    root = project(tmp_path, {"lib.py": LIB, "a.py": program})
    done = visit(root, "a.py", probes=(probe(tmp_path, merging), probe(tmp_path, ADD, "plain")), watch=True)
    merged, plain = sightings(done)["seams", "a.py:main"], sightings(done)["plain", "a.py:main"]
    assert (merged.calls, merged.finding, merged.facts["least"], merged.facts["a"]) == (5, True, -4, 1)
    assert (plain.calls, plain.finding, plain.facts["a"]) == (5, True, -4)


@pytest.mark.parametrize("watch", [True, False])
@pytest.mark.parametrize("body", ["raise SystemExit(9)", "1 / 0", "return 3", "return {'a': object()}", "return {1: 2}", "print(undefined)"])
def test_a_faulty_probe_is_told_and_never_harms(tmp_path, body, watch):
    root = project(tmp_path, {"lib.py": LIB, "a.py": "import lib\nprint(lib.add(1))\nlib.add(-1)"})
    done = visit(root, "a.py", probes=(probe(tmp_path, f"SEAMS = ('lib:add',)\ndef read(call, frames):\n    {body}\n"),), watch=watch)
    assert (done.done.returncode, done.done.stdout) == (1, "2\n")
    assert done.done.stderr.splitlines()[-1] == "ValueError: -1"
    assert any("probe seams" in note for note in done.story.notes) and not done.story.sightings


@pytest.mark.parametrize("text", ["def read(:", "import no_such_module", "raise SystemExit(4)", "SEAMS = 3", "SEAMS = ('lib:nothing', 'lib', 4)"])
def test_a_probe_that_cannot_be_loaded_or_names_nothing_never_harms(tmp_path, text):
    root = project(tmp_path, {"lib.py": LIB, "a.py": "import lib\nprint(lib.add(1))"})
    done = visit(root, "a.py", probes=(probe(tmp_path, text), probe(tmp_path, ADD, "good")), watch=True)
    assert (done.done.returncode, done.done.stdout, done.done.stderr) == (0, "2\n", "")
    assert [each.probe for each in done.story.sightings] == ["good"]


def test_a_call_without_a_frame_is_looked_for_among_the_callers_variables(tmp_path):
    looking = ("SEAMS = ('builtins:max',)\ndef look(variables):\n    return {'args': (variables['xs'],)} if 'xs' in variables else None\n"
               "def read(call, frames):\n    return {'size': len(call['args'][0]), 'at': 'x.py:' + frames[0].f_code.co_name}\n")
    root = project(tmp_path, {"a.py": "def inner():\n    ys = 1\n    max()\ndef outer():\n    xs = [1, 2]\n    inner()\nouter()"})
    (seen,) = visit(root, "a.py", probes=(probe(tmp_path, looking),)).story.sightings
    assert (seen.place, seen.facts) == ("x.py:outer", {"size": 2})


def test_numbers_that_json_has_no_word_for_become_text(tmp_path):
    odd = "SEAMS = ('lib:add',)\ndef read(call, frames):\n    return {'n': float('nan'), 'i': [float('inf'), -float('inf')], 't': (1, 'x')}\n"
    root = project(tmp_path, {"lib.py": LIB, "a.py": "import lib\nlib.add(-1)"})
    (seen,) = visit(root, "a.py", probes=(probe(tmp_path, odd),)).story.sightings
    assert seen.facts == {"n": "nan", "i": ["inf", "-inf"], "t": [1, "x"]}


def test_counts_survive_os_exit_and_a_forked_child_counts_for_itself(tmp_path):
    program = ("import lib, os\ndef main(n):\n    for i in range(n):\n        lib.add(i)\nmain(3)\npid = os.fork()\n"
               "if not pid:\n    main(5)\n    os._exit(0)\nos.waitpid(pid, 0)\nmain(3)\nos._exit(0)")
    done = visit(project(tmp_path, {"lib.py": LIB, "a.py": program}), "a.py", probes=(probe(tmp_path, ADD),), watch=True)
    assert sorted(each.calls for each in done.story.sightings) == [5, 6]


def test_a_generator_among_the_variables_is_not_resumed(tmp_path):
    reading = ("SEAMS = ('lib:add',)\ndef read(call, frames):\n    g = frames[0].f_locals['g']\n"
               "    return {'g': g.gi_code.co_name, 'line': g.gi_frame.f_lineno}\n")
    program = "import lib\ndef gen():\n    yield -1\n    print('resumed')\n    yield -2\ndef main():\n    g = gen()\n    for x in g:\n        lib.add(x)\nmain()"
    done = visit(project(tmp_path, {"lib.py": LIB, "a.py": program}), "a.py", probes=(probe(tmp_path, reading),))
    assert done.done.stdout == ""
    assert done.story.sightings[0].facts == {"g": "gen", "line": 3}
