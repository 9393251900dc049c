"""What a command's end means, in sentences: exit codes, signals, and what the counters say of memory. Pure: it is given all readings.

Only what was measured or printed is asserted; where a code has several causes it says "may".
"""

from __future__ import annotations

import re
import signal
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from bitten.adapters.watching import memory
from bitten.adapters.watching.watch import Seen, Watched
from bitten.core.failure import Run
from bitten.core.prediction import Facts

MIB = 1 << 20
SHM_FULL = 16 * MIB
"""Free bytes of /dev/shm below which a batch of a worker hardly fits."""

SIGNALS = {
    "SIGINT": "^C was typed, or a program interrupted it",
    "SIGQUIT": "^\\ was typed, or a supervisor wanted a core dump",
    "SIGILL": "an instruction that this CPU does not have (a wheel may be built for another one), or a deliberate trap",
    "SIGTRAP": "a breakpoint or a deliberate trap of a C library",
    "SIGABRT": "a C or C++ library gave up: an uncaught C++ exception, an assertion, a damaged heap, or a watchdog such as NCCL's",
    "SIGBUS": "memory that was mapped could not be had: /dev/shm may be full, or a mapped file was cut short",
    "SIGFPE": "an integer division by zero, or an overflow, in C code",
    "SIGKILL": "nothing in a program does that to itself: the kernel does when memory runs out, else a supervisor or a person",
    "SIGSEGV": "C code touched memory that is not its own; the Python stack says who called it",
    "SIGPIPE": "nobody read its output any more",
    "SIGALRM": "an alarm that it had set itself: a time limit inside the program",
    "SIGTERM": "it was asked to end: torchrun asks the other ranks when one fails, Slurm at the time limit, CI at its own, or a person",
    "SIGUSR1": "it has no handler for it; Slurm and submitit send it shortly before the time limit",
    "SIGUSR2": "it has no handler for it; Slurm, submitit and Lightning use it before a requeue",
    "SIGHUP": "the terminal or the ssh connection was closed",
    "SIGXCPU": "the CPU time that it may use is used up (ulimit -t)",
    "SIGXFSZ": "a file became larger than it may (ulimit -f)",
    "SIGSYS": "a system call that a sandbox forbids",
}
"""What each signal means when it ends a command."""

CODES = {
    2: "what was typed was not understood (argparse and most tools), or a recipe of make failed",
    64: "used wrongly (sysexits)", 69: "a service is not there (sysexits)", 70: "a fault of the program's own (sysexits)",
    77: "skipped, by the convention of automake; or no permission (sysexits)",
    124: "timeout(1) ended it",
    125: "timeout(1), docker or git bisect itself failed",
    126: "the program is there, but can't be executed",
    127: "the program was not found",
    255: "exit(-1); or ssh, whose connection broke",
}  # fmt: skip
"""What an exit code means, where its program says nothing else."""

PYTEST = {1: "tests failed", 2: "interrupted, or the tests could not be collected", 3: "a fault inside pytest or a plugin",
          4: "pytest was called wrongly, or a conftest failed", 5: "no test was collected"}


@dataclass(frozen=True)
class Ending:
    words: tuple[str, ...] = ()
    facts: Facts = field(default_factory=dict)


def read(run: Run, watched: Watched, printed: str) -> Ending:
    """What this end means, the most certain first. `printed` is its output, redacted."""
    words = (*_of_memory(run, watched), *_of_shm(run, watched, printed), *_of_the_end(run, watched, printed, bool(killed(watched))))
    return Ending(words, _facts(watched))


def _facts(watched: Watched) -> Facts:
    if not watched.curve:
        return {}
    limit = memory.tightest(watched.before)
    victim = _victim(watched) if killed(watched) else None
    told = {
        "peak_rss_mib": round(max(size for _, size in watched.curve) / MIB),
        "oom_kills": killed(watched),
        "oom_victim": _called(victim) if victim else None,
        "memory_limit_mib": round(limit.limit / MIB) if limit else None,
        "shm_free_mib": round(watched.least_shm / MIB, 1) if watched.least_shm >= 0 else None,
        "shm_size_mib": round(watched.after.shm[1] / MIB, 1) if watched.after.shm[1] >= 0 else None,
    }
    return {name: value for name, value in told.items() if value is not None}


# ---------------------------------------------------------------------------------------------- memory


def killed(watched: Watched) -> int:
    """Processes that the kernel killed for memory in the cgroups that the command's own were in."""
    return sum(_risen(watched, path) for path in watched.own)


def _risen(watched: Watched, path: str) -> int:
    before, after = watched.before.groups.get(path), watched.after.groups.get(path)
    return max(after.kills - before.kills, 0) if before and after and before.kills >= 0 else 0


