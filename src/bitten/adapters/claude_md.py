"""The lessons in CLAUDE.md: one more item under "Things that have bitten us", and not another byte changed. Knows no case."""

from __future__ import annotations

import re
from collections.abc import Iterator

from markdown_it.token import Token

from bitten.core.trouble import BadInput

from .markdown import headings, line_ending, lines_of, parse

TITLE = "Things that have bitten us"
_BOM = "\ufeff"
_MARKER = re.compile(r"( {0,3})[-*+](?:[ \t]+|$)")


def insert(text: bytes | None, entry: str) -> bytes:
    """The file with the entry as the last item of the section's list; section and list are made where there are none.

    All else stays byte for byte: the new lines go in at one place, with the file's own line ending.
    Raises: BadInput `lesson-file-not-text`, `lesson-has-no-place`, when an unclosed block would swallow the entry.
    """
    old, item = _decoded(text), _entry_lines(entry)
    lines = lines_of(old)
    section = Section(old)
    at, new = _placed(section, lines, item)
    result = "".join((*lines[:at], *_fitted(new, lines, at, line_ending(old)), *lines[at:]))
    if Section(result).entries() != [*section.entries(), "\n".join(item)]:
        raise BadInput("lesson-has-no-place", "The lesson can't be put into the file.",
                       f"A block near line {at} is never closed, or the entry can't be an item of a list.", "mend it, then:  bitten learn")
    return result.encode("utf-8", "surrogateescape")


def entries(text: bytes) -> list[str]:
    """The items of the section's own lists, without their markers."""
    return Section(_decoded(text)).entries()


class Section:
    """The heading's own part of a text: up to the next heading of any level. `title_end` is None where there is no such heading."""

    def __init__(self, text: str) -> None:
        text = text.removeprefix(_BOM)  # a byte order mark would hide a heading on the first line
        self._lines, self._tokens = lines_of(text), parse(text)
        found = headings(self._tokens)
        title = next((n for n, heading in enumerate(found) if _words(heading.title) == _words(TITLE)), None)
        self.title_end = None if title is None else found[title].end
        self.end = len(self._lines) if title is None or title + 1 == len(found) else found[title + 1].start

    @property
    def lists(self) -> list[Token]:
        if self.title_end is None:
            return []
        return [token for token in self._at(0, "bullet_list_open") if self.title_end <= _start(token) < self.end]

    def entries(self) -> list[str]:
        return [_item(self._lines[slice(*item.map or ())]) for bullets in self.lists for item in self._inside(bullets, 1, "list_item_open")]

    def is_loose(self, bullets: Token) -> bool:
        """Whether blank lines stand between the items."""
        return any(not paragraph.hidden for paragraph in self._inside(bullets, 2, "paragraph_open"))

    def _inside(self, around: Token, level: int, kind: str) -> Iterator[Token]:
        start, end = around.map or (0, 0)
        return (token for token in self._at(level, kind) if start <= _start(token) < end)

    def _at(self, level: int, kind: str) -> Iterator[Token]:
        return (token for token in self._tokens if token.type == kind and token.level == level)


def _start(token: Token) -> int:
    return token.map[0] if token.map else -1


def _words(title: str) -> list[str]:
    """Letter case, emphasis and punctuation apart."""
    return re.findall(r"[^\W_]+", title.casefold())


def _decoded(text: bytes | None) -> str:
    if text and (b"\0" in text or text.startswith((b"\xff\xfe", b"\xfe\xff"))):
        raise BadInput("lesson-file-not-text", "The lessons' file is no UTF-8 text.", way="convert it, then:  bitten learn")
    return (text or b"").decode("utf-8", "surrogateescape")


def _entry_lines(entry: str) -> list[str]:
    """As people write them: the marker may be there or not, and the lines after the first be indented or not."""
    first, *rest = [line.rstrip() for line in lines_of(entry.strip())] or [""]
    is_indented = all(line.startswith("  ") for line in rest if line)
    return [re.sub(r"^[-*+]\s+", "", first), *(line[2:] if is_indented else line for line in rest)]


def _item(lines: list[str]) -> str:
    """An item's text: the marker off its first line, as much indentation off the others."""
    found = _MARKER.match(lines[0])
    width = found.end() if found else 0
    rest = (re.sub(f"^ {{0,{width}}}", "", line) for line in lines[1:])
    return "\n".join(line.rstrip() for line in (lines[0][width:], *rest)).strip()


def _placed(section: Section, lines: list[str], item: list[str]) -> tuple[int, list[str]]:
    """The line before which it goes, and the new lines."""
    if section.title_end is None:
        blank = [""] if lines and lines[-1].strip(f" \t\r\n{_BOM}") else []
        return len(lines), [*blank, f"## {TITLE}", "", *_as_item(item, "", "-")]
    if not section.lists:
        return _after_words(lines, section.title_end, section.end), ["", *_as_item(item, "", "-")]
    last = section.lists[-1]
    start, end = last.map or (0, 0)
    blank = [""] if section.is_loose(last) else []
    indent = lines[start][:len(lines[start]) - len(lines[start].lstrip(" "))]
    return _after_words(lines, start, end), [*blank, *_as_item(item, indent, last.markup)]


def _as_item(item: list[str], indent: str, marker: str) -> list[str]:
    first, *rest = item
    return [f"{indent}{marker} {first}", *(f"{indent}  {line}" if line else "" for line in rest)]


def _after_words(lines: list[str], start: int, end: int) -> int:
    while end > start and not lines[end - 1].strip():
        end -= 1
    return end


def _fitted(new: list[str], lines: list[str], at: int, ending: str) -> Iterator[str]:
    """The new lines with their ends: a blank one before other text, and no end at all where the file had none."""
    is_bare = at == len(lines) > 0 and not lines[-1].endswith(("\r", "\n"))
    if is_bare:
        yield ending
    yield ending.join(new)
    if not is_bare:
        yield ending
    if at < len(lines) and lines[at].strip():
        yield ending
