"""Plays a session of the real Claude Code with our plugin in it, in tmux, with a scripted model; its screens become a page of the docs.

usage: python tools/ui.py [--write PAGE | --check PAGE]

What stands on the screens is real; only the model's words and the person's typing are scripted. `--write` puts the scenes, times and
places scrubbed, between two marks of PAGE; `--check` fails when the words of a scene there do not stand on the screen that was just played.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections.abc import Iterable, Iterator
from itertools import dropwhile, takewhile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # the story is the tests' own

from pages import put
from tests.claude import inside

MARKS = ("<!-- screens: made by `python tools/ui.py --write` -->", "<!-- /screens -->")
TYPED = "❯"
SCENE = re.compile(r"^```text\n(.*?)^```$", re.M | re.S)
RULE = re.compile(r"─{20,}")
SPUN = re.compile(r"^[✻✢✳✶✽·*] .*(· done|…)")
"""How long it took, in a word of chance."""
HINT = re.compile(r"focus-events|· /effort")
SCRUBS = (
    (re.compile(r"\b\d+\.\d s\b"), "0.1 s"),
    (re.compile(r"/\S*/python\d?(\.\d+)?(?= )"), "python"),
    (re.compile(r"[ \t]+$", re.M), ""),
)


def scenes(played: Iterable[tuple[inside.Scene, str]], root: Path) -> Iterator[str]:
    """Each scene as a part of the page: what it shows, what is typed, and what is new on the screen."""
    before: list[str] = []
    for scene, screen in played:
        now = body(screen)
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(before, now, strict=False)))
        new, before = now[same:], now
        yield f"**{scene.says}** You type `{scene.types}`:\n\n```text\n{scrubbed(new, root)}\n```"


def lost(page: str, played: Iterable[tuple[inside.Scene, str]], root: Path) -> Iterator[str]:
    """Scenes of the page whose words did not stand on their screen. Where a line wraps hangs on how long a path was before it was
    scrubbed, and now and then Claude Code draws all its screen a second time below the first: neither is a difference of ours."""
    told = SCENE.findall(page)
    for number, (_, screen) in enumerate(played):
        if number >= len(told) or scrub(words(told[number])) not in scrub(words(scrubbed(body(screen), root))):
            yield screen


def words(text: str) -> str:
    return " ".join(text.split())


def body(screen: str) -> list[str]:
    """The conversation: all above the box where a person types."""
    lines = screen.split("\n")
    rules = [number for number, line in enumerate(lines) if RULE.match(line)]
    kept = lines[:rules[-2]] if len(rules) > 1 else lines
    kept = list(dropwhile(lambda line: not line.startswith(TYPED), kept))  # above it stands the banner, whose figure moves
    kept = [line for line in kept if not SPUN.match(line) and not HINT.search(line)]
    while kept and not kept[-1].strip():
        kept.pop()
    return kept


def scrubbed(lines: list[str], root: Path) -> str:
    text = scrub("\n".join(lines).replace(str(root), "~/windows"))
    return re.sub(r"\n{3,}", "\n\n", text).strip("\n")


def scrub(text: str) -> str:
    for pattern, instead in SCRUBS:
        text = pattern.sub(instead, text)
    return text


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--write", type=Path)
    options.add_argument("--check", type=Path)
    given = options.parse_args()
    if why := inside.missing():
        raise SystemExit(why)
    place = tempfile.TemporaryDirectory(prefix="bitten-ui-", ignore_cleanup_errors=True)
    with place as folder, inside.session(Path(folder)) as (stage, played):
        if given.check:
            strange = list(lost(given.check.read_text("utf-8"), played, stage.project.root))
            print(*strange, sep="\n\n", file=sys.stderr)
            return int(bool(strange))
        told = f"Played with Claude Code v{inside.version()}.\n\n" + "\n\n".join(scenes(played, stage.project.root))
    if given.write:
        return put(told, given.write, MARKS)
    print(told)
    return 0


if __name__ == "__main__":
    sys.exit(main())
