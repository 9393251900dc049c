"""The process between us and the runs of a room: it walls the room in, starts each run, and ends its whole tree. It decides nothing.

It is run as `python -I -S launcher.py FD` and told by one socket what to do: first the plan of the room, then run after run.
A run gets four descriptors: stdin, stdout, stderr and its *line*, on which its end is told. Who hangs up the line ends the
run; who hangs up the socket ends the room. The system calls come by ctypes: `landlock` on PyPI is a development release that
can do neither namespaces nor a fence on writing alone, and `sandlock` copies one folder and asks for Linux 6.7.
"""

# ruff: noqa: PTH101, PTH102, PTH103, PTH110, PTH112, PTH115, PTH116, PTH120, PTH123, PTH202, PTH208, PTH211 - pathlib slows the start

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import select
import shutil
import signal
import socket
import stat
import struct
import sys
from collections.abc import Callable
from typing import Any

NEWNS, NEWIPC, NEWUSER, NEWPID, NEWNET = 0x20000, 0x8000000, 0x10000000, 0x20000000, 0x40000000
RDONLY, REMOUNT, BIND, REC, PRIVATE, NOSUID, NODEV = 1, 32, 4096, 16384, 1 << 18, 2, 4
DETACH, AT_FDCWD, AT_RECURSIVE = 2, -100, 0x8000
PDEATHSIG, CAPBSET_DROP, CHILD_SUBREAPER, NO_NEW_PRIVS = 1, 24, 36, 38
SYS_MOUNT_SETATTR, SYS_RULESET, SYS_ADD_RULE, SYS_RESTRICT = 442, 444, 445, 446  # the same on every architecture of today
SMALL = 1 << 16

libc = ctypes.CDLL(None, use_errno=True)


def call(name: str, *args: Any) -> int:
    """A function of libc that sets errno. Raises: OSError."""
    result = int(getattr(libc, name)(*args))
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, f"{name}: {os.strerror(error)}")
    return result


def mount(source: str, target: str, kind: str = "", flags: int = 0, options: str = "") -> None:
    call("mount", source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), options.encode())


# ------------------------------------------------------------------------------------------------ the walls


class Walls:
    """A new root for this process and its children, in which every write anywhere lands in a layer of ours."""

    def __init__(self, plan: dict[str, Any]) -> None:
        self.plan, self.folder = plan, plan["folder"]
        self.root, self.memory = self.folder + "/root", self.folder + "/memory"
        self.notes: dict[str, list[str]] = {"readonly": [], "memory": [], "hidden": []}
        self.count = 0

    def build(self) -> dict[str, list[str]]:
        self.options = _enter(self.plan["net"])
        mount("", "/", "", REC | PRIVATE)
        for place in (self.root, self.memory):
            os.mkdir(place, 0o700)
            mount("bitten", place, "tmpfs", NOSUID | NODEV, "mode=755")
        for kind, path in self.plan["steps"]:
            self._take(kind, path)
        self._system()
        for path in self.plan["open"]:
            self._bind(path)
        os.makedirs(self.root + self.plan["tmp"], 0o700)
        self._turn()
        return self.notes

    def _take(self, kind: str, path: str) -> None:
        try:
            getattr(self, "_" + kind)(path)
        except FileNotFoundError:
            pass  # it went away since the plan was made
        except OSError:
            self.notes["hidden"].append(path)

    def _folder(self, path: str) -> None:
        os.makedirs(self.root + path, exist_ok=True)
        _resemble(self.root + path, path)

    def _link(self, path: str) -> None:
        os.symlink(os.readlink(path), self.root + path)

    def _file(self, path: str) -> None:
        if os.path.getsize(path) <= SMALL and os.access(path, os.R_OK):
            shutil.copy2(path, self.root + path)
        else:
            self._readonly(path)

    def _readonly(self, path: str) -> None:
        self._bind(path)
        _freeze(self.root + path)

    def _layer(self, path: str) -> None:
        """On our disk; in memory where that can't hold an upper layer; read-only where nothing can be laid over."""
        for place in (self.folder, self.memory):
            for options in (self.options + ",volatile", self.options):  # without `volatile` each unmount syncs the person's disk
                try:
                    self._overlay(path, place, options)
                except OSError:
                    continue
                if place == self.memory:
                    self.notes["memory"].append(path)
                return
        self._readonly(path)
        self.notes["readonly"].append(path)

    def _overlay(self, path: str, place: str, options: str) -> None:
        self.count += 1
        upper, work = (f"{place}/{self.count}.{kind}" for kind in ("upper", "work"))
        os.mkdir(upper, 0o700)
        os.mkdir(work, 0o700)
        _resemble(upper, path)
        os.makedirs(self.root + path, exist_ok=True)
        mount("bitten", self.root + path, "overlay", 0,
              f"{options},lowerdir={_escape(path)},upperdir={_escape(upper)},workdir={_escape(work)}")

    def _bind(self, path: str) -> None:
        target = self.root + path
        if os.path.isdir(path):
            os.makedirs(target, exist_ok=True)
        elif not os.path.lexists(target):
            os.makedirs(os.path.dirname(target), exist_ok=True)
            os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o600))
        mount(path, target, "", BIND | REC)

    def _system(self) -> None:
        """Devices work through a read-only mount; shared memory is the room's own; our own name resolves without a network."""
        self._bind("/proc")
        self._readonly("/sys")
        self._readonly("/dev")
        if os.path.isdir("/dev/shm"):
            mount("bitten", self.root + "/dev/shm", "tmpfs", NOSUID | NODEV, "mode=1777")
        for path in self.plan["names"]:  # an overlay cuts sockets off, and a user without a name breaks programs
            if os.path.isdir(path):
                self._take("readonly", path)
        hosts = self.folder + "/hosts"
        if os.path.exists(hosts) and os.path.exists(self.root + "/etc/hosts"):
            mount(hosts, self.root + "/etc/hosts", "", BIND)

    def _turn(self) -> None:
        os.chdir(self.root)
        call("pivot_root", b".", b".")
        call("umount2", b".", DETACH)
        os.chdir("/")


