"""What an interpreter announces by itself, made into records. Never raises, prints, or changes an exit code; knows nobody who reads them.

Every `except Exception` here has this one reason: a stranger's program goes on as if we weren't there. Nothing is imported
that start-up has not loaded already: json, threading, re and traceback cost more than all of this file.
"""

from __future__ import annotations

import _thread
import os
import sys
from time import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Any

SIZE = 16 << 20  # bytes of records a process
ALLOWED = (
    "RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "GROUP_RANK", "CUDA_VISIBLE_DEVICES", "TORCHELASTIC_RESTART_COUNT",
    "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PYTEST_XDIST_WORKER", "VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONHASHSEED", "OMP_NUM_THREADS",
    "CUBLAS_WORKSPACE_CONFIG", "CI", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS", "PYTORCH_CUDA_ALLOC_CONF",
    "CUDA_LAUNCH_BLOCKING", "NCCL_P2P_DISABLE", "NCCL_SOCKET_IFNAME", "NCCL_DEBUG", "TOKENIZERS_PARALLELISM", "HF_HUB_OFFLINE",
    "TRANSFORMERS_OFFLINE", "HF_HOME", "LD_PRELOAD", "LANG", "LC_ALL", "PYTHONUTF8", "PYTHONIOENCODING", "PYTHONOPTIMIZE", "TZ",
)  # fmt: skip
_mine = _thread._local()


class Where:
    """Where we are, and where the program started."""

    here = spool = ""
    start = "/"
    skipped: tuple[str, ...] = ("/proc/", "/sys/", "/dev/", "<", "/usr/share/", "/usr/lib/", "/etc/")
    writable: tuple[str, ...] = ()
    is_forked = False
    loader: Callable[[str], Any]


class Log:
    """This process's record file. Our descriptor may have been closed or reused by the program, or be a parent's."""

    fd, inode, pid = -1, 0, 0
    left = SIZE
    faults_are_ours = False
    held: list[dict[str, Any]] | None = None  # of a process that a shell's hook reached, and that has no exception to tell

    @classmethod
    def write(cls, line: bytes) -> None:
        cls.left -= len(line)
        if cls.left > 0:
            os.write(cls.descriptor(), line)

    @classmethod
    def descriptor(cls) -> int:
        try:
            if cls.pid == os.getpid() and os.fstat(cls.fd).st_ino == cls.inode:
                return cls.fd
        except OSError:
            pass  # closed: a new one is opened
        cls.pid = os.getpid()
        cls.fd = _out_of_the_way(os.open(f"{Where.spool}/p{cls.pid}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600))
        cls.inode = os.fstat(cls.fd).st_ino
        return cls.fd


def _out_of_the_way(fd: int) -> int:
    """Above the numbers that programs count on or close in bulk. (`fcntl` would do it, but its import costs a dlopen.)"""
    for number in range(473, 480):
        try:
            os.fstat(number)
        except OSError:
            try:
                os.dup2(fd, number, False)
            except OSError:  # fewer descriptors are allowed
                return fd
            os.close(fd)
            return number
    return fd


def is_busy() -> bool:
    """Whether this thread is inside our own code, whose opens and calls are nobody's business."""
    return getattr(_mine, "busy", False)


def set_busy(now: bool) -> bool:
    was, _mine.busy = is_busy(), now
    return was


def emit(kind: str, **fields: Any) -> None:
    """Append one record: a Python literal on a line, in one write. It survives os._exit and SIGKILL."""
    was = set_busy(True)
    try:
        fields.update(k=kind, t=time())
        if Log.held is None:
            Log.write((repr(fields) + "\n").encode("utf-8", "backslashreplace"))
        else:
            load("_bitten_later").hold(fields)
    except Exception:  # nothing is noted, and the program goes on
        pass
    finally:
        set_busy(was)


def load(name: str) -> Any:
    """Another module of ours, through the door's byte-code cache."""
    if name in sys.modules:
        return sys.modules[name]
    was = set_busy(True)
    try:
        return Where.loader(name)
    finally:
        set_busy(was)


# ---------------------------------------------------------------------------------------------- exceptions


def capture(exc: BaseException | None, tb: TracebackType | None, how: str) -> None:
    """Snapshot an exception, and let the probes read its frames. Signals wait meanwhile: a handler that raises would cut it short."""
    if exc is None or is_busy():
        return
    was, held = set_busy(True), None
    try:
        held = _hold_signals()
        crash = _in_spite_of_handlers(lambda: load("_bitten_crash"))  # another thread may take the signal, and this one its handler
        crash.capture(exc, tb, how)
    except KeyboardInterrupt:
        raise  # the person's, not ours to keep
    except BaseException as error:  # a stranger's object may even exit: then from its own place, not from here
        emit("hookerr", where="capture", err=type(error).__name__)
    finally:
        set_busy(was)
        if held is not None:
            _signals().pthread_sigmask(_signals().SIG_SETMASK, held)


def _signals() -> Any:
    return sys.modules.get("_signal") or __import__("_signal")


def _hold_signals() -> Any:
    """Block them all. Returns what was blocked before.

    The call runs the handlers of what came just before it, and torch's for SIGCHLD raises: the mask is set even so, so what
    it was must have been read first.
    """
    signal = _signals()
    before = _in_spite_of_handlers(lambda: signal.pthread_sigmask(signal.SIG_BLOCK, ()))
    _in_spite_of_handlers(lambda: signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals()))
    return before


def _in_spite_of_handlers(call: Callable[[], Any]) -> Any:
    for _ in range(50):
        try:
            return call()
        except Exception:  # a signal handler of the program raised in our midst: once more
            continue
    return call()


# ---------------------------------------------------------------------------------------------- what the interpreter audits

_LISTENERS: dict[str, Callable[[Any], None]] = {
    "sys.excepthook": lambda args: capture(args[2], args[3], "uncaught"),
    "os.exec": lambda args: emit("exec", p=os.fsdecode(args[0])),
    "os.kill": lambda args: _on_kill(*args),
    "os.killpg": lambda args: _on_kill(*args),
    "sys.unraisablehook": lambda args: capture(args[1].exc_value, args[1].exc_traceback, "unraisable"),
}


def _on_kill(pid: Any, number: Any) -> None:
    """Whom this process ended: that one's death is then no news."""
    if number and pid != os.getpid():
        emit("kill", child=pid, signal=int(number))


def _audit(event: str, args: Any) -> None:
    """CPython announces an uncaught exception before it calls whatever hook is installed, so none that a library installs hides it."""
    listener = _LISTENERS.get(event)
    if listener is not None:
        try:  # noqa: SIM105 - contextlib is no part of start-up
            listener(args)
        except Exception:  # a listener of ours never stops an audited call
            pass


# ---------------------------------------------------------------------------------------------- how a process ends


def flush() -> None:
    """At the end of a process: the last counts."""
    load("_bitten_seen").flush()
    for name in ("_bitten_watch", "_bitten_probes.bus"):
        if name in sys.modules:
            sys.modules[name].flush()


def _at_exit() -> None:
    flush()
    if "torch" in sys.modules or "numpy" in sys.modules or "_bitten_crash" in sys.modules:
        load("_bitten_crash").tell_modules()


def watch_faults() -> None:
    """A crash in C writes its stack into our log. The program's own faulthandler stays where it is: its output is seen anyway."""
    import faulthandler  # noqa: PLC0415 - built in

    if not faulthandler.is_enabled():
        faulthandler.enable(Log.descriptor(), all_threads=True)
        Log.faults_are_ours = True


def answer_dumps() -> None:
    """SIGRTMAX-4 writes the main thread's stack into our log. It is sent only to a process that hangs, and where nothing else may look."""
    import faulthandler  # noqa: PLC0415 - built in

    if hasattr(faulthandler, "register"):
        faulthandler.register(_signals().SIGRTMAX - 4, Log.descriptor(), all_threads=False)


def _after_fork() -> None:
    try:
        parents = Log.fd
        set_busy(False)
        Where.is_forked = True
        Log.left = SIZE
        if Log.held is not None:
            load("_bitten_later").forked()
        emit("fork", pid=os.getpid(), ppid=os.getppid())
        if Log.faults_are_ours:
            sys.modules["faulthandler"].disable()
            watch_faults()
        if Log.held is None:
            answer_dumps()
        if parents not in (-1, Log.fd):
            os.close(parents)
        for name in ("_bitten_seen", "_bitten_watch", "_bitten_crash", "_bitten_probes.bus"):
            if name in sys.modules:
                sys.modules[name].forked()
    except Exception:  # the child goes on, unseen
        pass


# ---------------------------------------------------------------------------------------------- how it begins


def install(here: str, loader: Callable[[str], Any]) -> None:
    """Called by the door, once an interpreter."""
    Where.loader = loader
    _settle(here)
    _hello()
    _LISTENERS.update(load("_bitten_seen").LISTENERS)
    patches = load("_bitten_patches")
    patches.start()
    if Log.held is None:  # both need a file from the start
        watch_faults()
        answer_dumps()
    import atexit  # noqa: PLC0415 - built in

    atexit.register(_at_exit)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_after_fork)
    if os.environ.get("BITTEN_WATCH") == "1":
        load("_bitten_watch").install(patches.on_import)
    if os.environ.get("BITTEN_INSTRUMENTS"):
        load("_bitten_probes.armed").install()
    if os.environ.get("BITTEN_HANDLED") == "1":
        load("_bitten_handled").install()
    sys.addaudithook(_audit)


