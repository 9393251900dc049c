"""What pytest says of tests that failed, in its own sections and short summary, in any of its styles. Knows no plain traceback."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from bitten.core.failure import Crash, Frame

from .lines import HEAD, Line
from .plain import Told, tracebacks

_SECTION = re.compile(r"=+ (.+) =+$")
_TITLE = re.compile(r"_{3,} (.+) _{3,}$")
_PLACE = re.compile(r"([^\s:][^:]{0,400}):(\d+):(?: in (.+)| ([A-Za-z_][\w.]*)(?:: (.*))?)?$")
_RAISED = re.compile(r"((?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*): ?(.*)$")
_DEF = re.compile(r"\s*(?:async )?def (\w+)\(")
_SUMMARY = re.compile(r"(FAILED|ERROR) (\S+)(?: - (.*))?$")
_LINK = re.compile(r"(?:During handling of the above|The above exception was)\b")
_OUTPUT = re.compile(r"-+ Captured .+ -+$")
_LINES = 400
"""Lines of one test's section: a longer one has printed much, and its exception stands before that."""


def failing(lines: Sequence[Line]) -> Iterator[Told]:
    """One for each test that failed; from the short summary where there are no sections."""
    found = [told for title, part in _sections(lines) for told in _entry(title, part)]
    yield from found or _summary(lines)


def _sections(lines: Sequence[Line]) -> Iterator[tuple[str, list[Line]]]:
    inside, title, part = False, "", list[Line]()
    for line in lines:
        section = _SECTION.match(line.text) if line.text[:1] == "=" else None
        entry = _TITLE.match(line.text) if line.text[:1] == "_" else None
        if section or entry:
            if inside and part:
                yield title, part
            inside = section[1] in ("FAILURES", "ERRORS") if section else inside
            title, part = entry[1] if entry else "", []
        elif inside and len(part) < _LINES:
            part.append(line)
    if inside and part:
        yield title, part


def _entry(title: str, part: list[Line]) -> Iterator[Told]:
    name = re.sub(r"^ERROR at \w+ of ", "", title)
    shown = [line for line in part if not _OUTPUT.match(line.text)]
    if any(HEAD in line.text for line in shown):
        last = list(tracebacks(shown))[-1:]
        told = [(last[0].crash, last[0].chain)] if last else []
    elif title:
        told = list(_linked(name, shown))
    else:
        told = [(crash, ()) for line in shown if (crash := _one_line(line.text))]
    for crash, chain in told:
        process = f"test {name}" if name else ""
        yield Told(replace(crash, process=process), part[0].at, part[0].source, chain, last=part[-1].at, kind="test")


def _linked(name: str, part: list[Line]) -> Iterator[tuple[Crash, tuple[Crash, ...]]]:
    links: list[Crash] = []
    block: list[str] = []
    for text in [*(line.text for line in part), "During handling of the above"]:
        if _LINK.match(text.strip()):
            links += filter(None, [_crash(name, block)])
            block = []
        else:
            block.append(text)
    if links:
        yield links[-1], tuple(replace(each, role="context") for each in reversed(links[:-1]))


def _one_line(text: str) -> Crash | None:
    """As `--tb=line` has it."""
    place = _PLACE.match(text)
    return Crash(place[4], place[5] or "", (Frame(place[1], int(place[2]), "<module>"),)) if place and place[4] else None


def _crash(name: str, block: list[str]) -> Crash | None:
    """Short style names the place before its code, long style after it."""
    frames: list[Frame] = []
    function, code, raised = name.partition("[")[0].rpartition(".")[2], "", ""
    for text in block:
        place = _PLACE.match(text.rstrip())
        if place and place[3]:
            frames.append(Frame(place[1], int(place[2]), place[3]))
        elif place:
            frames.append(Frame(place[1], int(place[2]), function, code))
            raised, code = place[4] or raised, ""
        elif text.startswith(">"):
            code = text[1:].strip()
        elif found := _DEF.match(text):
            function = found[1]
        elif frames and not frames[-1].text and text.startswith("    ") and text.strip():
            frames[-1] = replace(frames[-1], text=text.strip())
    said = _said(block)
    if not said and not frames:
        return None
    kind, message = _kind(said, raised)
    return Crash(kind, message, tuple(frames))


def _said(block: list[str]) -> str:
    """What stands behind the E, its own indentation kept."""
    lines = [line[1:].rstrip() for line in block if line == "E" or line.startswith("E  ")]
    indent = min((len(line) - len(line.lstrip()) for line in lines if line), default=0)
    return "\n".join(line[indent:] for line in lines)


def _kind(said: str, raised: str) -> tuple[str, str]:
    first, _, rest = said.partition("\n")
    found = _RAISED.match(first)
    if found and (not raised or found[1].rpartition(".")[2] == raised.rpartition(".")[2]) and not first.startswith("assert "):
        return found[1], f"{found[2]}\n{rest}" if rest else found[2]
    return raised or ("AssertionError" if first.startswith("assert") else first.split(":")[0] or "Failed"), said


def _summary(lines: Sequence[Line]) -> Iterator[Told]:
    for line in lines:
        if not line.text.startswith(("FAILED ", "ERROR ")):
            continue
        found = _SUMMARY.match(line.text)
        if found and (".py" in found[2]):
            kind, message = _kind(found[3] or "", "")
            crash = Crash(kind, message, process=f"test {found[2].rpartition('::')[2]}")
            yield Told(crash, line.at, line.source, last=line.at, kind="test")
