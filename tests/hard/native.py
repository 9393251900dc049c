# ruff: noqa: E501 - a row of the table and a small program are easier read unbroken
"""Cases 53-62: ends that leave no exception."""

from __future__ import annotations

from tests.hard.case import Hard
from tests.hard.play import Told

FAULT = "import ctypes\n\n\ndef peek(address):\n    return ctypes.string_at(address)\n\n\n"
EATS = '''import time

rows = []
for shard in range(400):
    rows.append(bytearray(b"x") * (4 << 20))
    time.sleep(0.04)
'''
SHARED = '''import mmap
import os


def fill(size):
    fd = os.open("/dev/shm/bitten-hard", os.O_CREAT | os.O_RDWR)
    os.ftruncate(fd, size)
    with mmap.mmap(fd, size) as page:
        for at in range(0, size, 4096):
            page[at] = 1


fill(16 << 20)
'''
WAITS = '''import time


def wait_for(rows):
    while not rows:
        time.sleep(0.05)


print("waiting", flush=True)
wait_for([])
'''
SUPERVISED = '''import signal
import subprocess
import sys

child = subprocess.Popen([sys.executable, "waits.py"], stdout=subprocess.PIPE)
child.stdout.readline()
child.send_signal(signal.SIGTERM)
sys.exit(128 - child.wait())
'''
IN_GROUP = '''group=/sys/fs/cgroup/memory/bitten-hard-$$
mkdir $group
echo 256M > $group/memory.limit_in_bytes
trap 'echo $$ > /sys/fs/cgroup/memory/cgroup.procs; sleep 0.1; rmdir $group' EXIT
echo $$ > $group/cgroup.procs
"$@"
'''


def fault(number: int, title: str, text: str, line: int, **more) -> Hard:
    told = {"root": ("Segmentation fault", ""), "site": f"main.py:{line}", "code": -11, **more}
    return Hard(number, title, ("python", "main.py"), "the fault, and the Python stack at that moment", files={"main.py": FAULT + text}, **told)


def _names_the_kill(told: Told) -> None:
    """make says 2, and nothing else tells that the kernel killed for memory."""
    ending = " ".join(told.failure["surroundings"]["ending"])
    assert "memory" in ending.lower() and "python" in ending, told.failure["surroundings"]


def _is_the_users_own_dump(told: Told) -> None:
    assert "Fatal Python error: Segmentation fault" in told.done.stderr


CASES = (
    fault(53, "SIGSEGV in the main thread", "peek(0)\n", 5),
    fault(54, "SIGSEGV in another thread", "import threading, time\nthread = threading.Thread(target=peek, args=(0,), name='reader')\nthread.start()\n"
          "time.sleep(30)\n", 5),
    Hard(55, "SIGABRT", ("python", "main.py"), "the abort, and the Python stack at that moment", code=-6, root=("Aborted", ""), site="main.py:5",
         files={"main.py": "import os\n\n\ndef give_up():\n    os.abort()\n\n\ngive_up()\n"}),
    Hard(56, "SIGSEGV under pytest", ("python", "-m", "pytest", "-q", "test_it.py"), "the fault, the test's line, though pytest has the faulthandler",
         files={"test_it.py": FAULT + "def test_it():\n    peek(0)\n"}, code=-11, root=("Segmentation fault", ""), site="test_it.py:5",
         env={"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}, varies="the dump names threads by their addresses"),
    fault(57, "SIGSEGV with PYTHONFAULTHANDLER already on", "peek(0)\n", 5, env={"PYTHONFAULTHANDLER": "1"}, more=_is_the_users_own_dump,
          varies="the dump names threads by their addresses"),
    Hard(58, "the kernel kills for memory, under make", ("make", "-s", "train"), "that memory ran out in the control group, who was killed, and what it had",
         files={"eats.py": EATS, "group.sh": IN_GROUP, "Makefile": "train:\n\tpython eats.py\n"}, code=2, slow=True, needs=("memory groups",), around=("bash", "group.sh"),
         how="`make -s train` in a memory cgroup of 256 MiB",
         more=_names_the_kill),
    Hard(59, "ulimit -v", ("bash", "-c", "ulimit -v 400000; python main.py"), "the MemoryError, its line and values",
         files={"main.py": "def take(size):\n    return bytearray(size)\n\n\ntake(1 << 30)\n"}, root=("MemoryError", ""), site="main.py:2",
         says=("size = 1073741824",)),
    Hard(60, "/dev/shm is full", ("unshare", "-Urm", "sh", "-c", "mount -t tmpfs -o size=4m none /dev/shm && exec python main.py"),
         "the bus error, its line, and that /dev/shm had no room", files={"main.py": SHARED}, says=("/dev/shm",), code=-7, root=("Bus error", ""), site="main.py:10",
         needs=("namespaces",)),
    Hard(61, "SIGTERM by a supervisor", ("python", "supervisor.py"), "that the child ended by signal 15", code=143,
         files={"supervisor.py": SUPERVISED, "waits.py": WAITS}, says=("SIGTERM",)),
    Hard(62, "timeout(1)", ("timeout", "1", "python", "waits.py"), "that timeout(1) ended it, by exit code 124", code=124, files={"waits.py": WAITS},
         says=("124", r"timeout\(1\) ended it")),
)
