# ruff: noqa: E501 - a small program is easier read unbroken
"""The first promise: a program prints, exits and computes the same, whether the guest is in or not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.guest.visit import bare_environment, project, python, run, visit

CRASH = "def f(x):\n    return 1 / x\n\nf(0)\n"
PROGRAMS: dict[str, tuple[dict[str, str], list[str]]] = {
    "passes": ({"a.py": "print('fine')"}, ["a.py"]),
    "uncaught": ({"a.py": CRASH}, ["a.py"]),
    "chained": ({"a.py": "try:\n    {}['k']\nexcept KeyError as e:\n    raise RuntimeError('no k') from e"}, ["a.py"]),
    "context": ({"a.py": "try:\n    {}['k']\nexcept KeyError:\n    1 / 0"}, ["a.py"]),
    "print_exc": ({"a.py": "import traceback\ntry:\n    1 / 0\nexcept Exception:\n    traceback.print_exc()\nprint('on')"}, ["a.py"]),
    "logging": ({"a.py": "import logging, sys\ntry:\n    1 / 0\nexcept Exception:\n    logging.exception('oh')\n    sys.exit(4)"}, ["a.py"]),
    "exit message": ({"a.py": "import sys\nsys.exit('no data')"}, ["a.py"]),
    "exit seen": ({"a.py": "import sys, traceback\ntry:\n    sys.exit(1, 2)\nexcept TypeError:\n    traceback.print_exc()\n"
                           "try:\n    sys.exit('x')\nexcept SystemExit:\n    traceback.print_exc()\nprint(sys.exit.__name__)"}, ["a.py"]),
    "raw SystemExit": ({"a.py": "raise SystemExit(3)"}, ["a.py"]),
    "os._exit in except": ({"a.py": "import os\ntry:\n    1 / 0\nexcept Exception:\n    os._exit(7)"}, ["a.py"]),
    "SyntaxError": ({"a.py": "def f(:\n    pass"}, ["a.py"]),
    "argparse": ({"a.py": "import argparse\np = argparse.ArgumentParser(prog='a')\np.add_argument('--n', type=int)\np.parse_args()"}, ["a.py", "--n", "x"]),
    "thread": ({"a.py": "import threading\nt = threading.Thread(target=lambda: 1 / 0, name='T')\nt.start()\nt.join()\nprint('on')"}, ["a.py"]),
    "thread hook replaced": ({"a.py": "import threading\nthreading.excepthook = lambda a: print('mine', a.exc_type)\n"
                                      "t = threading.Thread(target=lambda: 1 / 0)\nt.start()\nt.join()"}, ["a.py"]),
    "RecursionError": ({"a.py": "def f():\n    f()\nf()"}, ["a.py"]),
    "__str__ raises": ({"a.py": "class E(Exception):\n    def __str__(self):\n        1 / 0\nraise E('x')"}, ["a.py"]),
    "__str__ exits, uncaught": ({"a.py": "class E(Exception):\n    def __str__(self):\n        raise SystemExit(9)\nraise E('x')"}, ["a.py"]),
    "__str__ exits": ({"a.py": "class E(Exception):\n    def __str__(self):\n        raise SystemExit(9)\n"
                               "import sys\ntry:\n    raise E('x')\nexcept E:\n    sys.exit(3)"}, ["a.py"]),
    "__repr__ prints": ({"a.py": "class R:\n    def __repr__(self):\n        print('called')\n        return 'R'\n    def __len__(self):\n        print('len')\n"
                                 "        return 1\n    def __getattribute__(self, n):\n        print('get', n)\n        return object.__getattribute__(self, n)\n"
                                 "def f(r, d):\n    raise ValueError\nr = R()\nf(r, {1: r})"}, ["a.py"]),
    "shadowed stdlib": ({"src/json.py": "print('my json')", "src/traceback.py": "print('my traceback')\nprint_exc = 1",
                         "src/re.py": "print('my re')", "src/math.py": "print('my math')",
                         "src/a.py": "import json\nsecret = 'password=' + 'x' * 20\ndef f(s):\n    raise ValueError(s)\nf(secret)"}, ["src/a.py"]),
    "excepthook overwritten": ({"a.py": "import sys\nsys.excepthook = lambda t, v, b: print('mine', t.__name__)\n1 / 0"}, ["a.py"]),
    "closerange": ({"a.py": "import os\nos.closerange(3, 1024)\nf = open('a.py')\nprint(f.fileno())\n1 / 0"}, ["a.py"]),
    "unraisable": ({"a.py": "class D:\n    def __del__(self):\n        1 / 0\nd = D()\ndel d\nprint('on')"}, ["a.py"]),
    "module": ({"pkg/__init__.py": "", "pkg/__main__.py": "from . import b", "pkg/b.py": CRASH}, ["-m", "pkg"]),
    "children": ({"a.py": "import subprocess, sys\nn = int(sys.argv[1])\nif n == 0:\n    1 / 0\n"
                          "sys.exit(subprocess.call([sys.executable, 'a.py', str(n - 1)]))"}, ["a.py", "2"]),
    "fork": ({"a.py": "import os\npid = os.fork()\nif not pid:\n    os._exit(5)\nprint(os.waitpid(pid, 0)[1])"}, ["a.py"]),
    "path": ({"a.py": "import sys\nprint([p for p in sys.path if 'guest' in p])\nimport traceback\nprint(sys.modules['traceback'].__spec__.loader)"},
             ["a.py"]),
    "stdin": ({"a.py": ""}, ["-c", "import sys; print(sys.argv); x = [1]; x[3]"]),
    "signal": ({"a.py": "import signal, os\nos.kill(os.getpid(), signal.SIGTERM)"}, ["a.py"]),
    "int signal": ({"a.py": "import signal, os\nos.kill(os.getpid(), signal.SIGINT)\nimport time\ntime.sleep(9)"}, ["a.py"]),
    "int signal and a secret": ({"a.py": "import signal, os, time\ndef f(password):\n    note = 'api_key=' + password\n"
                                         "    os.kill(os.getpid(), signal.SIGINT)\n    time.sleep(9)\nf('hunter2' * 3)"}, ["a.py"]),
    "group": ({"a.py": "raise ExceptionGroup('many', [ValueError(1), KeyError('k')])"}, ["a.py"]),
}
SMALL = ("passes", "uncaught", "chained", "print_exc", "logging", "exit seen", "os._exit in except", "SyntaxError", "thread", "RecursionError",
         "shadowed stdlib", "closerange", "children", "fork", "module", "int signal and a secret")


def same(root: Path, exe: Path | str, argv: list[str], env: dict[str, str]) -> None:
    plain = run(root, {**bare_environment(), **env}, str(exe), *argv)
    with_guest = visit(root, *argv, exe=exe, env=env)
    assert _seen(plain) == _seen(with_guest.done)
    assert any(with_guest.log.of("hello")), "the guest was not even there"


def _seen(done: subprocess.CompletedProcess[str]) -> tuple[int, str, str]:
    """Addresses differ from run to run in any case."""
    return done.returncode, _no_address(done.stdout), _no_address(done.stderr)


def _no_address(text: str) -> str:
    return " ".join("0x" if word.startswith("0x") else word for word in text.replace(">", " >").split(" "))


@pytest.mark.parametrize("name", PROGRAMS)
def test_exit_code_and_output_are_the_same_with_and_without_the_guest(tmp_path, name):
    files, argv = PROGRAMS[name]
    same(project(tmp_path, files), sys.executable, argv, {})


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("version", ["3.8", "3.9", "3.10", "3.12", "3.13"])
def test_other_pythons_see_no_difference_either(tmp_path, version, name):
    exe = python(version)
    if exe is None:
        pytest.skip(f"Python {version} is not installed here")
    files, argv = PROGRAMS[name]
    same(project(tmp_path, files), exe, argv, {})


@pytest.mark.parametrize("version", ["2.7", "3.6", "3.7"])
def test_a_python_too_old_for_the_guest_starts_unharmed(tmp_path, version):
    exe = python(version)
    if exe is None:
        pytest.skip(f"Python {version} is not installed here")
    root = project(tmp_path, {"a.py": "import sys\nsys.stdout.write('fine')\nraise SystemExit(3)"})
    done = visit(root, "a.py", exe=exe, env={"PYTHONDONTWRITEBYTECODE": "1"}).done  # 2.7 would leave its .pyc beside the source
    assert (done.returncode, done.stdout, done.stderr) == (3, "fine", "")


def test_a_sitecustomize_of_the_users_own_still_runs(tmp_path):
    root = project(tmp_path, {"a.py": CRASH, "site/sitecustomize.py": "print('my site')"})
    same(root, sys.executable, ["a.py"], {"PYTHONPATH": str(root / "site")})
    assert "my site" in visit(root, "a.py", env={"PYTHONPATH": str(root / "site")}).done.stdout


def test_a_spool_that_cannot_be_written_changes_nothing(tmp_path):
    root = project(tmp_path, {"a.py": CRASH})
    plain = run(root, bare_environment(), sys.executable, "a.py")
    gone = visit(root, "a.py", env={})
    for log in gone.spool.iterdir():
        log.unlink()
    gone.spool.rmdir()
    (tmp_path / "spool").write_text("no folder")
    base = {**bare_environment(), "PYTHONPATH": str(Path(__file__).parents[2] / "src" / "bitten" / "guest"), "BITTEN_SPOOL": str(tmp_path / "spool")}
    done = run(root, base, sys.executable, "a.py")
    assert (done.returncode, done.stdout, done.stderr) == (plain.returncode, plain.stdout, plain.stderr)


def test_start_up_imports_nothing_that_is_dear(tmp_path):
    root = project(tmp_path, {"a.py": "import sys\nprint(*sorted(sys.modules))"})
    with_guest = set(visit(root, "a.py").done.stdout.split())
    new = with_guest - set(run(root, bare_environment(), sys.executable, "a.py").stdout.split())
    ours = {"_bitten_hook", "_bitten_redact", "_bitten_seen", "_bitten_patches", "sitecustomize"}
    assert ours - {"sitecustomize"} <= new <= ours | {"atexit", "faulthandler", "__future__"}


def test_variables_of_a_frame_that_lives_on_are_not_kept_alive(tmp_path):
    program = ("import traceback, weakref\nclass Big:\n    pass\ndef main():\n    batch = Big()\n    seen = weakref.ref(batch)\n    try:\n        1 / 0\n"
               "    except ZeroDivisionError:\n        traceback.print_exc()\n    del batch\n    print('gone' if seen() is None else 'kept')\nmain()")
    done = visit(project(tmp_path, {"a.py": program}), "a.py")
    assert done.done.stdout == "gone\n"
    assert "batch" in done.story.crashes[0].frames[0].variables
