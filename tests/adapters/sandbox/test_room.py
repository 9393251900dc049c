"""Rooms of both ways, with real programs in them: nothing outside changes, and nobody outlives a run."""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bitten.adapters.sandbox import Room, sweep
from bitten.core.trouble import BadInput

from .conftest import Rooms, Shell, World

VANDAL = """
echo 'lr = 3' > train.py
rm src/data.py
echo new > new.txt
echo more >> data/corpus.txt || true
git commit -qam 'Vandalise'
echo again > train.py
git stash -q
git branch other
mkdir -p "$HOME/.cache/made" && echo 1 > "$HOME/.cache/made/x"
echo 1 >> "$HOME/.cache/hub/x" || true
echo 1 >> "$ELSEWHERE/last.pt" || true
rm "$ELSEWHERE/last.pt" || true
"""

DAEMON = """
import fcntl, os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        file = open(sys.argv[1] + "/lock", "w")
        fcntl.flock(file, fcntl.LOCK_EX)
        open(sys.argv[1] + "/held", "w").close()
        for fd in (0, 1, 2):
            os.close(fd)
        time.sleep(600)
    os._exit(0)
while not os.path.exists(sys.argv[1] + "/held"):
    time.sleep(0.01)
time.sleep(float(sys.argv[2]))
"""
"""Leaves a process of its own session that holds a lock, then goes on for so many seconds."""

TRAINING = """
import os
import torch, torch.distributed as dist, torch.multiprocessing as mp
from torch.utils.data import DataLoader, TensorDataset

def rank(number):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29511", RANK=str(number), WORLD_SIZE="2")
    dist.init_process_group("gloo")
    total = torch.ones(1) * (number + 1)
    dist.all_reduce(total)
    os.write(1, b"total %d\\n" % total.item())

rows = sum(len(batch) for batch, in DataLoader(TensorDataset(torch.arange(10)), batch_size=4, num_workers=2))
print("rows", rows, flush=True)
other = mp.get_context("fork").Process(target=rank, args=(1,))
other.start()
rank(0)
other.join()
"""


@contextmanager
def alarm(seconds: int) -> Iterator[None]:
    """So that a daemon that lives on fails a test and does not hang it."""

    def late(_number: int, _frame: object) -> None:
        raise TimeoutError

    old = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, old)


def lock_is_free(folder: Path, *, within: int = 0) -> bool:
    """Whether nobody holds the daemon's lock any more: a lock ends with its process, whatever number it had."""
    assert (folder / "held").exists()
    with (folder / "lock").open("w") as file:
        try:
            with alarm(within or 1):
                fcntl.flock(file, fcntl.LOCK_EX | (0 if within else fcntl.LOCK_NB))
        except (BlockingIOError, TimeoutError):
            return False
    return True


def python(room: Room, world: World, program: str, *args: str, timeout: float | None = 60) -> tuple[int | None, str, str]:
    ended = room.run([sys.executable, "-c", program, *args], str(world.project), dict(os.environ), timeout)
    return ended.exit, ended.stdout.decode(), ended.stderr.decode()


def test_whatever_a_run_does_the_outside_is_as_before(world: World, any_room: Room, shell: Shell) -> None:
    before = world.snapshot()
    ended = shell(any_room, "set -e\n" + VANDAL)
    assert ended.exit == 0, ended.stderr
    assert world.snapshot() == before


def test_in_namespaces_every_write_succeeds_and_the_outside_is_as_before(world: World, room: Room, shell: Shell) -> None:
    before = world.snapshot()
    ended = shell(room, "set -e\n" + VANDAL.replace(" || true", ""))
    assert (ended.exit, ended.stderr) == (0, b"")
    assert room.refused() == ()
    assert world.snapshot() == before


def test_ignored_data_and_the_virtual_environment_are_at_their_absolute_paths(world: World, room: Room, shell: Shell) -> None:
    assert room.root == str(world.project)
    ended = shell(room, 'cat "$PROJECT/data/corpus.txt" "$PROJECT/.venv/lib/package.py" "$ELSEWHERE/last.pt"; git status --short; pwd')
    assert ended.stdout.decode().splitlines() == ["to be", "version = 3", "weights M train.py", str(world.project)]


