"""A shell's hook: what a process has to say waits in memory until it has an exception to tell; only then a spool is made. Knows no reader.

A Python that is well leaves nothing. The first of a tree names the spool, its children inherit the name; whoever fails makes it.
"""

from __future__ import annotations

import os
import sys
from time import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]

HELD = 400  # records that wait
SIZE = 4 << 20  # bytes of records a process
SPOOLS, AGE = 24, 7 * 86400.0  # how many are left, for how many seconds
OF_THE_PERSON = (KeyboardInterrupt, SystemExit, GeneratorExit, BrokenPipeError)
TOOLS = (
    "bitten", "pip", "pip3", "pipx", "uv", "conda", "mamba", "poetry", "pdm", "hatch", "flit", "virtualenv", "venv", "ensurepip", "ipython",
    "ipython3", "jupyter", "jupyter-lab", "jupyter-notebook", "ipykernel_launcher", "black", "ruff", "mypy", "flake8", "pylint", "isort",
    "pyright", "pre-commit", "py-spy", "debugpy", "pdb", "build", "twine",
)  # fmt: skip
DELIVERED = ("/multiprocessing/process.py", "/torch/multiprocessing/spawn.py", "/multiprocessing/pool.py", "/concurrent/futures/process.py",
             "/torch/utils/data/_utils/worker.py")


class Held:
    """`root` is the number of the tree's first process, `base` where all spools of this user are made."""

    root, base = 0, ""


def begin(base: str) -> str:
    """The spool of this process, not made yet."""
    spool = os.environ.get("BITTEN_SPOOL", "")
    if not spool.startswith(base + "/"):
        spool = os.environ["BITTEN_SPOOL"] = "%s/%.6f-%d" % (base, time(), os.getpid())  # noqa: UP031 - of fixed width, so names sort by time
    Held.base, Held.root = base, int(spool.rpartition("-")[2])
    hook.Log.held, hook.Log.left = [], SIZE
    return spool


def hold(fields: dict[str, Any]) -> None:
    """The first ones, the introduction among them, and of the rest the last."""
    held = hook.Log.held
    if len(held) >= HELD:
        del held[HELD // 2]
    held.append(fields)


def forked() -> None:
    """A child introduces itself as its parent did; what that has read and caught is not the child's."""
    mine = {"pid": os.getpid(), "ppid": os.getppid()}
    hook.Log.held = [dict(each, **mine) for each in hook.Log.held if each["k"] == "hello"]
    hook.Log.left = SIZE


def told(exc: BaseException, tb: TracebackType | None, how: str) -> None:
    """An exception was recorded: make the spool, if it is one that a person would want back."""
    if _is_news(exc, tb or exc.__traceback__, how):
        _make()


def _is_news(exc: BaseException, tb: TracebackType | None, how: str) -> bool:
    """None is: what a person typed at a prompt, or ended; a tool's own; what was caught, unless a worker sends it home."""
    if isinstance(exc, OF_THE_PERSON) or hasattr(sys, "ps1") or sys.flags.interactive or _is_a_tool(hook.argv()):
        return False
    if how in ("formatted", "unraisable"):
        return os.getpid() != Held.root and tb is not None and tb.tb_frame.f_code.co_filename.endswith(DELIVERED)
    return _has_own_code(tb)


def _has_own_code(tb: TracebackType | None) -> bool:
    is_library = hook.load("_bitten_frames").is_library
    while tb is not None:
        if not is_library(tb.tb_frame.f_code.co_filename):
            return True
        tb = tb.tb_next
    return False


def _is_a_tool(argv: list[str]) -> bool:
    words = iter(argv[1:])
    for word in words:
        if word == "-m":
            return next(words, "").partition(".")[0] in TOOLS
        if word == "-c":
            return False
        if not word.startswith("-"):
            return word.rpartition("/")[2] in TOOLS
    return False


def _make() -> None:
    """The folder, then all that waited. Somebody else's folder is no place for it."""
    if os.lstat(Held.base).st_uid != os.getuid():
        return
    try:  # noqa: SIM105 - contextlib is no part of start-up
        os.mkdir(hook.Where.spool, 0o700)  # noqa: PTH102 - as in the hook
    except FileExistsError:  # another process of this tree has failed before
        pass
    held, hook.Log.held = hook.Log.held, None
    for fields in held:
        hook.Log.write((repr(fields) + "\n").encode("utf-8", "backslashreplace"))
    if os.getpid() != Held.root:
        _tell_root()
    _tidy(sorted(os.listdir(Held.base)))  # noqa: PTH208 - as in the hook


def _tell_root() -> None:
    """What was typed: the first process of the tree may never fail, or not yet."""
    try:
        with open("/proc/%d/cmdline" % Held.root, "rb") as file:  # noqa: PTH123, UP031 - as in the hook
            words = file.read(8000).decode("utf-8", "replace").split("\0")[:-1]
        cwd = os.readlink("/proc/%d/cwd" % Held.root)  # noqa: PTH115, UP031 - as in the hook
    except OSError:
        return
    hook.emit("root", argv=hook.load("_bitten_redact").scrub("\0".join(words)).split("\0"), cwd=cwd)


def _tidy(names: list[str]) -> None:
    """The oldest go. A name that is none of ours stays."""
    spools = [name for name in names if name.replace(".", "").replace("-", "").isdigit()]
    oldest = time() - AGE
    for at, name in enumerate(spools):
        if at < len(spools) - SPOOLS or float(name.partition("-")[0]) < oldest:
            _remove(Held.base + "/" + name)


def _remove(folder: str) -> None:
    try:
        for name in os.listdir(folder):  # noqa: PTH208 - as in the hook
            os.unlink(folder + "/" + name)  # noqa: PTH108 - as in the hook
        os.rmdir(folder)  # noqa: PTH106 - as in the hook
    except OSError:  # another one removes it too
        pass