def _enter(net: bool) -> str:
    """Into new namespaces, a user namespace among them only where it is needed. Returns the options that overlays take there."""
    spaces, user, group = NEWNS | NEWIPC | (0 if net else NEWNET), os.geteuid(), os.getegid()
    try:
        call("unshare", spaces)
    except PermissionError:
        call("unshare", spaces | NEWUSER)
        _write("/proc/self/setgroups", "deny")
        _write("/proc/self/uid_map", f"{user} {user} 1")
        _write("/proc/self/gid_map", f"{group} {group} 1")
    if not net:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
            fcntl.ioctl(any_socket, 0x8914, struct.pack("16sH14x", b"lo", 1 | 64))  # SIOCSIFFLAGS: IFF_UP, IFF_RUNNING
    return "redirect_dir=on" if _is_first_user_namespace() else "userxattr"


def _is_first_user_namespace() -> bool:
    with open("/proc/self/uid_map", encoding="ascii") as file:
        return file.read().split() == ["0", "0", "4294967295"]


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def _resemble(made: str, real: str) -> None:
    """An overlay shows its upper folder's owner, mode and time. Another's folder can't be given away: then forbid what it forbids."""
    seen = os.stat(real)
    mode = stat.S_IMODE(seen.st_mode)
    try:
        os.chown(made, seen.st_uid, seen.st_gid)
    except OSError:
        if seen.st_uid != os.geteuid() and not os.access(real, os.W_OK):
            mode &= ~0o200
    os.chmod(made, mode)
    os.utime(made, ns=(seen.st_atime_ns, seen.st_mtime_ns))


def _escape(path: str) -> str:
    for character in "\\:,":
        path = path.replace(character, "\\" + character)
    return path


def _freeze(target: str) -> None:
    """Read-only with all below it; before Linux 5.12 the mount alone, keeping the flags that may be locked."""
    wanted = struct.pack("QQQQ", 1, 0, 0, 0)
    if libc.syscall(SYS_MOUNT_SETATTR, AT_FDCWD, target.encode(), AT_RECURSIVE, wanted, ctypes.c_size_t(len(wanted))) < 0:
        flags = os.statvfs(target).f_flag & 0xE
        mount("", target, "", BIND | REMOUNT | RDONLY | flags)


# ------------------------------------------------------------------------------------------------ the fence

WRITE_FILE, TRUNCATE, MAKE_AND_REMOVE, REFER = 1 << 1, 1 << 14, 0b1_1111_1111 << 4, 1 << 13


def fence_rights() -> int:
    """The rights to write that this kernel's Landlock can withhold; 0 where it has none."""
    version = libc.syscall(SYS_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(1))
    if version < 1:
        return 0
    return WRITE_FILE | MAKE_AND_REMOVE | (REFER if version > 1 else 0) | (TRUNCATE if version > 2 else 0)


def fence(paths: list[str]) -> None:
    """From here on this process and its children write below these paths alone."""
    rights = fence_rights()
    if not rights:
        return
    wanted = struct.pack("Q", rights)
    rules = call("syscall", SYS_RULESET, wanted, ctypes.c_size_t(len(wanted)), ctypes.c_uint32(0))
    for path in paths:
        try:
            place = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        allowed = rights if os.path.isdir(path) else rights & (WRITE_FILE | TRUNCATE)
        call("syscall", SYS_ADD_RULE, rules, 1, struct.pack("=Qi", allowed, place), ctypes.c_uint32(0))
        os.close(place)
    call("prctl", NO_NEW_PRIVS, 1, 0, 0, 0)
    call("syscall", SYS_RESTRICT, rules, ctypes.c_uint32(0))


# ------------------------------------------------------------------------------------------------ the runs