def test_a_second_run_sees_what_the_first_one_wrote(any_room: Room, shell: Shell) -> None:
    shell(any_room, "echo kept > new.txt; rm train.py")
    assert shell(any_room, "cat new.txt; ls train.py").stdout == b"kept\n"


def test_files_are_put_into_the_copy_alone(world: World, any_room: Room, shell: Shell) -> None:
    before = world.snapshot()
    any_room.write({"tests/unit/test_new.py": b"assert True\n", "train.py": b"lr = \xff\n", "src/data.py": None, "never/was": None})
    assert shell(any_room, "cat tests/unit/test_new.py train.py; ls src").stdout == b"assert True\nlr = \xff\n"
    assert world.snapshot() == before


def test_a_link_to_data_gives_way_to_a_file(world: World, any_room: Room, shell: Shell) -> None:
    any_room.write({"data/corpus.txt": b"or not\n"})
    assert shell(any_room, "cat data/corpus.txt").stdout == b"or not\n"
    assert (world.project / "data" / "corpus.txt").read_bytes() == b"to be\n"


@pytest.mark.parametrize("name", ["../elsewhere/last.pt", "/etc/passwd"])
def test_a_path_outside_the_project_is_no_place_to_write(room: Room, name: str) -> None:
    with pytest.raises(BadInput, match="does not lie in the project"):
        room.write({name: b""})


def test_a_patch_applies_to_the_copy_alone(world: World, any_room: Room, shell: Shell) -> None:
    before = world.snapshot()
    any_room.apply("--- a/train.py\n+++ b/train.py\n@@ -1 +1 @@\n-lr = 2\n+lr = 0.5\n")
    assert shell(any_room, "cat train.py").stdout == b"lr = 0.5\n"
    assert world.snapshot() == before


def test_a_patch_applies_outside_a_repository(world: World, rooms: Rooms, shell: Shell) -> None:
    subprocess.run(["rm", "-rf", str(world.project / ".git")], check=True)
    subprocess.run(["git", "init", "-q", str(world.project.parent)], check=True)
    room = rooms.open()
    room.apply("diff --git a/train.py b/train.py\n--- a/train.py\n+++ b/train.py\n@@ -1 +1 @@\n-lr = 2\n+lr = 0.5\n")
    assert shell(room, "cat train.py").stdout == b"lr = 0.5\n"


def test_a_patch_that_does_not_apply_is_bad_input(any_room: Room) -> None:
    with pytest.raises(BadInput) as caught:
        any_room.apply("--- a/train.py\n+++ b/train.py\n@@ -1 +1 @@\n-lr = 7\n+lr = 0.5\n")
    assert caught.value.slug == "patch-does-not-apply"
    assert "train.py" in caught.value.why


def test_how_a_run_ended_is_told(any_room: Room, shell: Shell) -> None:
    ended = shell(any_room, "echo out; echo error >&2; exit 3")
    assert (ended.exit, ended.signal, ended.timed_out, ended.stdout, ended.stderr) == (3, None, False, b"out\n", b"error\n")
    assert sorted(ended.output.splitlines()) == [b"error", b"out"]
    assert 0 < ended.seconds < 30
    ended = shell(any_room, "kill -SEGV $$")
    assert (ended.exit, ended.signal) == (None, signal.SIGSEGV)


def test_a_program_that_does_not_exist_ends_as_in_a_shell(world: World, any_room: Room) -> None:
    ended = any_room.run(["no-such-program"], str(world.project), {}, 10)
    assert ended.exit == 127
    assert b"no-such-program" in ended.stderr


def test_a_long_output_does_not_stall_a_run(world: World, room: Room) -> None:
    ended = room.run([sys.executable, "-c", "import sys; sys.stdout.write('x' * 20_000_000)"], str(world.project), {}, 60)
    assert ended.exit == 0
    assert 5 << 20 <= len(ended.stdout) < 6 << 20


