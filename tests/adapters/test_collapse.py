"""What is left of a redrawn text is what a person sees at its end."""

from __future__ import annotations

import io
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitten.adapters.runs.collapse import collapsed

CODES = st.sampled_from([
    "\r", "\b", "\n", "\r\n", "\x1b", "\x1b[", "\x1b[A", "\x1b[2A", "\x1b[B", "\x1b[K", "\x1b[1K", "\x1b[2K", "\x1b[J", "\x1b[2J", "\x1b[H",
    "\x1b[3;7H", "\x1b[999C", "\x1b[5D", "\x1b[31m", "\x1b[0m", "\x1b7", "\x1b8", "\x1b]0;title\x07", "\x1b[?1049h", "\x1b[?1049l",
    "\x1b[9999999999999B", "\x1b[G", "ab", "12", " ",
])  # fmt: skip


@pytest.mark.parametrize(("printed", "seen"), [
    ("0%\r50%\r100%\ndone\n", "100%\ndone\n"),
    ("long line\rshort\n", "shortline\n"),
    ("long line\r\x1b[Kshort\n", "short\n"),
    ("busy |\b/\b-\b\\\bdone\n", "busy done\n"),
    ("\x1b[1;31mError\x1b[0m: \x1b[38;5;12mno\x1b[m\n", "Error: no\n"),
    ("windows\r\nlines\r\n", "windows\nlines\n"),
    ("a: 0\n\rb: 0\x1b[A\ra: 1\n\rb: 1\x1b[A\ra: 2\n\rb: 2\n", "a: 2\nb: 2\n"),
    ("before\none\ntwo\n\x1b[2A\x1b[2KONE\n\x1b[2KTWO\n", "before\nONE\nTWO\n"),
    ("before\none\n\x1b[1A\x1b[Jend\n", "before\nend\n"),
    ("shell\n\x1b[?1049h\x1b[Ha menu\x1b[?1049lleft\n", "shell\nleft\n"),
    ("shell\n\x1b[?1049h\x1b[2;1Hkilled here", "shell\n\n\nkilled here"),
    ("\x1b]0;the title\x07text\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\\n", "textlink\n"),
    ("\r50%\rno newline", "no newline"),
    ("shown and erased\r                \rleft\n", "left\n"),
    ("cut off \x1b[3", "cut off "),
])
def test_what_was_drawn_over_is_gone_and_so_are_colours(printed, seen):
    assert collapsed(printed) == seen


def test_bars_of_tqdm_leave_one_line_each():
    tqdm = pytest.importorskip("tqdm")
    file = io.StringIO()
    how = {"total": 300, "file": file, "mininterval": 0, "ascii": True}
    with tqdm.tqdm(position=0, desc="all", **how) as outer, tqdm.tqdm(position=1, desc="part", **how) as inner:
        for number in range(300):
            outer.update()
            inner.update()
            if number == 150:
                outer.write("half way", file=file)
    lines = [line for line in collapsed(file.getvalue()).splitlines() if line.strip()]
    assert lines[0] == "half way" and {line.split(":")[0] for line in lines[1:]} == {"all", "part"} and len(lines) == 3
    assert all("300/300" in line for line in lines[1:])


@given(st.text())
def test_a_text_that_moves_no_cursor_is_left_as_it_is(text):
    plain = text.translate({ord(each): None for each in "\r\b\x1b"})
    assert collapsed(plain) == plain


@given(st.lists(CODES | st.text(max_size=6), max_size=60).map("".join))
def test_whatever_a_program_prints_it_ends_with_no_code_left_and_not_much_longer(text):
    seen = collapsed(text)
    assert not {"\r", "\b", "\x1b"} & set(seen)
    assert len(seen) <= 2 * len(text) + 100


@given(st.lists(st.text(alphabet="ab#% ", max_size=12), min_size=1, max_size=8))
def test_a_line_drawn_anew_and_again_is_its_pieces_laid_over_each_other(pieces):
    row: list[str] = []
    for piece in pieces:
        row[: len(piece)] = piece
    assert collapsed("\r".join(pieces)).rstrip() == "".join(row).rstrip()


@pytest.mark.parametrize("unit", [
    "a\b", "\ry", "\x1b[K\ry", "\x1b[50;999Hx", "\x1b[2J", "\n\x1b[H\x1b[J", "\x1b7\x1b8", "\x1b]0;", "y\x1b[1K",
    "\x1b[?1049hx\x1b[?1049l", "x" * 90 + "\x1b[2K", "\n\x1b[999Cx",
])  # fmt: skip
def test_time_grows_as_the_text_does(unit):
    """Ten times as much may take thirty times as long on a busy machine, not the hundred of a quadratic one."""
    def least(size):
        text = "x" * size + "\r" + unit * (size // len(unit))
        taken = []
        for _ in range(2):
            began = time.process_time()
            collapsed(text)
            taken.append(time.process_time() - began)
        return min(taken)

    assert least(60_000) < 30 * least(6_000) + 0.1