def serve(control: socket.socket, plan: dict[str, Any]) -> None:
    """Start a keeper for each run that is asked for, until the room is left."""
    while True:
        request, fds = receive(control)
        if request is None:
            return
        if not os.fork():
            control.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            keep(request, fds, plan)
        for fd in fds:
            os.close(fd)


def keep(request: dict[str, Any], fds: list[int], plan: dict[str, Any]) -> None:
    """Stay beside a run until it has ended or its line was hung up; then end whatever it left. Never returns."""
    call("prctl", CHILD_SUBREAPER, 1, 0, 0, 0)  # without a pid namespace orphans come to us
    if plan["pids"]:
        call("unshare", NEWPID)
    alive, living = os.pipe()
    attendant = os.fork()
    if not attendant:
        os.close(alive)
        attend(request, fds, plan)
    for fd in (living, *fds[:3]):
        os.close(fd)
    select.select([fds[3], alive], [], [])
    os.kill(attendant, signal.SIGKILL)
    os.waitpid(attendant, 0)
    if not plan["pids"]:
        end_children()
    os._exit(0)


def end_children() -> None:
    """Kill until nobody is left: each one killed hands us its own children."""
    while children := _children():
        for pid in children:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def _children() -> list[int]:
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                parent = int(file.read().rpartition(b")")[2].split()[1])
        except OSError:
            continue  # it ended while we looked
        if parent == os.getpid():
            found.append(int(name))
    return found


def attend(request: dict[str, Any], fds: list[int], plan: dict[str, Any]) -> None:
    """Be the first process of the run's pid namespace, which ends with us, and tell how the program ended. Never returns."""
    call("prctl", PDEATHSIG, signal.SIGKILL, 0, 0, 0)  # should our keeper be killed
    if plan["pids"]:
        own_proc()
    program = os.fork()
    if not program:
        start(request, fds, plan)
    for fd in fds[:3]:
        os.close(fd)
    pid = 0
    while pid != program:
        pid, status = os.wait()
    os.write(fds[3], b"%d" % os.waitstatus_to_exitcode(status))
    os._exit(0)


def own_proc() -> None:
    """Show the processes of this pid namespace alone, with the system's settings read-only."""
    call("unshare", NEWNS)
    mount("proc", "/proc", "proc", NOSUID | NODEV)
    if _is_first_user_namespace():
        mount("/proc/sys", "/proc/sys", "", BIND)
        _freeze("/proc/sys")


def can_own_proc() -> bool:
    """A container that hides parts of /proc forbids a new one; a pid namespace with the old one would tell every process a wrong number."""

    def alone() -> None:
        call("unshare", NEWPID)
        if not _succeeds(own_proc):
            raise PermissionError

    return _succeeds(alone)


def _succeeds(work: Callable[[], None]) -> bool:
    """Whether it can be done, tried in a child of its own."""
    child = os.fork()
    if not child:
        try:
            work()
        except OSError:
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0


def start(request: dict[str, Any], fds: list[int], plan: dict[str, Any]) -> None:
    """Become the program. Never returns; what can't be started ends as in a shell."""
    for number in (0, 1, 2):
        os.dup2(fds[number], number)
    os.setsid()
    for each in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them, and a program would inherit that
        signal.signal(each, signal.SIG_DFL)
    if plan["walls"] and _is_first_user_namespace():
        for capability in (16, 17, 21, 25):  # module, rawio, admin, time: real root could undo the walls or set the clock
            call("prctl", CAPBSET_DROP, capability, 0, 0, 0)
    try:
        os.chdir(request["cwd"])
        if not plan["walls"]:
            fence(plan["fence"])
        os.execvpe(request["argv"][0], request["argv"], request["env"])
    except OSError as error:
        os.write(2, f"bitten: cannot run {request['argv'][0]!r} in {request['cwd']}: {error.strerror}\n".encode())
        os._exit(127 if isinstance(error, FileNotFoundError) else 126)


# ------------------------------------------------------------------------------------------------ the socket


def receive(control: socket.socket) -> tuple[dict[str, Any] | None, list[int]]:
    """One message: its length in four bytes, which carry the descriptors, then JSON. None when the other side has gone."""
    head, fds, _, _ = socket.recv_fds(control, 4, 4, socket.MSG_CMSG_CLOEXEC)
    if len(head) < 4:
        return None, []
    body = control.recv(struct.unpack("I", head)[0], socket.MSG_WAITALL)
    return json.loads(body), fds


def main(control: socket.socket) -> None:
    plan, _ = receive(control)
    if plan is None:
        return
    answer: dict[str, Any] = {"fence": bool(fence_rights())}
    try:
        answer["notes"] = Walls(plan).build() if plan["walls"] else {}
        answer["pids"] = plan["pids"] = plan["walls"] and (_is_first_user_namespace() or can_own_proc())
    except OSError as error:
        answer["error"] = str(error)
    control.sendall(json.dumps(answer).encode() + b"\n")
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    serve(control, plan)


if __name__ == "__main__":
    with socket.socket(fileno=int(sys.argv[1])) as told:
        main(told)