def test_a_time_out_ends_the_daemons_of_a_run(world: World, any_room: Room) -> None:
    ended = any_room.run([sys.executable, "-c", DAEMON, str(world.shared), "600"], str(world.project), dict(os.environ), 2)
    assert (ended.exit, ended.signal, ended.timed_out) == (None, None, True)
    assert lock_is_free(world.shared)


def test_the_end_of_a_program_ends_its_daemons(world: World, any_room: Room) -> None:
    ended = any_room.run([sys.executable, "-c", DAEMON, str(world.shared), "0"], str(world.project), dict(os.environ), 60)
    assert (ended.exit, ended.timed_out) == (0, False)
    assert lock_is_free(world.shared)


BITTEN = """
import os, sys
from pathlib import Path
from bitten.adapters.sandbox import open_room
project, base, shared, daemon = sys.argv[1:]
with open_room(Path(project), Path(base), [Path(shared)]) as room:
    room.run([sys.executable, "-c", daemon, shared, "600"], project, dict(os.environ))
"""


@pytest.mark.parametrize("way", ["", "clone"])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_nobody_outlives_a_bitten_that_was_killed_or_interrupted(world: World, way: str, number: signal.Signals) -> None:
    argv = [sys.executable, "-c", BITTEN, str(world.project), str(world.base), str(world.shared), DAEMON]
    with subprocess.Popen(argv, env={**os.environ, "BITTEN_SANDBOX": way}, stderr=subprocess.DEVNULL) as bitten:
        until = time.monotonic() + 30
        while not (world.shared / "held").exists() and time.monotonic() < until:
            time.sleep(0.01)
        bitten.send_signal(number)
    assert lock_is_free(world.shared, within=10)
    assert bool(list(world.base.iterdir())) is (number == signal.SIGKILL)
    sweep(world.base)
    assert list(world.base.iterdir()) == []


def test_the_network_is_off_and_loopback_works(world: World, room: Room) -> None:
    program = """
import socket
server = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(server.getsockname()); server.accept()[0].send(b"hello")
print(client.recv(5), socket.gethostbyname(socket.gethostname()).startswith("127."))
socket.create_connection(("192.0.2.1", 80), timeout=5)
"""
    code, out, _ = python(room, world, program)
    assert (code, out) == (1, "b'hello' True\n")
    assert room.refused() == ("a host could not be reached (Network is unreachable): --allow-net",)


def test_our_own_name_is_found_without_a_network(room: Room, shell: Shell) -> None:
    assert shell(room, "tail -n 1 /etc/hosts").stdout.decode() == f"127.0.0.1 localhost {socket.gethostname()}\n"


def test_an_unknown_name_is_refused_and_named(world: World, room: Room) -> None:
    python(room, world, "import socket; name = 'hub.example.org'\ntry: socket.gethostbyname(name)\n"
                        "except OSError as error: raise SystemExit(f'Failed to resolve {name!r} ({error})')")
    assert [each.split(" ")[0] for each in room.refused()] == ["hub.example.org"]


def test_where_the_network_is_allowed_the_room_has_the_worlds_own(world: World, rooms: Rooms, room: Room, shell: Shell) -> None:
    space = str(Path("/proc/self/ns/net").readlink())
    assert shell(room, "readlink /proc/self/ns/net").stdout.decode().strip() != space
    opened = rooms.open(net=True)
    assert shell(opened, "readlink /proc/self/ns/net; echo $WANDB_MODE").stdout.decode().split() == [space]


def test_trackers_are_offline(any_room: Room, shell: Shell) -> None:
    assert shell(any_room, "echo $WANDB_MODE $HF_HUB_OFFLINE").stdout == b"offline 1\n"


def test_temporary_files_and_shared_memory_are_the_rooms_own(any_room: Room, shell: Shell, tmp_path: Path) -> None:
    ended = shell(any_room, 'set -e; test -z "$(ls -A "$TMPDIR")"; touch "$TMPDIR/x"; echo "$TMPDIR"', TMPDIR=str(tmp_path))
    inside = ended.stdout.decode().strip()
    assert inside != str(tmp_path)
    assert not list(tmp_path.glob("x"))


