"""What a terminal would show at the end of a text: redrawn lines as they stood last, colours gone. Knows no progress bar by name.

Own code, since pyte 0.8.2, the terminal emulator there is, took 5-7 s a MB here, and a tape holds 5 MiB. Limits: a line is never
wrapped, every character is one column wide, and insertions of characters and lines are not followed.
"""

from __future__ import annotations

import re
from collections.abc import Callable

ROWS = 50
"""Of the screen that a program may move about in; what has left it at the top stays as it is."""
WIDEST = 1000
"""Columns that a cursor can be sent to."""
_COLOUR = re.compile(r"\x1b\[[0-9;:]{0,64}m")
_MOVES = re.compile(r"[\r\b\x1b]")
_TOKEN = re.compile(
    r"(?P<text>[^\r\b\x1b]+)|(?P<back>\r+|\x08+)"
    r"|\x1b\[(?P<numbers>[0-?]{0,64})[ -/]{0,8}(?P<final>[@-~])"
    r"|\x1b(?P<saving>[78])"
    r"|\x1b\[[0-?]{0,64}|\x1b[\]P^_X][^\x07\x1b]{0,500}(?:\x07|\x1b\\)?|\x1b[ -/]{0,4}[0-Z`-~]?|\x1b"
)


def collapsed(text: str) -> str:
    """A text that moves no cursor comes back as it is. Takes time and space in proportion to the text, whatever it holds."""
    if not _MOVES.search(text):
        return text
    screen = _Screen(len(text))
    text = _COLOUR.sub("", text)
    for number, line in enumerate(text.split("\n")):
        if number:
            screen.new_line()
        screen.show(line)
    return screen.seen()


class _Screen:
    """Rows are strings until something is written over them, and lists of characters from then on.

    `slack` is how many blanks may be made where a cursor was sent beyond what is there: a few bytes can ask for a thousand.
    """

    def __init__(self, slack: int) -> None:
        self.rows: list[str | list[str]] = [""]
        self.row = self.column = 0
        self.slack = slack
        self.kept = (0, 0)
        self.other: tuple[list[str | list[str]], int, int] | None = None

    def seen(self) -> str:
        """Where a program left its second screen open, as a killed one does, the first is told before it."""
        rows = [*self.other[0], *self.rows] if self.other else self.rows
        return "\n".join(row if isinstance(row, str) else "".join(row).rstrip() for row in rows)

    def show(self, line: str) -> None:
        if not _MOVES.search(line):
            self.write(line)
        elif "\x1b" in line or "\b" in line:
            for token in _TOKEN.finditer(line):
                self._obey(token)
        else:
            self._redraw(line)

    def new_line(self) -> None:
        self.row, self.column = self.row + 1, 0
        if self.row == len(self.rows):
            self.rows.append("")

    def write(self, text: str) -> None:
        row = self.rows[self.row]
        if not row and not self.column:
            self.rows[self.row] = text
        elif text:
            self._over(self._opened(), text)
        self.column += len(text)

    def _redraw(self, line: str) -> None:
        """Each piece is written over the start of the one before: what lies below shows only beyond its end."""
        first, *pieces = line.split("\r")
        self.write(first)
        if not pieces:
            return
        shown = ""
        for piece in reversed(pieces):
            shown += piece[len(shown):]
        self.column = 0
        self.write(shown)
        self.column = len(pieces[-1])

    def _obey(self, token: re.Match[str]) -> None:
        text, back, numbers, final, saving = token.groups()
        if text is not None:
            self.write(text)
        elif back is not None:
            self.column = 0 if back[0] == "\r" else max(0, self.column - len(back))
        elif final is not None and (order := _ORDERS.get(final)) is not None:
            order(self, numbers)
        elif saving is not None:
            self._keep() if saving == "7" else self._return()

    def _opened(self) -> list[str]:
        row = self.rows[self.row]
        if isinstance(row, str):
            row = self.rows[self.row] = list(row)
        return row

    def _over(self, row: list[str], text: str) -> None:
        if self.column > len(row):
            blanks = min(self.column - len(row), self.slack)
            self.slack -= blanks
            row += " " * blanks
            self.column = len(row)
        row[self.column:self.column + len(text)] = text

    def _go(self, row: int, column: int) -> None:
        top = max(0, len(self.rows) - ROWS)
        self.row, self.column = min(max(row, 0), top + ROWS - 1), min(max(column, 0), WIDEST)
        while self.row >= len(self.rows):
            self.rows.append("")

    def _up(self, numbers: str) -> None:
        self._go(self.row - _first(numbers), self.column)

    def _down(self, numbers: str) -> None:
        self._go(min(self.row + _first(numbers), len(self.rows) - 1), self.column)

    def _right(self, numbers: str) -> None:
        self._go(self.row, self.column + _first(numbers))

    def _left(self, numbers: str) -> None:
        self._go(self.row, self.column - _first(numbers))

    def _to_column(self, numbers: str) -> None:
        self._go(self.row, _first(numbers) - 1)

    def _up_to_start(self, numbers: str) -> None:
        self._go(self.row - _first(numbers), 0)

    def _down_to_start(self, numbers: str) -> None:
        self._go(min(self.row + _first(numbers), len(self.rows) - 1), 0)

    def _to(self, numbers: str) -> None:
        row, _, column = numbers.partition(";")
        self._go(max(0, len(self.rows) - ROWS) + _first(row) - 1, _first(column) - 1)

    def _keep(self, _numbers: str = "") -> None:
        self.kept = (self.row, self.column)

    def _return(self, _numbers: str = "") -> None:
        self._go(*self.kept)

    def _erase_in_line(self, numbers: str) -> None:
        row = self._opened()
        if numbers == "2" or (numbers == "1" and self.column + 1 >= len(row)):
            row.clear()
        elif numbers == "1" and self.column < self.slack:
            self.slack -= self.column + 1
            row[:self.column + 1] = " " * (self.column + 1)
        elif numbers != "1":
            del row[self.column:]

    def _erase(self, numbers: str) -> None:
        """A whole screen starts anew at its top; lines that had left it stay."""
        if numbers in ("2", "3"):
            del self.rows[max(0, len(self.rows) - ROWS):]
            self.rows.append("")
            self.row = len(self.rows) - 1
        elif numbers in ("", "0"):
            self._erase_in_line("")
            del self.rows[self.row + 1:]

    def _switch(self, numbers: str) -> None:
        if numbers in ("?1049", "?47", "?1047") and self.other is None:
            self.other = (self.rows, self.row, self.column)
            self.rows, self.row, self.column = [""], 0, 0

    def _switch_back(self, numbers: str) -> None:
        if numbers in ("?1049", "?47", "?1047") and self.other is not None:
            self.rows, self.row, self.column = self.other
            self.other = None


def _first(numbers: str) -> int:
    """How far: once, where nothing is said."""
    number = numbers.partition(";")[0][:6]
    return max(1, int(number)) if number.isascii() and number.isdigit() else 1


_ORDERS: dict[str, Callable[[_Screen, str], None]] = {
    "A": _Screen._up, "B": _Screen._down, "C": _Screen._right, "D": _Screen._left, "E": _Screen._down_to_start, "F": _Screen._up_to_start,
    "G": _Screen._to_column, "H": _Screen._to, "f": _Screen._to, "J": _Screen._erase, "K": _Screen._erase_in_line,
    "s": _Screen._keep, "u": _Screen._return, "h": _Screen._switch, "l": _Screen._switch_back,
}  # fmt: skip
"""By the last character of a control sequence; colours and all else move nothing."""