def _settle(here: str) -> None:
    Where.here, Where.spool = here, os.environ.get("BITTEN_SPOOL", "")
    base = os.environ.get("BITTEN_SPOOLS")
    if base and (not Where.spool or Where.spool.startswith(base + "/")):
        Where.spool = load("_bitten_later").begin(base)
    try:  # noqa: SIM105 - as above
        Where.start = os.getcwd()  # noqa: PTH109 - as above
    except OSError:
        pass  # a folder that was removed
    prefixes = {sys.prefix, sys.base_prefix}
    own = (Where.spool, here + "/", os.environ.get("BITTEN_CACHE") or Where.spool)
    Where.skipped += own + tuple(prefix + part for prefix in prefixes for part in ("/lib/", "/share/", "/bin/", "/include/", "/etc/"))
    Where.writable = tuple(os.path.realpath(path) for path in os.environ.get("BITTEN_WRITABLE", "").split(os.pathsep) if path)


def _hello() -> None:
    scrub = load("_bitten_redact").scrub
    words = scrub("\0".join(argv())[:8000]).split("\0")
    env = {name: os.environ[name] for name in ALLOWED if name in os.environ}
    emit("hello", pid=os.getpid(), ppid=os.getppid(), exe=sys.executable, v=list(sys.version_info[:3]), argv=words, cwd=Where.start,
         prefix=sys.prefix, path=list(sys.path), env=env, enc=[sys.getfilesystemencoding(), getattr(sys.stdout, "encoding", "")])


def argv() -> list[str]:
    """The whole command line; before 3.10 only the system knows it at this hour."""
    if hasattr(sys, "orig_argv"):
        return list(sys.orig_argv)
    try:
        with open("/proc/self/cmdline", "rb") as file:  # noqa: PTH123 - as above
            return [part.decode("utf-8", "replace") for part in file.read().split(b"\0")[:-1]]
    except OSError:
        return []
