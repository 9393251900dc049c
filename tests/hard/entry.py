# ruff: noqa: E501 - a row of the table and a small program are easier read unbroken
"""Cases 69-85: where the guest has to get in, and what it may meet there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import psutil

from bitten.adapters.runs import invitation
from tests.guest.visit import python
from tests.hard.case import Hard
from tests.hard.launch import DIVISION, FAILS, SITE, TRAIN, crash
from tests.hard.play import Told, ran
from tests.stories import Project

MARKED = "import sys\nsys.was_here = True\n"
ASKS = "import sys\nassert sys.was_here\n" + TRAIN


SEEN = {"train.py": TRAIN.replace("train(5)", "__import__('time').sleep(1.5)\ntrain(5)")}
"""It lives until the watch, which looks each second, has seen it."""
OTEL = {f"OTEL_{each}_EXPORTER": "none" for each in ("TRACES", "METRICS", "LOGS")}


def _user_site(project: Project) -> None:
    """A virtual environment whose own sitecustomize sets a mark."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", "--system-site-packages", project.root / "env"], check=True)
    next((project.root / "env").glob("lib/python*/site-packages")).joinpath("sitecustomize.py").write_text(MARKED)


def missed(number: int, title: str, *command: str, why: str = "", **more) -> Hard:
    """A Python that the guest can't reach: the case says so, and reads the traceback that was printed."""
    told = {"files": SEEN, "root": DIVISION, "site": SITE,
            "says": (rf"did not enter pid \d+ \(.*train.py\): .*{why}|-I, -E or -S, which may have kept the guest out",), **more}
    return Hard(number, title, command, "which Python did not let the guest in, and why; the exception and its line, read off its traceback",
                variant="as it is", **told)


def native(number: int, title: str, *command: str, **more) -> Hard:
    """The same with the native helper: live values again."""
    return crash(number, title, *command, shows="the exception with live values, by the native helper",
                 **{"variant": "with `--native`", "options": ("--native",), "needs": ("cc",), **more})


def _both(number: int, title: str, *command: str, **more) -> tuple[Hard, Hard]:
    return missed(number, title, *command, **more), native(number, title, *command, **{name: more[name] for name in more if name != "why"})


def _old(version: str, text: str, **more) -> Hard:
    exe = python(version) or Path(f"python{version}")
    return Hard(77, "an old Python below", ("sh", "-c", f"{exe} old.py; exit 5"), files={"old.py": text}, code=5, needs=(version,), variant=version,
                how=f"`sh -c 'python{version} old.py; exit 5'`", **more)


def _cache_is_ours(told: Told) -> None:
    assert list((told.project.home / ".cache").rglob("_bitten_hook-*.bin"))


def full(project: Project, case: Hard) -> None:
    spool = project.root.parent / "spool"
    spool.mkdir()
    _same_in(project, case, spool, "unshare", "-Urm", "sh", "-c",
             f"mount -t tmpfs -o size=4k none '{spool}' && (head -c 4096 /dev/zero > '{spool}/all'; exec {' '.join(case.command)})")


def gone(project: Project, case: Hard) -> None:
    _same_in(project, case, project.root.parent / "nowhere", *case.command)


def _same_in(project: Project, case: Hard, spool: Path, *command: str) -> None:
    plain = ran(project, case, *case.command)
    project.env.update(invitation.env_for(spool, project.home, (), False, project.env))
    done = ran(project, case, *command)
    assert (done.returncode, done.stdout, done.stderr) == (plain.returncode, plain.stdout, plain.stderr)


SHADOWS = {"src/json.py": "raise ImportError('my json')\n", "src/re.py": "raise ImportError('my re')\n",
           "src/traceback.py": "raise ImportError('my traceback')\n", "src/train.py": TRAIN}
CLOSES = "import os\nos.closerange(3, 1024)\nkept = open('out.txt', 'w')\n" + TRAIN
FORKS = '''import os
import threading


def run():
    child = os.fork()
    if not child:
        import train
    status.append(os.waitpid(child, 0)[1])


status = []
thread = threading.Thread(target=run)
thread.start()
thread.join()
raise SystemExit(6)
'''
DAEMON = '''import os
import subprocess
import sys

daemon = subprocess.Popen(["sleep", "20"], start_new_session=True)
open("daemon.pid", "w").write(str(daemon.pid))
import train
'''
PRELOAD = '''#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>

static void *(*next)(size_t);

void *malloc(size_t size) {
    if (!next) next = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
    return next(size);
}
'''