def _of_memory(run: Run, watched: Watched) -> Iterator[str]:
    if not killed(watched):
        yield from _of_others(run, watched)
        return
    group = watched.before.groups[next(path for path in watched.own if _risen(watched, path))]
    limit = f", whose limit is {_size(group.limit)}" if group.limit >= 0 else ""
    yield f"Out of memory: the kernel killed {_processes(killed(watched))} in the command's cgroup {_short(group.path)}{limit}."
    if victim := _victim(watched):
        yield f"{_called(victim)} (pid {victim.pid}) had the most memory of those that ended, {_size(victim.peak_rss)}."
    yield _curve(watched)


def _of_others(run: Run, watched: Watched) -> Iterator[str]:
    """A kill around the command may have been one of its processes; where there was none, a SIGKILL was somebody's."""
    around = max((path for path in watched.before.groups if _risen(watched, path)), key=len, default="")
    count = _risen(watched, around) if around else max(watched.after.kills - watched.before.kills, 0)
    if count:
        where = f"in the cgroup around the command's, {_short(around)}" if around else "on this machine"
        yield f"Meanwhile the kernel killed {_processes(count)} for want of memory {where}: it may have been one of this command's."
    elif watched.curve and _signal(run) == signal.SIGKILL:
        yield f"The kernel's counters show no kill for want of memory. {_curve(watched)}"


def _processes(count: int) -> str:
    return "a process" if count == 1 else f"{count} processes"


def _short(path: str) -> str:
    return path.removeprefix("/sys/fs/cgroup") or "/"


def _victim(watched: Watched) -> Seen | None:
    """The one with the most memory, those first that were gone, or had lost it, before the last look: the kernel chooses alike."""
    last = max((seen.last for seen in watched.processes), default=0.0)
    gone = [seen for seen in watched.processes if seen.last < last or seen.rss < seen.peak_rss / 2]
    largest = max(watched.processes, key=lambda seen: seen.peak_rss, default=None)
    lost = max(gone, key=lambda seen: seen.peak_rss, default=None)
    return lost if lost and largest and lost.peak_rss > largest.peak_rss / 2 else largest


