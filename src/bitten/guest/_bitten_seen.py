"""Files that the program reads and writes, and hosts that it reaches, as the interpreter audits them. Knows no file's content."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]

_CODE = (".py", ".pyc", ".so", ".pth", ".pyi", ".typed", ".mo", ".h", ".cpp", ".cubin", ".lock", "pyvenv.cfg")
_CONFIG = (".yaml", ".yml", ".json", ".toml", ".ini", ".cfg", ".conf", ".properties", ".gin", ".hcl", ".args", ".jsonnet", ".env")
_OTHERS = ("/.pytest_cache/", "/.ipython/", "/jupyter/runtime/", "/.hypothesis/", "/.mypy_cache/")  # what tools keep for themselves
PATHS = 20_000

_opened: set[str] = set()
_written: set[str] = set()
_configs: dict[str, int] = {}
_data: dict[str, int] = {}
_told: dict[str, int] = {}
_reached: set[Any] = set()
_denied: set[str] = set()


def _on_open(args: Any) -> None:
    """The first open of a path: configs one by one, data files counted by folder, writes. A `.env` by its name only."""
    path, _, flags = args
    if type(path) is not str or path.endswith(_CODE) or path[:1] == "<" or hook.is_busy():
        return
    if any(part in path for part in _OTHERS):
        return
    writes = flags & (os.O_WRONLY | os.O_RDWR)
    seen = _written if writes else _opened
    if path in seen or len(seen) >= PATHS:
        return
    seen.add(path)
    path = path if path[:1] == "/" else os.path.join(os.getcwd(), path)  # noqa: PTH109, PTH118 - pathlib imports half the library
    if not path.startswith(hook.Where.skipped) and "/site-packages/" not in path and "/dist-packages/" not in path:
        (_on_write if writes else _on_read)(path)


def _on_write(path: str) -> None:
    if os.path.isdir(path):  # noqa: PTH112 - as above; a temporary file without a name is opened by its folder's
        return
    _judge(path)
    if len(_written) <= 200 and not path.startswith(hook.Where.skipped) and "/__pycache__/" not in path:
        hook.emit("wrote", p=path)


def _on_read(path: str) -> None:
    folder = path.rpartition("/")[0]
    if path.endswith(_CONFIG) and _configs.get(folder, 0) < 50:
        _configs[folder] = _configs.get(folder, 0) + 1
        hook.emit("config", p=path, **_stat(path))
        return
    count = _data[folder] = _data.get(folder, 0) + 1
    if count <= 8 or count in (64, 512, 4096, 16384):
        _told[folder] = count
        hook.emit("data", p=path, n=count, **_stat(path))


def _stat(path: str) -> dict[str, Any]:
    """Size and time as they were when it was read; nothing for a file that isn't there."""
    try:
        found = os.stat(path)  # noqa: PTH116 - as above
        return {"size": found.st_size, "mtime": found.st_mtime}
    except OSError:
        return {}


def _judge(path: str) -> None:
    """In a copy: a write that leaves what may be written."""
    if not hook.Where.writable or path.startswith(("/dev/", "/proc/")) or len(_denied) >= 50:
        return
    real = os.path.realpath(path)
    if real not in _denied and not any(real == root or real.startswith(root.rstrip("/") + "/") for root in hook.Where.writable):
        _denied.add(real)
        hook.emit("denied", p=real)


def _on_make(args: Any) -> None:
    if type(args[0]) is str and not hook.is_busy() and not os.path.lexists(args[0]):
        _judge(os.path.abspath(args[0]))  # noqa: PTH100 - as above


def _on_remove(args: Any) -> None:
    if type(args[0]) is str and not hook.is_busy() and os.path.lexists(args[0]):
        _judge(os.path.abspath(args[0]))  # noqa: PTH100 - as above


def _on_rename(args: Any) -> None:
    """What was written under another name and then moved is written here."""
    if type(args[1]) is str and not hook.is_busy():
        path = os.path.abspath(args[1])  # noqa: PTH100 - as above
        (_on_write if type(args[0]) is str and args[0] in _written else _judge)(path)


def _reach(host: Any, port: Any) -> None:
    """A host that isn't this machine."""
    host = host.decode("ascii", "replace") if type(host) is bytes else host
    if type(host) is not str or host in ("", "localhost", "::1", "::", "0.0.0.0", os.uname()[1]) or host.startswith(("127.", "localhost.")):
        return
    if (host, port) not in _reached and len(_reached) < 50:
        _reached.add((host, port))
        hook.emit("net", host=host, port=port if type(port) in (int, str) else None)


def _on_connect(args: Any) -> None:
    if type(args[1]) is tuple and len(args[1]) >= 2:  # a unix socket's address is text
        _reach(args[1][0], args[1][1])


LISTENERS: dict[str, Callable[[Any], None]] = {
    "open": _on_open, "os.mkdir": _on_make, "os.remove": _on_remove, "os.rmdir": _on_remove, "os.rename": _on_rename,
    "socket.connect": _on_connect, "socket.getaddrinfo": lambda args: _reach(args[0], args[1]),
}  # fmt: skip


def forked() -> None:
    """A child begins to count anew."""
    _data.clear()
    _told.clear()


def flush() -> None:
    """At the end of a process: the last count of every folder, by its name with a slash behind."""
    for folder, count in list(_data.items()):
        if _told.get(folder) != count:
            _told[folder] = count
            hook.emit("data", p=folder + "/", n=count)
