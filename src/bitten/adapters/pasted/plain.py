"""CPython's own tracebacks in the lines of one process: chains, groups, threads, workers, SyntaxErrors. Judges no role among several."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from bitten.core.failure import Crash, Frame

from .lines import HEAD, Line

MESSAGE = 60
"""Lines of a message, or up to the sentence that links it with the next exception."""
FRAMES = 200
JUNK = 8
"""Lines of another process in between, after which a traceback counts as cut off."""

_FRAME = re.compile(r'(\s*)(?:> )?File "(.+)", line (\d+)(?:, in (.+))?$')  # loguru points at the one that caught it
_TYPE = re.compile(r"(\s*)((?:[A-Za-z_][\w]*\.|<locals>\.)*[A-Za-z_]\w*(?:\(\w+\))?)(?:: ?(.*))?$")  # `RayTaskError(ValueError)`
_NAMED = re.compile(r"[A-Z_]|.*\.|(?:error|timeout|herror|gaierror)$")
_MARKS = re.compile(r"\s*[~^][~^ ]*$|\s*\.\.\.<\d+ lines>\.\.\.$")
_REPEATED = re.compile(r"\s*\[Previous line repeated (\d+) more times?\]")
_CAUSE = "The above exception was the direct cause of the following exception:"
_CONTEXT = "During handling of the above exception, another exception occurred:"
_GROUP_PART = re.compile(r"\s*\+[-+]+(?: \d+ -+)?$|\s*\+-+ \.\.\. -+$")
_GROUP_LINE = re.compile(r"\s+\|( ?)(.*)$")
_SYNTAX = ("SyntaxError", "IndentationError", "TabError")
_ENDS = re.compile(
    r'"""$|[=_*-]{10,}|\[?(?:INFO|ERROR|WARNING|DEBUG|rank)\b|[WEIF]\d{4} |(?:g|re)?make(?:\[\d+\])?: |##\[|'
    r"Error: Process completed|wandb: |Exception (?:ignored )?in |Process \S+:$|\d+%\||\S+ exited with code|srun: |"
    r"Segmentation fault|Killed$|Aborted|terminate called|(?:FAILED|ERROR) \S+::|-- Process \d+ terminated"
)
_BEFORE = (
    (re.compile(r"Exception in thread (.+?)(?: \(.*\))?:$"), "thread {}"),
    (re.compile(r"Process (\S+):$"), "{}"),
    (re.compile(r"-- Process (\d+) terminated with the following error:$"), "spawned process {}"),
    (re.compile(r"(?:ERROR|FAIL): (\S+ \(\S+\))$"), "test {}"),
    (re.compile(r".{0,200}\bray::(\S+ \(pid=\d+)"), "{})"),
)
_RAY = "ray::"
_IGNORED = re.compile(r"Exception ignored (?:in|while)\b")
_WORKER = re.compile(r"Caught [\w.]+ in (DataLoader worker) process (\d+)\.")


@dataclass(frozen=True)
class Told:
    """One exception as it was printed, its chain nearest first, and the line that it begins on.

    `sent`: another process printed it for the one that failed. `repeats`: it is that other process's own, and tells nothing new.
    """

    crash: Crash
    at: int
    source: str = ""
    chain: tuple[Crash, ...] = ()
    ignored: bool = False
    sent: bool = False
    repeats: bool = False
    last: int = 0
    kind: str = "traceback"


def tracebacks(lines: Sequence[Line]) -> Iterator[Told]:
    """Every exception in one process's lines, in order; those that are linked are one, by its last."""
    texts, at, began = [line.text for line in lines], 0, -1
    links: list[tuple[Crash, str]] = []
    while at < len(texts):
        found = _one(texts, at)
        if found is None:
            at += 1
            continue
        crash, after, link, members = found
        began = at if began < 0 else began
        links.append((crash, link))
        if not link:
            yield _told(lines, began, after, links, members)
            links, began = [], -1
        at = after
    if links:  # cut off before what the last of them led to
        yield _told(lines, began, len(lines), links, ())


