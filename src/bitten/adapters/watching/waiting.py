"""What a process waits for, in words: by the functions on its stack, else by the system call that it is in. Knows no picture."""

from __future__ import annotations

import platform
import re
from collections.abc import Sequence

from bitten.adapters.watching import proc
from bitten.core.failure import Frame
from bitten.core.odd import COLLECTIVES

_KNOWN = [(re.compile(file), re.compile(function), words) for file, function, words in (
    (r"/torch/distributed/distributed_c10d\.py$", "|".join(COLLECTIVES), ""),
    (r"/torch/distributed/(rendezvous|elastic/rendezvous/.*)\.py$", ".*", "rendezvous with the other ranks"),
    (r"/(multiprocessing/queues|queue)\.py$", "get", "queue.get"),
    (r"/(multiprocessing/queues|queue)\.py$", "put", "queue.put"),
    (r"/multiprocessing/connection\.py$", "wait|poll|_poll|recv|_recv|recv_bytes|accept", "a message of another process"),
    (r"/multiprocessing/(popen_\w+|process)\.py$", "wait|poll|join", "a child process to end"),
    (r"/subprocess\.py$", "wait|_wait|communicate|_communicate|_try_wait", "a child process to end"),
    (r"/multiprocessing/(managers|pool)\.py$", "get|wait|_callmethod", "a result"),
    (r"/concurrent/futures/_base\.py$", "result|wait", "a result"),
    (r"/threading\.py$", "join|_wait_for_tstate_lock|_shutdown", "a thread to end"),
    (r"/threading\.py$", "wait|wait_for|acquire|__enter__", "lock acquire"),
    (r"/multiprocessing/synchronize\.py$", ".*", "lock acquire"),
    (r"/filelock/.*\.py$", "acquire", "a file lock"),
    (r"/(socket|ssl|http/client|urllib/request)\.py$|/(urllib3|httpx|httpcore|requests|aiohttp)/", ".*", "the network"),
    (r"/(selectors|asyncio/base_events)\.py$", ".*", "poll"),
)]  # fmt: skip

_CALLS = {
    "x86_64": {"read": (0, 17, 19), "write": (1, 20), "poll": (7, 23, 232, 270, 271, 281, 441), "lock": (202,), "sleep": (35, 230),
               "a child process to end": (61, 247), "the network": (42, 43, 45, 47, 288, 299), "a file lock": (72, 73)},
    "aarch64": {"read": (63, 65), "write": (64, 66), "poll": (22, 72, 73, 441), "lock": (98,), "sleep": (101, 115),
                "a child process to end": (95, 260), "the network": (202, 203, 207, 212, 242, 243), "a file lock": (25, 32)},
}  # fmt: skip
"""Numbers of the kernel's calls."""
_CHANNELS = (("futex", "lock"), ("hrtimer_nanosleep", "sleep"), ("pipe_read", "read"), ("pipe_write", "write"), ("anon_pipe_read", "read"),
             ("do_wait", "a child process to end"), ("poll_schedule", "poll"), ("do_epoll", "poll"), ("ep_poll", "poll"),
             ("wait_for_partner", "read"), ("do_select", "poll"), ("sk_wait", "the network"), ("inet_", "the network"),
             ("skb_wait", "the network"), ("flock", "a file lock"), ("locks_", "a file lock"))  # fmt: skip
"""Kernel functions, for where the call itself may not be read."""


def waits(stack: Sequence[Frame], pid: int, state: str) -> str:
    """Empty for who runs, or where nothing tells. `stack` is outermost first, `state` the kernel's letter."""
    inner = len(stack) - next((at for at, frame in enumerate(reversed(stack)) if frame.mine), len(stack))
    known = next((words for frame in stack[inner:] if (words := _known(frame))), "")
    return known or ("" if state == "R" else _in_kernel(pid, stack[-1].text if stack else ""))


def _known(frame: Frame) -> str:
    for file, function, words in _KNOWN:
        if file.search(frame.file) and function.fullmatch(frame.function):
            return words or frame.function
    return ""


def _in_kernel(pid: int, text: str) -> str:
    """By the call of the main thread: which descriptor it reads, or whether a lock is its own line's."""
    call = call_of(pid)
    kind = call[0] if call else _by_channel(pid)
    if kind in ("read", "write"):
        return " of ".join(filter(None, [kind, proc.descriptor(pid, call[1]) if call else ""]))
    if kind == "lock":
        return "lock acquire" if "acquire" in text or text.strip().startswith("with ") else "a lock, or a thread of a C library"
    return kind


def call_of(pid: int) -> tuple[str, int] | None:
    """The kind of the main thread's system call and its first argument; None where it runs, or where that may not be read."""
    words = proc.content(f"/proc/{pid}/syscall").split()
    if len(words) < 3 or not words[0].isdigit():
        return None
    number = int(words[0])
    kinds = _CALLS.get(platform.machine(), {})
    return next(((kind, int(words[1], 16)) for kind, numbers in kinds.items() if number in numbers), None)


def _by_channel(pid: int) -> str:
    channel = proc.content(f"/proc/{pid}/wchan").decode("ascii", "replace")
    return next((words for start, words in _CHANNELS if channel.startswith(start)), "")


def for_a_person(pid: int) -> bool:
    """Whether its main thread waits for what somebody types: it reads a terminal, or asks for its first descriptor alone."""
    words = proc.content(f"/proc/{pid}/syscall").split()
    call = call_of(pid)
    if call is None or len(words) < 3:
        return False
    asks_stdin_alone = call[0] == "poll" and call[1] == 1
    descriptor = call[1] if call[0] == "read" else 0 if asks_stdin_alone else -1
    return descriptor >= 0 and proc.descriptor(pid, descriptor).startswith(("/dev/pts/", "/dev/tty"))