def _preload(project: Project) -> None:
    subprocess.run(["cc", "-shared", "-fPIC", "-o", "alloc.so", "alloc.c", "-ldl"], cwd=project.root, check=True)
    project.env["LD_PRELOAD"] = str(project.root / "alloc.so")


def _daemon_lives(told: Told) -> None:
    daemon = psutil.Process(int(told.project.read("daemon.pid")))
    assert daemon.status() != psutil.STATUS_ZOMBIE
    daemon.kill()


def _was_quick(told: Told) -> None:
    assert told.failure["run"]["seconds"] < 15
    _daemon_lives(told)


CASES = (
    crash(69, "a sitecustomize of the user's, in a virtual environment", "env/bin/python", "asks.py", files={"asks.py": ASKS}, site="asks.py:7",
          prepare=_user_site, shows="the user's sitecustomize ran, and the exception"),
    crash(70, "Debian's sitecustomize", "/usr/bin/python3.11", "train.py", needs=("debian",)),
    missed(71, "opentelemetry-instrument in front", "opentelemetry-instrument", "python", "train.py", needs=("opentelemetry",), slow=True, env=OTEL,
           says=("became another Python by exec, which the guest could not enter",)),
    native(71, "opentelemetry-instrument in front", "opentelemetry-instrument", "python", "train.py", needs=("opentelemetry", "cc"), slow=True,
           env=OTEL),
    *_both(72, "PYTHONPATH=. in a recipe", "make", "-s", "train", files={**SEEN, "Makefile": "train:\n\tPYTHONPATH=. python train.py\n"}, code=2,
           why="PYTHONPATH"),
    *_both(73, "python -I", "python", "-I", "train.py", why="-I"),
    *_both(74, "python -E", "python", "-E", "train.py", why="-E"),
    *_both(75, "python -S", "python", "-S", "train.py", why="-S"),
    missed(76, "env -i", "env", "-i", sys.executable, "train.py", why="environment", how="`env -i python train.py`"),
    _old("2.7", "print('old')\nraise ValueError('of old')\n", shows="the Python starts unharmed; the exception is read off its traceback",
         root=("ValueError", "of old"), site="old.py:2"),
    _old("3.8", TRAIN, shows="the exception, its line and values", root=DIVISION, site="old.py:5"),
    crash(78, "no byte-code is written (PYTHONDONTWRITEBYTECODE)", "python", "train.py", env={"PYTHONDONTWRITEBYTECODE": "1"},
          more=_cache_is_ours, shows="the exception; the guest's byte-code is in our own cache"),
    crash(79, "modules of the project shadow json, re and traceback", "python", "src/train.py", files=SHADOWS, site="src/train.py:5"),
    crash(80, "closerange(3, 1024)", "python", "closes.py", files={"closes.py": CLOSES}, site="closes.py:8"),
    *(Hard(81, "the guest's folder has no room", ("python", "train.py"), "the program's own words and end, as without us", files=FAILS, by=by, variant=variant,
           how="`python train.py` with the guest alone", needs=needs)
      for variant, by, needs in (("a full disk", full, ("namespaces",)), ("it is gone", gone, ()))),
    crash(82, "fork from a thread", "python", "forks.py", files={**FAILS, "forks.py": FORKS}, code=6, process="thread|pid"),
    Hard(83, "a program that embeds Python", ("gdb", "-batch", "-ex", "python raise ValueError('in gdb')"), "gdb's own end and words", needs=("gdb",),
         says=("in gdb",), code=1),
    crash(84, "another allocator in LD_PRELOAD", "python", "train.py", files={**FAILS, "alloc.c": PRELOAD}, prepare=_preload, needs=("cc",),
          variant="as it is", how="`LD_PRELOAD=alloc.so python train.py`, a malloc of its own as jemalloc is"),
    native(84, "another allocator in LD_PRELOAD", "python", "-I", "train.py", files={**FAILS, "alloc.c": PRELOAD}, prepare=_preload,
           how="`LD_PRELOAD=alloc.so python -I train.py`", slow=True),
    crash(85, "a daemon is left behind", "python", "leaves.py", files={**FAILS, "leaves.py": DAEMON}, more=_was_quick,
          shows="the exception at once; the daemon lives on"),
)
