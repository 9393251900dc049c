"""debug.md is drawn anew after each step, and two of its sections are the person's: their words come through every drawing.

What a person writes elsewhere comes through as well: under headings of their own where it stands, as lines among ours at
the end. Knows neither what the sections say nor where the file is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from .markdown import Heading, headings, lines_of, parse

PERSONS = ("What I expected", "What I've already tried")
ELSEWHERE = "What you wrote elsewhere"


@dataclass
class Part:
    """A section. `own` are the headings that a person put below it, with all that follows them up to the next of ours."""

    name: str
    heading: str
    body: str
    own: str = ""


@dataclass
class Merge:
    """What is on disk against what was drawn last and what is drawn now."""

    drawn: list[Part]
    on_disk: list[Part]
    last_drawn: Mapping[str, str]
    changed: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        now = {part.name: part.body for part in self.drawn}
        for part in self.on_disk:
            theirs = _demoted(part.body + part.own).strip()
            drawn = [each[part.name] for each in (now, self.last_drawn) if part.name in each]
            if part.name in PERSONS and not any(_same(theirs, each) for each in drawn):
                self.changed[part.name] = theirs

    def document(self) -> str:
        return "".join(_apart([*self._sections(), *self._left_over(), *self._elsewhere()]))

    def _sections(self) -> Iterator[str]:
        """Our sections as drawn, the person's where they changed, and their own headings where they stood."""
        disk = {part.name: part for part in self.on_disk}
        for part in self.drawn:
            theirs = disk.get(part.name)
            is_theirs = theirs is not None and part.name in self.changed
            yield part.heading + (theirs.body + theirs.own if theirs and is_theirs else part.body)
            if theirs and part.name not in PERSONS:
                yield theirs.own

    def _left_over(self) -> Iterator[str]:
        """What belongs to a section that is drawn no more."""
        for part in self.on_disk:
            if all(part.name != each.name for each in self.drawn):
                yield part.heading + part.body + part.own if part.name in self.changed else part.own

    def _elsewhere(self) -> Iterator[str]:
        """Lines that a person put among ours."""
        last = {"": self.drawn[0].body, **self.last_drawn}
        strays = [line for part in self.on_disk if part.name not in PERSONS for line in _added(part.body, last.get(part.name))]
        if strays:
            yield f"## {ELSEWHERE}\n\n" + "".join(strays)


def sections(text: str) -> dict[str, str]:
    """The bodies of the level-2 sections by name, blank lines around them dropped; of two with one name the first."""
    found: dict[str, str] = {}
    for part in _split(text):
        found.setdefault(part.name, part.body.strip())
    found.pop("", None)
    return found


def merge(drawn: str, on_disk: str | None, last_drawn: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """The document to write, and the person's sections that differ from both drawings: each becomes a note.

    `last_drawn` are the `sections` of what was drawn last; of those it lacks, nobody can tell what was put among our lines.
    Headings of level 1 and 2 in a note are lowered to 3, so that the next drawing does not take them for ours.
    """
    if on_disk is None:
        return drawn, {}
    ours = _split(drawn)
    merged = Merge(ours, _gathered(_split(on_disk, {*last_drawn, *(part.name for part in ours)})), last_drawn)
    return merged.document(), merged.changed


def _split(text: str, known: Collection[str] = ()) -> list[Part]:
    """The text cut at its headings of level 1 and 2; joined together again it is the text.

    A known heading that a block never closed has swallowed is found by its line. What is before the first level-2 heading
    is a part without a name, so is one below a later heading of level 1.
    """
    lines = lines_of(text)
    found = _boundaries(lines, known)
    while found and found[0].level == 1:
        del found[0]
    ends = [*(heading.start for heading in found), len(lines)]
    parts = [Part("", "", "".join(lines[:ends[0]]))]
    for heading, end in zip(found, ends[1:], strict=True):
        name = heading.title if heading.level == 2 else ""
        parts.append(Part(name, "".join(lines[heading.start:heading.end]), "".join(lines[heading.end:end])))
    return parts if not known else _named(parts, known)


def _boundaries(lines: list[str], known: Collection[str]) -> list[Heading]:
    """Headings of level 1 and 2. Where one of ours is missing, its line ends whatever block swallowed it."""
    start, found, seen = 0, list[Heading](), set[str]()
    while True:
        rest = [heading for heading in _headings(lines, start) if heading.level <= 2]
        missing = {f"## {name}": name for name in {*known} - seen - {heading.title for heading in rest}}
        at = next((n for n, line in enumerate(lines[start:], start) if line.rstrip() in missing), None)
        if at is None:
            return found + rest
        found += [*(heading for heading in rest if heading.start < at), Heading(2, missing[lines[at].rstrip()], at, at + 1)]
        seen.update(heading.title for heading in found)
        start = at + 1


def _headings(lines: list[str], start: int) -> list[Heading]:
    return [Heading(each.level, each.title, each.start + start, each.end + start) for each in headings(parse("".join(lines[start:])))]


def _named(parts: list[Part], known: Collection[str]) -> list[Part]:
    """Parts whose heading isn't one of ours lose their name; of two with one name the second is not ours."""
    seen: set[str] = set()
    for part in parts:
        part.name = part.name if part.name in known and part.name not in seen else ""
        seen.add(part.name)
    return parts


def _gathered(parts: list[Part]) -> list[Part]:
    """Each part without a name goes to the one before it."""
    ours = parts[:1]
    for part in parts[1:]:
        if part.name:
            ours.append(part)
        else:
            ours[-1].own += part.heading + part.body
    return ours


def _demoted(text: str) -> str:
    lines = lines_of(text)
    for heading in headings(parse(text)):
        if heading.level <= 2:
            end = lines[heading.end - 1][len(lines[heading.end - 1].rstrip("\r\n")):]
            lines[heading.start:heading.end] = [f"### {heading.title}{end}", *[""] * (heading.end - heading.start - 1)]
    return "".join(lines)


def _same(theirs: str, drawn: str) -> bool:
    return _lines(theirs) == _lines(_demoted(drawn))


def _lines(text: str) -> list[str]:
    """Ends of lines and blank lines around apart: editors change them unasked."""
    return [line.rstrip() for line in lines_of(text.strip())]


def _added(body: str, last: str | None) -> Iterator[str]:
    left = Counter(_lines(last if last is not None else body))
    for line in lines_of(body):
        text = line.rstrip()
        if text and left[text] <= 0:
            yield text + "\n"
        left[text] -= 1


def _apart(chunks: list[str]) -> Iterator[str]:
    """A blank line between chunks."""
    chunks = [chunk for chunk in chunks if chunk]
    for chunk, following in zip(chunks, [*chunks[1:], ""], strict=True):
        yield chunk
        if following and not chunk.endswith(("\n\n", "\r\n\r\n")):
            yield "\n" if chunk.endswith("\n") else "\n\n"
