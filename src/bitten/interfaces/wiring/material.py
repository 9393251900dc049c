"""What a prompt needs from disk beside its case: lessons, playbooks' words, texts in scope, output. Has no rule of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from bitten.adapters import claude_md
from bitten.adapters.markdown import headings, lines_of, parse
from bitten.core.trouble import BadInput
from bitten.interfaces.contents import Material, woken

from .house import House
from .open_case import OpenCase

ADVICE = "What to tell an agent"
MOST = 1 << 20
"""Bytes of a file that are read: of a check's output the last ones, of all else the first."""


def material(house: House, case: OpenCase) -> Material:
    """All of it; what is not there, or can't be read, is left out."""
    return Material(case.document, tuple(_lessons(house)), tuple(_playbook_words(house, case)), dict(_sources(house, case)),
                    dict(_outputs(case)), house.settings.lessons)


def _lessons(house: House) -> list[str]:
    with suppress(BadInput):  # it is no text
        return claude_md.entries(_bytes(house.root / house.settings.lessons))
    return []


def _playbook_words(house: House, case: OpenCase) -> Iterator[str]:
    for name in woken(case.case):
        folder = house.knowledge.folders.get(name.replace("-", "_"))
        if folder and (words := _section(_text(folder / "README.md"), ADVICE)):
            yield f"{name}: {words}"


def _section(text: str, title: str) -> str:
    """The words below a heading, up to the next one, as one paragraph."""
    found, lines = headings(parse(text)), lines_of(text)
    at = next((number for number, each in enumerate(found) if each.title.strip() == title), None)
    if at is None:
        return ""
    end = found[at + 1].start if at + 1 < len(found) else len(lines)
    return " ".join(" ".join(lines[found[at].end:end]).split())


def _sources(house: House, case: OpenCase) -> Iterator[tuple[str, str]]:
    """The files of the agreed scope, its test among them."""
    scope = case.case.scope
    for path in dict.fromkeys(part.split(":")[0] for part in (*scope.parts, scope.test)) if scope else ():
        if text := _text(house.root / path):
            yield path, text


def _outputs(case: OpenCase) -> Iterator[tuple[str, str]]:
    for each in case.case.hypotheses:
        found = case.case.latest(each)
        if found and found.output and (text := _text(case.folder.path / found.output / "output", last=True).strip()):
            yield each.id, text


def _text(file: Path, *, last: bool = False) -> str:
    return _bytes(file, last=last).decode("utf-8", "replace")


def _bytes(file: Path, *, last: bool = False) -> bytes:
    """Nothing of what is no regular file: a pipe would never end."""
    with suppress(OSError):
        if file.is_file():
            with file.open("rb") as opened:
                opened.seek(max(0, file.stat().st_size - MOST) if last else 0)
                return opened.read(MOST)
    return b""