def _curve(watched: Watched) -> str:
    """The memory over time in five points, the last one and the highest among them."""
    curve = watched.curve
    places = sorted({0, len(curve) // 3, 2 * len(curve) // 3, max(range(len(curve)), key=lambda at: curve[at][1]), len(curve) - 1})
    told = ", ".join(f"{_size(curve[at][1])} at {curve[at][0]:.1f} s" for at in places)
    return f"Memory of all its processes: {told}."


def _size(size: int) -> str:
    return f"{size / MIB:,.0f} MiB" if size < 10 << 30 else f"{size / (1 << 30):,.1f} GiB"


def _called(seen: Seen) -> str:
    words = [word for word in seen.argv[1:] if not word.startswith("-")]
    script = words[0].rpartition("/")[2] if seen.is_python and words and "\n" not in words[0] and len(words[0]) < 80 else ""
    return " ".join(filter(None, [seen.name, script]))


# ---------------------------------------------------------------------------------------------- shared memory

_SHM = re.compile(r"unable to (?:write to|mmap|open shared memory) .*?/torch_\S*|insufficient shared memory|out of shared memory"
                  r"|is killed by signal: Bus error|Bus error", re.I)


def _of_shm(run: Run, watched: Watched, printed: str) -> Iterator[str]:
    free, size = watched.least_shm, watched.after.shm[1]
    signs = _SHM.search(printed) is not None or _signal(run) == signal.SIGBUS
    if size <= 0 or not (signs or (0 <= free < min(SHM_FULL, size // 50))):
        return
    room = f"{_size(free)} of {_size(size)} were free at the least"
    if 0 <= free < SHM_FULL:
        yield f"/dev/shm was full, or nearly: {room}. DataLoader workers pass their batches through it."
    else:
        yield f"/dev/shm may have been full for a moment: {room} when it was looked at. DataLoader workers pass their batches through it."


# ---------------------------------------------------------------------------------------------- codes and signals


def _signal(run: Run) -> int | None:
    """That of the command, or of what a shell or make ran for it, as far as the code tells."""
    if run.signal:
        return run.signal
    return run.exit - 128 if run.exit and _name(run.exit - 128) else None


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return ""


def _of_the_end(run: Run, watched: Watched, printed: str, explained: bool) -> Iterator[str]:
    """`explained`: the counters have said already who killed."""
    if explained and _killed_by(run, printed) == signal.SIGKILL:
        return
    if run.signal:
        yield f"{_name(run.signal) or f'Signal {run.signal}'} ended it: {meaning(run.signal)}."
        yield from _printed(run.signal, printed)
    elif run.exit is not None:
        yield from _of_code(run, watched, printed)


def _killed_by(run: Run, printed: str) -> int | None:
    recipe = _recipe(printed)
    if run.signal or recipe is None:
        return _signal(run)
    return recipe[1] - 128 if recipe[1] else _by_words(recipe[2])


def meaning(number: int) -> str:
    return SIGNALS.get(_name(number), "no handler of the program's caught it")


def _by_words(words: str) -> int | None:
    """The signal that a shell or make means by `Killed` or `Segmentation fault (core dumped)`."""
    named = re.sub(r" \(core dumped\)$", "", words)
    return next((each for each in signal.Signals if signal.strsignal(each) == named), None)


def _of_code(run: Run, watched: Watched, printed: str) -> Iterator[str]:
    code = run.exit or 0
    if (inner := _recipe(printed)) and _runs(run, watched, "make", "gmake"):
        yield from _of_recipe(*inner, printed)
    elif _runs(run, watched, "pytest", "py.test") and code in PYTEST:
        yield from [f"pytest's exit {code}: {PYTEST[code]}."] if code > 1 else []
    elif code == 124 and (limit := _time_limit(run, watched)):
        yield f"timeout(1) ended it: its {limit} were over."
    elif name := _name(code - 128):
        yield f"Exit {code} is a shell's word for a process that {name} ended: {meaning(code - 128)}."
        yield from _printed(code - 128, printed)
    elif code in CODES:
        yield f"Exit {code} means by custom: {CODES[code]}."


_MAKE = re.compile(r"^\S*make(?:\[\d+\])?: \*\*\* \[(?:[^\]]*?: )?([^\]:]+)\] (?:Error (\d+)|(.+))$", re.M)


def _recipe(printed: str) -> tuple[str, int | None, str] | None:
    """The innermost recipe that failed: its target, and its code or what the shell called its signal."""
    found = _MAKE.search(printed)
    return (found[1], int(found[2]) if found[2] else None, found[3] or "") if found else None


def _of_recipe(target: str, code: int | None, words: str, printed: str) -> Iterator[str]:
    """make's own code is 2 whatever its recipe did."""
    if code is None:
        number = _by_words(words)
        yield f"The recipe of `{target}` ended: {words}" + (f" ({_name(number)}: {meaning(number)})." if number else ".")
        yield from _printed(number, printed) if number else ()
    elif name := _name(code - 128):
        yield f"The recipe of `{target}` ended with {code}, a shell's word for {name}: {meaning(code - 128)}."
        yield from _printed(code - 128, printed)
    elif code != 1:
        yield f"The recipe of `{target}` ended with {code}" + (f", by custom: {CODES[code]}." if code in CODES else ".")


def _runs(run: Run, watched: Watched, *names: str) -> bool:
    """Whether the command itself is one of these, also as `python -m NAME`."""
    argvs: list[Sequence[str]] = [run.command.argv, *(seen.argv for seen in watched.processes[:1])]
    words = {word.rpartition("/")[2] for argv in argvs for word in argv[:3]}
    return bool(words & set(names))


def _time_limit(run: Run, watched: Watched) -> str:
    """How long timeout(1) was told to wait: by what was typed, else by what ran."""
    for argv in (run.command.argv, *(seen.argv for seen in watched.processes)):
        if argv and argv[0].rpartition("/")[2] == "timeout":
            found = next((word for word in argv[1:] if re.fullmatch(r"\d+(\.\d+)?[smhd]?", word)), "")
            return found if found[-1:].isalpha() else f"{found} s" if found else "limit"
    return ""


_SAID: dict[int, Sequence[tuple[str, str]]] = {
    signal.SIGABRT: [(r"terminate called", "a C++ exception that nothing caught"), (r"[Aa]ssertion .*failed", "an assertion"),
                     (r"free\(\)|malloc\(\)|corrupted (size|double)", "a damaged heap"),
                     (r"[Ww]atchdog caught collective operation timeout", "NCCL's watchdog: a collective took too long")],
    signal.SIGTERM: [(r"DUE TO TIME LIMIT", "Slurm's time limit"), (r"slurm.* CANCELLED AT", "Slurm cancelled it"),
                     (r"Sending process \d+ closing signal SIGTERM", "torchrun asked the others to end, once one had failed")],
    signal.SIGKILL: [(r"DUE TO TIME LIMIT", "Slurm's time limit"), (r"oom.kill", "memory ran out")],
}  # fmt: skip
"""Words that the output may have, and what they tell."""


def _printed(number: int, printed: str) -> Iterable[str]:
    """The line of the output that tells which of a signal's causes it was."""
    for pattern, words in _SAID.get(number, ()):
        line = next((line for line in printed.splitlines() if re.search(pattern, line[:2000])), "")
        if line:
            yield f"The output says: {words}: `{line.strip()[:200]}`."
            return
