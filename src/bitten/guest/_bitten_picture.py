"""A rank that answers when it is asked from outside where it stands: its last collectives, its main thread's stack. Asks nothing.

One thread waits on a FIFO in the spool, from when the process group is there: by then torch has threads of its own. It is
none that `threading` knows of, takes no signal, and is not inherited by a fork.
"""

from __future__ import annotations

import _thread
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]

ENTRIES = 16
FRAMES = 60
_waiting: set[int] = set()


def attach(module: Any) -> None:
    """To `torch.distributed.distributed_c10d`: what it calls once a process group is there begins our thread."""
    plain = getattr(module, "_update_default_pg", None)
    if plain is None:
        return

    def _update_default_pg(group: Any) -> Any:
        answer = plain(group)
        if group is not None:
            begin()
        return answer

    module._update_default_pg = _update_default_pg


def begin() -> None:
    """Once a process; never raises."""
    try:
        if os.getpid() not in _waiting and hook.Log.held is None:
            _waiting.add(os.getpid())
            path = f"{hook.Where.spool}/ask{os.getpid()}"
            os.mkfifo(path, 0o600)
            _thread.start_new_thread(_wait, (path,))
    except Exception as error:
        hook.emit("hookerr", where="picture", err=type(error).__name__)


def _wait(path: str) -> None:
    """Answer each question; the spool's end is ours."""
    hook.set_busy(True)
    try:
        signal = sys.modules.get("_signal") or __import__("_signal")
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        while True:
            fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                while os.read(fd, 512):
                    pass
            finally:
                os.close(fd)
            _answer()
    except Exception:  # the spool is gone, and with it who asked
        return


def _answer() -> None:
    said = f"{hook.Where.spool}/said{os.getpid()}"
    told = {"rank": _rank(), "recorder": _recorder(), "stack": _stack()}
    fd = os.open(said + ".new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        os.write(fd, repr(told).encode("utf-8", "backslashreplace"))
    finally:
        os.close(fd)
    os.rename(said + ".new", said)  # noqa: PTH104 - pathlib imports half the library


def _rank() -> int | None:
    try:
        return int(sys.modules["torch.distributed.distributed_c10d"].get_rank())
    except Exception:
        return None


def _recorder() -> dict[str, Any] | None:
    """The Flight Recorder's last entries, and which ranks each group has; None where torch is too old, or json was never loaded."""
    try:
        told = sys.modules["json"].loads(sys.modules["torch._C._distributed_c10d"]._dump_fr_trace_json())
        kept = ("collective_seq_id", "p2p_seq_id", "is_p2p", "profiling_name", "input_sizes", "retired", "state", "process_group")
        entries = [{name: entry.get(name) for name in kept} for entry in (told.get("entries") or ())[-ENTRIES:]]
        groups = {str(name): str(group.get("ranks", ""))[:200] for name, group in list((told.get("pg_config") or {}).items())[:64]}
        return {"entries": entries, "groups": groups}
    except Exception:
        return None


def _stack() -> list[list[Any]]:
    """The main thread's frames, innermost first."""
    try:
        frame = sys._current_frames().get(sys.modules["threading"].main_thread().ident)
        found: list[list[Any]] = []
        while frame is not None and len(found) < FRAMES:
            found.append([frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name])
            frame = frame.f_back
        return found
    except Exception:
        return []
