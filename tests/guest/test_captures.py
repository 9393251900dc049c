# ruff: noqa: E501 - a small program is easier read unbroken
"""What the guest tells of a program: exceptions wherever they were caught, ends, files and hosts."""

from __future__ import annotations

import pytest

from tests.guest.visit import project, python, visit


def exceptions(done):
    return [(record["how"], record["exc"]["type"], record["exc"]["msg"]) for record in done.log.of("exc")]


@pytest.mark.parametrize(("program", "how", "kind"), [
    ("1 / 0", "uncaught", "ZeroDivisionError"),
    ("import sys\nsys.excepthook = print\n1 / 0", "uncaught", "ZeroDivisionError"),
    ("import traceback\ntry:\n    1 / 0\nexcept Exception:\n    traceback.print_exc()", "formatted", "ZeroDivisionError"),
    ("import logging\ntry:\n    1 / 0\nexcept Exception:\n    logging.exception('oh')", "formatted", "ZeroDivisionError"),
    ("import sys\ntry:\n    1 / 0\nexcept Exception:\n    sys.exit(1)", "exit-in-except", "ZeroDivisionError"),
    ("import os\ntry:\n    1 / 0\nexcept Exception:\n    os._exit(1)", "exit-in-except", "ZeroDivisionError"),
    ("import threading\nthreading.excepthook = print\nt = threading.Thread(target=lambda: 1 / 0)\nt.start()\nt.join()", "thread",
     "ZeroDivisionError"),
])
def test_an_exception_is_seen_however_it_was_met(tmp_path, program, how, kind):
    done = visit(project(tmp_path, {"a.py": program}), "a.py")
    assert [(each[0], each[1]) for each in exceptions(done)] == [(how, kind)]


def test_children_of_children_are_seen_with_their_command_line(tmp_path):
    program = ("import subprocess, sys\nn = int(sys.argv[1])\nif n == 0:\n    1 / 0\n"
               "sys.exit(subprocess.call([sys.executable, 'a.py', str(n - 1)]))")
    done = visit(project(tmp_path, {"a.py": program}), "a.py", "2")
    assert [record["argv"][-2:] for record in done.log.of("hello")] == [["a.py", "2"], ["a.py", "1"], ["a.py", "0"]]
    assert exceptions(done) == [("uncaught", "ZeroDivisionError", "division by zero")]


def test_secrets_are_masked_by_name_and_by_shape_before_they_are_written(tmp_path):
    key = "sk-" + "a1B2" * 8
    program = (f"import sys\ndef f(password, n_tokens, pad_token, env):\n    note = 'uses {key}'\n    raise ValueError('rejected {key}')\n"
               "import os\nf('hunter2hunter2', 512, '<|endoftext|>', dict(os.environ))")
    done = visit(project(tmp_path, {"a.py": program}), "a.py", f"--api-key={key}", "--hf-token", key, env={"MY_TOKEN": "t" * 20})
    text = "".join(path.read_text() for path in done.spool.iterdir())
    assert key not in text and "hunter2" not in text and "t" * 20 not in text
    assert "'n_tokens': '512'" in text and "<|endoftext|>" in text


def test_values_are_told_without_calling_the_programs_code(tmp_path):
    program = ("class R:\n    def __repr__(self):\n        raise SystemExit(9)\n    __len__ = __iter__ = __getattr__ = __repr__\n"
               "class D(dict):\n    def items(self):\n        raise SystemExit(9)\n"
               "class P:\n    @property\n    def __dict__(self):\n        raise SystemExit(9)\n"
               "    @property\n    def __class__(self):\n        raise SystemExit(9)\n"
               "def gen():\n    yield 1\n    yield 2\n"
               "def f(r, d, p, g, big, cycle):\n    raise ValueError\n"
               "cycle = []\ncycle.append(cycle)\ng = gen()\nnext(g)\n"
               "try:\n    f(R(), D(a=1), P(), g, 10 ** 6000, cycle)\nfinally:\n    assert next(g) == 2")
    done = visit(project(tmp_path, {"a.py": program}), "a.py")
    assert done.done.returncode == 1
    told = next(iter(done.log.of("exc")))["exc"]["frames"][-1]["vars"]
    assert told["r"] == "<R>" and told["d"] == "D{'a': 1}" and told["p"] == "<P>"
    assert told["g"] == "<generator gen, line 17>"
    assert told["big"].startswith("<int of ") and "see above" in told["cycle"]


