"""Write the training text: a harbour keeper's diary, spelled out from the small grammar below.

    python data/make_corpus.py

The seed is fixed, so the text is the same every time. Its length is a whole number of training windows
plus one character: the last window needs a next character to predict too.
"""

import hashlib
import json
import random
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parent
WINDOW, WINDOWS, SEED = 128, 448, 7

GRAMMAR = {
    "entry": [
        "{morning} {work} {boat} {evening}",
        "{morning} {boat} {person} {work}",
        "{person} {morning} {work} {thought}",
        "{morning} {work} {work} {person} {evening}",
        "{boat} {work} {thought} {evening}",
    ],
    "morning": [
        "The {wind} wind came round before dawn and {sea}.",
        "At {hour} the fog stood so thick that {unseen}.",
        "A clear morning, with {sky} over the {place}.",
        "Rain from {hour} until noon, and {sea}.",
    ],
    "work": [
        "I {mended} the {thing} and found {found}.",
        "We carried {count} {goods} up to the {place} before the tide turned.",
        "The {thing} by the {place} wants {cure}, as it did last {season}.",
        "I wrote the {count} arrivals into the book and {mended} the {thing}.",
    ],
    "boat": [
        "The {name} came in at {hour} with {cargo}, {state}.",
        "No word of the {name}, which left for the {place} at {hour}.",
        "The {name} and the {name} lay side by side at the {place}, both {state}.",
    ],
    "person": [
        "{who} asked again about the {thing}, and I said that {answer}.",
        "{who} brought {cargo} and stayed until {hour}.",
        "I met {who} near the {place}; we spoke of {topic}.",
    ],
    "evening": ["Lamp lit at {hour}.", "Lamp lit at {hour}, and the glass still falling.", "The evening was quiet, {sky} and no swell."],
    "thought": [
        "One should count {goods} twice, once by day and once by {light}.",
        "A {thing} is never lost; it waits where nobody looks, under the {goods}.",
        "What the {wind} wind takes from the {place} it brings back in {season}.",
    ],
    "wind": ["north", "south", "west", "east", "cold", "soft"],
    "sea": ["the sea lay flat as slate", "the swell broke over the steps", "the water stood a foot above the mark"],
    "unseen": ["the pier ended in nothing", "I rang the bell for an hour", "the gulls came down to walk"],
    "sky": ["high cloud", "a thin moon", "pale light", "swallows"],
    "place": ["harbour", "north pier", "long wall", "slipway", "customs house", "boat shed", "lower light"],
    "hour": ["four", "five", "half past six", "seven", "a quarter to nine", "eleven"],
    "mended": ["mended", "oiled", "painted", "took down", "measured"],
    "thing": ["lantern", "winch", "tide board", "bell rope", "ladder", "great chain", "weather glass"],
    "found": ["it sound", "rust in every joint", "a nest behind it", "that two bolts were missing", "nothing to complain of"],
    "count": ["three", "six", "eight", "nine", "twelve", "forty"],
    "goods": ["barrels", "crates of glass", "sacks of salt", "coils of rope", "baskets", "planks"],
    "cure": ["paint", "a new pin", "grease", "patience", "two men and a dry day"],
    "season": ["spring", "summer", "autumn", "winter"],
    "name": ["Patience", "Blue Heron", "Margaret", "Second Thought", "Kittiwake", "Old Promise"],
    "cargo": ["herring", "coal and candles", "letters", "wet timber", "a piano under sailcloth", "apples"],
    "state": ["low in the water", "much knocked about", "in good order", "short of a mast", "singing"],
    "who": ["the pilot", "Anna from the ropewalk", "the schoolmaster", "old Tobias", "the customs man", "my sister"],
    "answer": ["it would hold another year", "the council must pay", "I had not seen it", "it was a matter of tides"],
    "topic": ["the new breakwater", "the price of rope", "eels", "her brother in the islands", "nothing much"],
    "light": ["lamplight", "moonlight", "touch"],
}


def expand(symbol: str, rng: random.Random) -> str:
    """One of the symbol's phrases, every {symbol} in it expanded in turn."""
    return re.sub(r"{(\w+)}", lambda match: expand(match[1], rng), rng.choice(GRAMMAR[symbol]))


def entries(rng: random.Random) -> Iterator[str]:
    while True:
        text = expand("entry", rng)
        sentences = re.sub(r"(^|\. )([a-z])", lambda match: match[1] + match[2].upper(), text)
        yield textwrap.fill(sentences, width=80) + "\n\n"


def corpus(chars: int) -> str:
    text, diary = "", entries(random.Random(SEED))
    while len(text) < chars:
        text += next(diary)
    return text[:chars]


def manifest(file: str, data: bytes) -> dict[str, str | int]:
    return {
        "file": file,
        "bytes": len(data),
        "lines": data.count(b"\n"),
        "sha256": hashlib.sha256(data).hexdigest(),
        "licence": "CC0-1.0, written for this project by data/make_corpus.py",
    }


def main() -> None:
    data = corpus(WINDOW * WINDOWS + 1).encode("ascii")
    (HERE / "corpus.txt").write_bytes(data)
    (HERE / "manifest.json").write_text(json.dumps(manifest("corpus.txt", data), indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
