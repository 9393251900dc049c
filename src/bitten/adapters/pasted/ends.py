"""How a log says that its command began and ended: shells, make, CI systems, torchrun's table, C's last words. Knows no traceback."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bitten.core.failure import Crash, Frame

from .lines import Line
from .plain import Told

SIGNALS = {"Killed": 9, "Segmentation fault": 11, "Aborted": 6, "Bus error": 7, "Illegal instruction": 4, "Floating point exception": 8,
           "Terminated": 15}
_SIGNAL = re.compile(rf"(?:.{{0,300}}: line \d+: +\d+ |\d+ |make(?:\[\d+\])?: \*\*\* \[.{{1,300}}\] )?({'|'.join(SIGNALS)})"
                     r"(?: \(core dumped\))?(?:$|  +.*)")
_MAKE = re.compile(r"(?:g|re)?make(?:\[\d+\])?: \*\*\* \[(.+)\] Error (\d{1,3})\b")
_EXITS = re.compile(r"(?:##\[error\]|Error: )Process completed with exit code (\d{1,3})\b|ERROR: Job failed: exit code (\d{1,3})\b|"
                    r".*\bexited with (?:exit )?code (\d{1,3})\b|Command exited with non-zero status (\d{1,3})\b|"
                    r"subprocess\.CalledProcessError: .*returned non-zero exit status (\d{1,3})\b")
_START = r"(?:[A-Z_][A-Z0-9_]*=\S+ )*(?:\S+/)?"
_PROGRAMS = r"(?:python[\d.]*|torchrun|accelerate|pytest|deepspeed|srun|mpirun|uv|poetry|make|tox|nox|bash|sh|papermill|jupyter)"
_TYPED = re.compile(r"(?:##\[group\]Run |\$ )((?!actions/|\./\.github)\S.*)")
_ECHOED = re.compile(r"(?:\++ |Run |.{1,80}[$#%❯>] )(" + _START + _PROGRAMS + r" .+|\.{0,2}/\S+.*|\S+\.(?:sh|py)\b.*)")
_BARE = re.compile("(" + _START + r"(?:python[\d.]*|torchrun|accelerate launch|deepspeed|srun|mpirun|uv run|poetry run|papermill|jupyter) "
                   r"(?=.*(?:\.py|\.ipynb)\b|(?:.* )?-[mc] ).+|" + _START + r"pytest (?=-|\S*(?:/|test)).+)")
"""What stands alone on a line, as make echoes it, must look like a command and like no sentence."""
_TERMINATE = re.compile(r"terminate called after throwing an instance of '(.+)'")
_FATAL = re.compile(r"Fatal Python error: (.+)")
_FAULT_FRAME = re.compile(r'\s*File "(.+)", line (\d+) in (.+)')
_RANK = re.compile(r"\s+rank\s+: (\d+) ")
_CODE = re.compile(r"\s+exitcode\s+: (-?\d+) \(pid: (\d+)\)")
_TABLE = "Root Cause (first observed failure):"


@dataclass(frozen=True)
class End:
    """`exit` and `signal` as the log has them, None where it says nothing; `rank` is the first that torchrun saw fail."""

    exit: int | None = None
    signal: int | None = None
    rank: str = ""
    notes: tuple[str, ...] = ()


def end(lines: Sequence[Line]) -> End:
    told = (next(filter(None, found.groups())) for line in lines if "exit" in line.text and (found := _EXITS.match(line.text)))
    exits = [code for code in map(int, told) if code]  # a helper that ended well says nothing of the command
    made = [(found[1], int(found[2])) for line in lines if "*** [" in line.text and (found := _MAKE.match(line.text))]
    signals = [found[1] for line in lines[-200:] if (found := _SIGNAL.match(line.text.strip()))]
    rank, notes = _table([line.text for line in lines])
    notes = (*notes, *(f"make: the recipe of {target} ended with exit {code}" for target, code in made[:1]))
    code = exits[-1] if exits else made[0][1] if made else None
    return End(code, SIGNALS[signals[-1]] if signals and code is None else None, rank, notes)


def _table(texts: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """torchrun's own word on who failed first."""
    at = next((n for n in range(len(texts) - 1, -1, -1) if _TABLE in texts[n]), None)
    if at is None:
        return "", ()
    part = texts[at:at + 8]
    rank = next((found[1] for text in part if (found := _RANK.match(text))), "")
    code = next((f"exit code {found[1]}, pid {found[2]}" for text in part if (found := _CODE.match(text))), "no exit code")
    return rank, (f"torchrun saw rank {rank} fail first ({code})",) if rank else ()


def last_words(lines: Sequence[Line]) -> Iterator[Told]:
    """What C++ and the interpreter itself say when a process dies by a signal; without either, the shell's word."""
    found = [told for at in range(len(lines)) for told in _words(lines, at)]
    yield from found
    shells = [line for line in lines[-200:] if _SIGNAL.match(line.text.strip())]
    for line in shells[-1:] if not found else ():
        name = _SIGNAL.match(line.text.strip())
        yield Told(Crash(name[1] if name else "", ""), line.at, line.source, last=line.at, kind="shell")


def _words(lines: Sequence[Line], at: int) -> Iterator[Told]:
    line = lines[at]
    if not line.text.startswith(("terminate called", "Fatal Python")):
        return
    if thrown := _TERMINATE.match(line.text):
        what = next((each.text.partition("what():")[2].strip() for each in lines[at + 1:at + 3] if "what():" in each.text), "")
        yield Told(Crash(thrown[1], what), line.at, line.source, last=line.at, kind="native")
    elif fatal := _FATAL.match(line.text):
        yield Told(Crash(fatal[1], "", tuple(_stack(lines[at + 1:at + 200]))), line.at, line.source, last=line.at, kind="native")


def _stack(lines: Sequence[Line]) -> list[Frame]:
    """faulthandler's: of the thread that died, innermost first."""
    frames: list[Frame] = []
    inside = False
    for line in lines:
        found = _FAULT_FRAME.match(line.text)
        if inside and not found:
            break
        inside = inside or line.text.startswith(("Current thread", "Stack (most recent call first)"))
        if found and inside:
            frames.insert(0, Frame(found[1], int(found[2]), found[3]))
    return frames


def command(lines: Sequence[Line], before: int) -> str:
    """The last command that the log shows before a line: echoed by a shell, make, or a CI system. Empty where none is."""
    found = ""
    for line in lines:
        if line.at > before:
            break
        if shown := next(filter(None, (form.match(line.text) for form in (_TYPED, _ECHOED, _BARE))), None):
            found = shown[1]
    return found.strip()