def test_shared_memory_is_the_rooms_own(room: Room, shell: Shell) -> None:
    name = f"bitten-test-{os.getpid()}"
    assert shell(room, f"ls /dev/shm; echo 1 > /dev/shm/{name}").stdout == b""
    assert not Path("/dev/shm", name).exists()


def test_a_run_sees_its_own_processes_alone(room: Room, shell: Shell) -> None:
    numbers = shell(room, "ls /proc | grep -c '^[0-9]'; cat /proc/self/stat").stdout.split()
    assert int(numbers[0]) < 8


def test_shared_and_allowed_paths_are_really_written(world: World, rooms: Rooms, shell: Shell) -> None:
    room = rooms.open(write=(str(world.elsewhere), "train.py"))
    assert shell(room, 'echo 1 > "$SHARED/spool"; echo 1 > "$ELSEWHERE/checkpoint"; echo 1 > train.py').exit == 0
    assert all(path.read_text(encoding="utf-8") == "1\n" for path in (
        world.shared / "spool", world.elsewhere / "checkpoint", world.project / "train.py"))


def test_a_path_to_allow_must_exist(rooms: Rooms) -> None:
    with pytest.raises(BadInput) as caught:
        rooms.open(write=("no/such/folder",))
    assert caught.value.slug == "allow-write-missing"


def test_a_refused_write_is_named(room: Room, shell: Shell) -> None:
    if os.geteuid():
        pytest.skip("only root may write here outside")
    device = f"/dev/bitten-test-{os.getpid()}"
    assert shell(room, f"echo 1 > {device}").exit != 0
    assert [each.split(" ")[0] for each in room.refused()] == [device]
    assert not Path(device).exists()
    shell(room, "true")
    assert room.refused() == ()


def test_a_run_can_not_take_the_walls_down(room: Room, shell: Shell) -> None:
    assert shell(room, "umount /etc || umount /tmp || mount -t tmpfs none /mnt").exit != 0


def test_a_folder_that_was_there_can_be_renamed_by_root(room: Room, world: World) -> None:
    if os.geteuid():
        pytest.skip("the kernel refuses it to others")
    assert python(room, world, "import os; os.rename('src', 'old'); print(os.listdir('old'))")[1] == "['data.py']\n"


def test_nothing_is_left_even_after_an_exception_and_locked_folders(world: World, any_room: Room, rooms: Rooms, shell: Shell) -> None:
    shell(any_room, "mkdir -p deep/er; touch deep/er/x; chmod 0 deep; rm -r src; mkdir src")
    rooms.stack.close()
    assert list(world.base.iterdir()) == []


def test_torch_workers_and_process_groups_work_inside(world: World, room: Room) -> None:
    pytest.importorskip("torch")
    code, out, error = python(room, world, TRAINING)
    assert (code, sorted(out.splitlines())) == (0, ["rows 10", "total 3", "total 3"]), error


PLAIN_USER = """
import os, sys
from pathlib import Path
from bitten.adapters.sandbox import open_room
project, base = map(Path, sys.argv[1:])
with open_room(project, base, []) as room:
    script = "id -u; echo 1 >> file; rm -r folder; cat file; touch /usr/bitten-test || true"
    ended = room.run(["sh", "-ec", script], str(project), dict(os.environ))
    print(room.how.split(":")[0].split(" (")[0], ended.stdout.split(), ended.stderr, room.refused(), flush=True)
print(os.listdir(base), (project / "file").read_text(), os.listdir(project / "folder"))
"""