def test_a_chain_a_group_and_notes_are_told(tmp_path):
    program = ("try:\n    try:\n        {}['k']\n    except KeyError as e:\n        raise ValueError('v') from e\nexcept ValueError:\n"
               "    e = ExceptionGroup('g', [TypeError('t'), OSError('o')])\n    e.add_note('by the way')\n    raise e")
    exc = next(iter(visit(project(tmp_path, {"a.py": program}), "a.py").log.of("exc")))["exc"]
    assert [member["type"] for member in exc["group"]] == ["TypeError", "OSError"]
    assert exc["context"]["type"] == "ValueError" and exc["context"]["cause"]["type"] == "KeyError"
    assert exc["notes"] == ["by the way"]


def test_a_deep_recursion_is_told_from_both_ends(tmp_path):
    exc = next(iter(visit(project(tmp_path, {"a.py": "def f(n):\n    f(n + 1)\nf(0)"}), "a.py").log.of("exc")))["exc"]
    assert len(exc["frames"]) == 61 and exc["frames"][30]["gap"] > 900


def test_a_process_that_dies_of_a_fault_leaves_its_stack(tmp_path):
    program = "import ctypes\ndef deep():\n    ctypes.string_at(0)\ndeep()"
    done = visit(project(tmp_path, {"a.py": program}), "a.py")
    crash = done.story.crashes[0]
    assert (crash.type, crash.role, crash.site.function, crash.site.line) == ("Segmentation fault", "root", "deep", 3)
    assert done.done.stderr == "", "the program's own stderr stays as it was"


def test_files_are_told_by_what_they_are(tmp_path):
    files = {"conf/a.yaml": "x: 1", "data/0.csv": "1", **{f"shards/{i}.bin": "1" for i in range(12)},
             "a.py": "import os\nopen('conf/a.yaml').read()\nopen('data/0.csv').read()\n"
                     "for i in range(12):\n    open(f'shards/{i}.bin').read()\nopen('out.tmp', 'w').write('1234')\nos.rename('out.tmp', 'out.txt')\n"
                     "try:\n    open('conf/none.yaml')\nexcept OSError:\n    pass\n"}
    seen = {(each.path, each.role, each.count) for each in visit(project(tmp_path, files), "a.py").story.files}
    assert seen == {("conf/a.yaml", "config", 1), ("data/0.csv", "data", 1), ("shards/", "data", 12), ("out.txt", "wrote", 1)}


def test_a_file_first_read_and_then_written_counts_as_written(tmp_path):
    root = project(tmp_path, {"s.json": "{}", "a.py": "open('s.json').read()\nopen('s.json', 'w').write('[1]')"})
    assert {each.role for each in visit(root, "a.py").story.files} == {"config", "wrote"}


def test_what_tools_keep_for_themselves_is_no_file_of_the_programs(tmp_path):
    program = "import tempfile\ntempfile.TemporaryFile().write(b'x')\nopen('out.txt', 'w').write('1')\nassert False"
    root = project(tmp_path, {"a.py": program, "test_a.py": "def test_a():\n    assert False\n"})
    assert [each.path for each in visit(root, "a.py").story.files] == ["out.txt"]
    assert visit(root, "-m", "pytest", "-q", name="tests").story.files == ()