def _told(lines: Sequence[Line], at: int, after: int, links: list[tuple[Crash, str]], members: tuple[Crash, ...]) -> Told:
    before = [line.text for line in lines[max(0, at - 3):at]]
    process = next((words for text in reversed(before) if (words := _process(text))), "")
    *others, (crash, _) = [(replace(each, process=process), role) for each, role in links]
    chain = (*(replace(each, role=role) for each, role in reversed(others)), *members)
    sent = "Original " + HEAD in lines[at].text or process.startswith("spawned") or any(_RAY in text for text in before[-1:])
    ignored = any(map(_IGNORED.match, before[-1:]))
    last = lines[min(after, len(lines)) - 1].at
    return Told(crash, lines[at].at, lines[at].source, chain, ignored=ignored, sent=sent, last=last,
                kind="test" if process.startswith("test ") else "traceback")


def _process(text: str) -> str:
    return next((form.format(found[1]) for pattern, form in _BEFORE if (found := pattern.match(text))), "")


def worker(message: str) -> str:
    """Whom a DataLoader's own exception tells of."""
    found = _WORKER.match(message)
    return f"{found[1]} {found[2]}" if found else ""


_Found = tuple[Crash, int, str, tuple[Crash, ...]]


def _one(texts: Sequence[str], at: int) -> _Found | None:
    """The exception that begins on this line: it, where it ends, how it is linked to the next, and a group's members."""
    text = texts[at]
    if "+ Exception Group " + HEAD in text:
        return _group(texts, at)
    if HEAD + ":" in text:
        return _body(texts, at + 1)
    if text.lstrip().startswith('File "') and (_is_syntax(texts, at) or (at and _RAY in texts[at - 1])):
        return _body(texts, at)
    return None


def _is_syntax(texts: Sequence[str], at: int) -> bool:
    """A program that can't be compiled has no traceback, only its place."""
    return _FRAME.match(texts[at]) is not None and any(each.startswith(_SYNTAX) for each in texts[at + 1:at + 5])


def _body(texts: Sequence[str], at: int) -> _Found | None:
    """Frames, then the line with the type. None when it breaks off before."""
    frames, at, indent = _frames(texts, at)
    found = _named(texts[at]) if at < len(texts) else None
    if found is None or (frames and len(found[1]) >= max(indent, 1)):
        return None if not frames else (Crash("(cut off)", "", tuple(frames)), at, "", ())
    message, after, link = _message(texts, at, found[3] or "")
    return Crash(found[2], message, tuple(frames)), after, link, ()


def _frames(texts: Sequence[str], at: int) -> tuple[list[Frame], int, int]:
    """Outermost first, the line after them, and how far they are indented."""
    frames: list[Frame] = []
    indent, junk = 0, 0
    while at < len(texts) and junk <= JUNK:
        text = texts[at]
        if frame := _FRAME.match(text):
            indent, junk = len(frame[1]), 0
            frames.append(Frame(frame[2], int(frame[3]), (frame[4] or "<module>").strip()))
        elif repeated := _REPEATED.match(text):
            frames.append(Frame("…", 0, f"{repeated[1]} frames left out"))
        elif not text.strip() and _goes_on(texts, at + 1):
            pass
        elif not text.strip() or HEAD in text or (junk := _other(texts, at, text, indent, junk)) < 0:
            break
        elif frames and not frames[-1].text and not _MARKS.match(text) and _indent(text) > indent:
            frames[-1] = replace(frames[-1], text=text.strip())
        at += 1
    return frames[:FRAMES], at, indent


def _goes_on(texts: Sequence[str], at: int) -> bool:
    """loguru sets its frames apart by blank lines."""
    return at < len(texts) and (_FRAME.match(texts[at]) is not None or (bool(_named(texts[at])) and not texts[at][0].isspace()))


def _named(text: str) -> re.Match[str] | None:
    """The line that names the type."""
    found = _TYPE.match(text)
    return found if found and _NAMED.match(found[2]) else None


