"""Markdown by its real structure, byte for byte: where its own headings and lists stand, by line. Knows no document of ours."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.token import Token

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_PARSER = MarkdownIt("commonmark").disable("inline")


@dataclass(frozen=True)
class Heading:
    """Lines `start` to `end` hold it; one inside a quote, a list or a code block is no heading here."""

    level: int
    title: str
    start: int
    end: int


def lines_of(text: str) -> list[str]:
    """Lines with their ends, split as Markdown does: no other character ends a line."""
    return _LINE.findall(text)


def line_ending(text: str) -> str:
    """The one that the text uses most."""
    counted = Counter(re.findall(r"\r\n|\r|\n", text)).most_common(1)
    return counted[0][0] if counted else "\n"


def parse(text: str) -> list[Token]:
    return _PARSER.parse(text)


def headings(tokens: list[Token]) -> list[Heading]:
    return [Heading(int(token.tag[1:]), following.content, *token.map)
            for token, following in pairwise(tokens)
            if token.type == "heading_open" and token.level == 0 and token.map]