def test_a_write_outside_what_is_allowed_is_told(tmp_path):
    out = tmp_path / "elsewhere"
    out.mkdir()
    root = project(tmp_path, {"a.py": "import os, sys\nopen('in.txt', 'w')\nopen(sys.argv[1] + '/x', 'w')\nopen('/dev/null', 'w')\n"
                                      "os.makedirs(sys.argv[1] + '/d', exist_ok=True)\nos.makedirs(sys.argv[1], exist_ok=True)"})
    done = visit(root, "a.py", str(out), env={"BITTEN_WRITABLE": str(root)})
    assert done.story.denied == (str(out / "x"), str(out / "d"))
    assert visit(root, "a.py", str(out), name="free").story.denied == ()


def test_a_host_that_is_not_this_machine_is_told(tmp_path):
    program = ("import socket\ns = socket.socket()\ns.settimeout(0.01)\nfor a in (('127.0.0.1', 1), ('192.0.2.1', 80)):\n"
               "    try:\n        s.connect(a)\n    except OSError:\n        pass\nsocket.getaddrinfo('localhost', 1)\n"
               "try:\n    socket.getaddrinfo('hub.invalid', 443)\nexcept OSError:\n    pass")
    assert visit(project(tmp_path, {"a.py": program}), "a.py").story.net == ("192.0.2.1", "hub.invalid")


RAISES = """
import signal
def stop(_, frame):
    while frame:
        if frame.f_code.co_name == {function!r} and '_bitten_' in frame.f_code.co_filename:
            raise RuntimeError('handler')
        frame = frame.f_back
signal.signal(signal.SIGALRM, stop)
signal.setitimer(signal.ITIMER_REAL, 0.0002, 0.0002)
def main(n):
    many = [[{{k: [k] * 9 for k in range(9)}}] * 6] * 6
    if n:
        main(n - 1)
    raise ValueError('the real one')
import sys
def hook(*_):
    print('blocked:', len(signal.pthread_sigmask(signal.SIG_BLOCK, ())))
sys.excepthook = hook
main(20)
"""


@pytest.mark.parametrize("function", ["_hold_signals", "_record"])
def test_a_signal_handler_that_raises_does_not_cut_a_snapshot_short_nor_leave_signals_blocked(tmp_path, function):
    done = visit(project(tmp_path, {"a.py": RAISES.format(function=function)}), "a.py")
    assert exceptions(done) == [("uncaught", "ValueError", "the real one")]
    assert all(frame["vars"] for frame in next(iter(done.log.of("exc")))["exc"]["frames"][1:])
    assert "blocked: 0" in done.done.stdout


@pytest.mark.parametrize("version", ["3.8", "3.13"])
def test_methods_have_their_class_in_their_name_on_old_pythons_too(tmp_path, version):
    exe = python(version)
    if exe is None:
        pytest.skip(f"Python {version} is not installed here")
    program = "class A:\n    def go(self):\n        1 / 0\nclass B(A):\n    @classmethod\n    def make(cls):\n        cls().go()\nB.make()"
    exc = next(iter(visit(project(tmp_path, {"a.py": program}), "a.py", exe=exe).log.of("exc")))["exc"]
    assert [frame["n"] for frame in exc["frames"]] == ["<module>", "B.make", "A.go"]


def test_the_byte_code_cache_is_used_and_a_torn_one_is_replaced(tmp_path):
    root = project(tmp_path, {"a.py": "1 / 0"})
    visit(root, "a.py")
    kept = sorted((tmp_path / "cache").glob("_bitten_*.bin"))
    assert any(each.name.startswith("_bitten_hook") for each in kept)
    for each in kept:
        each.write_bytes(b"torn")
    again = visit(root, "a.py", name="again")
    assert exceptions(again) == [("uncaught", "ZeroDivisionError", "division by zero")]


def test_a_descriptor_that_the_program_closed_and_took_for_itself_is_left_to_it(tmp_path):
    program = ("import os\nos.closerange(3, 1024)\nmine = open('mine.txt', 'w')\nfor n in range(473, 480):\n    os.dup2(mine.fileno(), n)\n1 / 0")
    done = visit(project(tmp_path, {"a.py": program}), "a.py")
    assert exceptions(done) == [("uncaught", "ZeroDivisionError", "division by zero")]
    assert (done.root / "mine.txt").read_text() == ""