def _as(words: list[str], python_for_it: str, owner: str) -> str:
    """What a room of another user says, with a project below a folder of root's."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        top, project = Path(folder), Path(folder, "roots", "deeper", "project")
        subprocess.run(["cp", "-r", str(Path(__file__).parents[3] / "src" / "bitten"), folder], check=True)
        (project / "folder").mkdir(parents=True)
        (project / "file").write_text("0\n", encoding="utf-8")
        (top / "base").mkdir()
        subprocess.run(["chown", "-R", owner, str(project), str(top / "base")], check=True)
        top.chmod(0o755)
        done = subprocess.run(
            [*words, python_for_it, "-c", PLAIN_USER, str(project), str(top / "base")],
            env={"PYTHONPATH": folder, "HOME": str(project), "PATH": os.environ["PATH"]}, capture_output=True, text=True, check=False)
        return done.stdout + done.stderr


def _needs(words: list[str], python_for_it: str) -> None:
    """Skip where this user can't run a Python that we support, or has no user namespaces."""
    version = [python_for_it, "-c", "import sys; sys.exit(sys.version_info < (3, 10))"]
    for program in (version, ["unshare", "-Urm", "true"]):
        if subprocess.run([*words, *program], capture_output=True, check=False).returncode:
            pytest.skip(f"no {program[0]} for {words}")


SOMEBODY = ["setpriv", "--reuid", "12345", "--regid", "12345", "--clear-groups"]
POOR_ROOT = ["setpriv", "--bounding-set", "-sys_admin", "--inh-caps", "-sys_admin"]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become another")
def test_without_privileges_a_user_namespace_does() -> None:
    _needs(SOMEBODY, "/usr/bin/python3")
    said = _as(SOMEBODY, "/usr/bin/python3", "12345:12345")
    assert said.startswith("namespaces [b'12345', b'0', b'1']"), said
    assert "/usr/bitten-test': Permission denied" in said
    assert said.endswith("[] 0\n []\n"), said


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to be a poor one")
def test_root_without_its_privileges_gets_a_user_namespace() -> None:
    _needs(POOR_ROOT, sys.executable)
    said = _as(POOR_ROOT, sys.executable, "0:0")
    assert said.startswith("namespaces [b'0', b'0', b'1']"), said
    assert said.endswith("[] 0\n []\n"), said
    assert not Path("/usr/bitten-test").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become another")
def test_a_project_that_belongs_to_a_group_of_others_is_cloned() -> None:
    _needs(SOMEBODY, "/usr/bin/python3")
    said = _as(SOMEBODY, "/usr/bin/python3", "12345:0")
    assert said.startswith("a clone with links at another path, as namespaces can't serve here"), said
    assert said.endswith("[] 0\n []\n"), said


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to mount")
def test_where_proc_is_hidden_in_part_a_program_still_knows_its_number_and_its_daemons_end(world: World, tmp_path: Path) -> None:
    hide = ["unshare", "-m", "sh", "-ec", 'mount -t tmpfs none /proc/irq; exec "$@"', "sh"]
    program = BITTEN.replace("600", "0").replace("as room:", """as room:
    print(room.how.split(":")[0], room.run(["sh", "-c", "readlink /proc/self; exec echo $$"], project, {}).stdout.split())""")
    argv = [sys.executable, "-c", program, str(world.project), str(world.base), str(world.shared), DAEMON]
    if subprocess.run([*hide, *POOR_ROOT, "unshare", "-Urm", "true"], capture_output=True, check=False).returncode:
        pytest.skip("no user namespaces here")
    done = subprocess.run([*hide, *POOR_ROOT, *argv], capture_output=True, text=True, check=False)
    assert done.stdout.startswith("namespaces"), done.stdout + done.stderr
    first, second = (int(word.strip("[]b',")) for word in done.stdout.split()[1:])
    assert 0 < first - second < 5  # readlink is a child of the shell
    assert lock_is_free(world.shared)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to mount")
def test_where_the_base_lies_on_an_overlay_writes_take_memory(world: World, tmp_path: Path) -> None:
    program = BITTEN.replace("600", "0").replace("as room:", "as room:\n    print(room.how)")
    mount = f"mkdir u w; mount -t overlay none -olowerdir={world.base},upperdir=u,workdir=w {world.base}"
    words = ["unshare", "-m", "sh", "-ec", f'{mount}; exec "$@"', "sh"]
    argv = [sys.executable, "-c", program, str(world.project), str(world.base), str(world.shared), DAEMON]
    done = subprocess.run([*words, *argv], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "take memory" in done.stdout, done.stdout + done.stderr
    assert (world.shared / "held").exists()
