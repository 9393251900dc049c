"""A JSON text with members and items put in or taken out, every other byte as it was. Knows only JSON; the text has to be lawful."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_BLANK = re.compile(r"[ \t\r\n]*")
_decode = json.JSONDecoder().raw_decode


@dataclass(frozen=True)
class Span:
    """A member or an item: `start` is where it begins, its name included, `value` where its value does."""

    start: int
    value: int
    end: int
    name: str = ""


@dataclass(frozen=True)
class Container:
    """An object or array, from its opening bracket to its closing one."""

    start: int
    end: int
    parts: tuple[Span, ...]

    def part(self, name: str) -> Span | None:
        return next((each for each in self.parts if each.name == name), None)


def container(text: str, at: int = 0) -> Container:
    start = at = _after(text, at)
    parts, named = [], text[start] == "{"
    at = _after(text, start + 1)
    while text[at] not in "}]":
        begin, name = at, ""
        if named:
            name, at = _decode(text, at)
            at = _after(text, _after(text, at) + 1)
        _, end = _decode(text, at)
        parts.append(Span(begin, at, end, name))
        at = _after(text, end)
        at = _after(text, at + 1) if text[at] == "," else at
    return Container(start, at, tuple(parts))


def added(text: str, path: Sequence[str], items: Sequence[Any]) -> str:
    """The items at the end of the array at that path, which is made where there is none."""
    at = container(text)
    for depth, name in enumerate(path):
        found = at.part(name)
        if found is None:
            value: Any = list(items)
            for inner in reversed(path[depth + 1:]):
                value = {inner: value}
            return _inserted(text, at, f"{json.dumps(name)}: ", value, depth + 1)
        at = container(text, found.value)
    for each in items:
        text = _inserted(text, at, "", each, len(path) + 1)
        at = container(text, at.start)
    return text


def removed(text: str, path: Sequence[str], goes: Callable[[Any], bool]) -> str:
    """Without those items of the array at that path; an array or object that this leaves empty goes too."""
    chain = [container(text)]
    for name in path:
        found = chain[-1].part(name)
        if found is None:
            return text
        chain.append(container(text, found.value))
    mine = [n for n, each in enumerate(chain[-1].parts) if goes(_decode(text, each.value)[0])]
    for n in reversed(mine):
        text = _without(text, container(text, chain[-1].start), n)
    for depth in range(len(path) - 1, -1, -1) if mine else ():
        outer = container(text, chain[depth].start)
        n = next(n for n, each in enumerate(outer.parts) if each.name == path[depth])
        if container(text, outer.parts[n].value).parts:
            break
        text = _without(text, outer, n)
    return text


def members(text: str, path: Sequence[str]) -> Mapping[str, Any]:
    told = json.loads(text)
    for name in path:
        told = told.get(name, {})
    return dict(told)


def _after(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at


def _inserted(text: str, at: Container, label: str, value: Any, depth: int) -> str:
    """Laid out as its neighbours are: on lines of its own, or on the one line."""
    is_flat = bool(at.parts) and "\n" not in text[at.start:at.end]
    step, ending = _step(text), "\r\n" if "\r\n" in text else "\n"
    told = label + json.dumps(value, ensure_ascii=False, indent=None if is_flat else step)
    if is_flat:
        return f"{text[:at.parts[-1].end]}, {told}{text[at.parts[-1].end:]}"
    lines = ending.join(step * depth + line for line in told.split("\n"))
    if at.parts:
        return f"{text[:at.parts[-1].end]},{ending}{lines}{text[at.parts[-1].end:]}"
    return f"{text[:at.start + 1]}{ending}{lines}{ending}{step * (depth - 1)}{text[at.end:]}"


def _step(text: str) -> str:
    found = re.search(r"^([ \t]+)\S", text, re.M)
    return found[1] if found else "  "


def _without(text: str, at: Container, n: int) -> str:
    part = at.parts[n]
    if n > 0:
        return text[:at.parts[n - 1].end] + text[part.end:]
    if len(at.parts) > 1:
        return text[:part.start] + text[at.parts[1].start:]
    return text[:at.start + 1] + text[at.end:]