def typed(texts: Sequence[str], at: int) -> tuple[str, str, int] | None:
    """Type and message that stand on a line, and how many lines they take."""
    found = _named(texts[at]) if at < len(texts) else None
    if found is None:
        return None
    message, after, _ = _message(texts, at, found[3] or "")
    return found[2], message, after - at


def _other(texts: Sequence[str], at: int, text: str, indent: int, junk: int) -> int:
    """-1 at the line that names the type; else how many lines in a row are nobody's."""
    if _indent(text) > indent or _MARKS.match(text):
        return junk
    is_type = _named(text) is not None and (_indent(text) < indent or not indent)
    return -1 if is_type and (_RAY in text or not any(map(_FRAME.match, texts[at + 1:at + 2]))) else junk + 1


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())


def _message(texts: Sequence[str], at: int, first: str) -> tuple[str, int, str]:
    """What follows the type: all of it up to the sentence that links; else up to a blank line, or to somebody else's words."""
    kept, end = [first], at + 1
    for after in range(at + 1, min(at + 1 + MESSAGE, len(texts))):
        text = texts[after].strip()
        if text in (_CAUSE, _CONTEXT):
            return _joined(kept), after + 1, "cause" if text == _CAUSE else "context"
        if _ENDS.match(text):
            break
        if HEAD in text or _is_syntax(texts, after) or (_RAY in texts[after - 1] and _FRAME.match(texts[after])):
            break
        kept.append(texts[after])
    else:
        if at + 1 + MESSAGE < len(texts):  # it prints on and on: that is no message
            return _joined([first, *_indented(kept[1:])]), end, ""
    link = _remote(texts, at + len(kept))
    blank = next((n for n, line in enumerate(kept) if n and not line.strip()), len(kept))
    return _joined(kept[:blank]), link[0] or at + blank, link[1]


def _remote(texts: Sequence[str], at: int) -> tuple[int, str]:
    """A pool quotes its worker's traceback, and then links to its own."""
    if texts[at:at + 1] == ['"""'] and [each.strip() for each in texts[at + 1:at + 3]] == ["", _CAUSE]:
        return at + 3, "remote"
    return 0, ""


def _indented(lines: list[str]) -> Iterator[str]:
    for line in lines:
        if not line.startswith((" ", "\t")):
            return
        yield line


def _joined(lines: Sequence[str]) -> str:
    return "\n".join(lines).rstrip()


# ---------------------------------------------------------------------------------------------- groups


def _group(texts: Sequence[str], at: int) -> _Found | None:
    """Its parts stand between rules of dashes, each with a margin: the first is the group, the others its members."""
    parts: list[list[str]] = [[texts[at].replace("+ ", "  ")]]
    end = at + 1
    while end < len(texts) and texts[end].strip():
        line = _GROUP_LINE.match(texts[end])
        if _GROUP_PART.match(texts[end]):
            parts.append([])
        elif line:
            parts[-1].append(line[2])
        else:
            break
        end += 1
    group = _body(parts[0], 1)
    if group is None:
        return None
    members = [crash for part in parts[1:] for crash in _members(part)]
    link = next((role for role, words in (("cause", _CAUSE), ("context", _CONTEXT))
                 if [each.strip() for each in texts[end:end + 2]] == ["", words]), "")
    return group[0], end + 2 * bool(link), link, tuple(replace(each, role="cause") for each in members)


def _members(part: list[str]) -> Iterator[Crash]:
    """A member with frames has its own head; one that was never raised has its type alone."""
    if any(HEAD in line for line in part):
        for told in tracebacks([Line(n, "", _outdented(line)) for n, line in enumerate(part)]):
            yield from (told.crash, *told.chain)
    elif found := next(filter(None, map(_TYPE.match, part[:1])), None):
        yield Crash(found[2], _joined([found[3] or "", *part[1:]]))


def _outdented(line: str) -> str:
    """A nested group's own head keeps its sign: it is read as the traceback that it also is."""
    return line.replace("+ Exception Group ", "") if HEAD in line else line
