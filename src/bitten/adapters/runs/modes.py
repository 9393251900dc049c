"""Terminal modes of a command: what it sets on the terminal that it writes to holds for the one that its keys come from.

The two are one to a program that runs plainly, and curses sets modes on its output. Limits: output modes are not followed,
and a change is seen at the next output. A command with a terminal of its own needs none of this: there the real one is raw.
"""

from __future__ import annotations

import contextlib
import os
import termios
import tty
from typing import Any

_INPUT, _OUTPUT, _LOCAL, _KEYS = 0, 1, 3, 6
"""Places in what `tcgetattr` returns."""


class Followed:
    """`terminal` is ours, that the command writes to; its keys come from our stdin, where that is a terminal too."""

    def __init__(self, terminal: int) -> None:
        self._terminal, self._has_keys = terminal, os.isatty(0)
        self._begin()
        self._first = self._seen = termios.tcgetattr(terminal)

    def _begin(self) -> None:
        """As the real one is, but that NL is passed on: the real one turns it into CR NL, and would do so twice."""
        mode = termios.tcgetattr(0 if self._has_keys else self._terminal)
        mode[_OUTPUT] &= ~termios.OPOST
        termios.tcsetattr(self._terminal, termios.TCSANOW, mode)

    def follow(self) -> bool:
        """Returns whether there was a change."""
        now = termios.tcgetattr(self._terminal)
        changed = now != self._seen
        if changed:
            self._set(now)
        return changed

    @property
    def takes_single_keys(self) -> bool:
        """Whether the command asked for each key at once, and not for lines."""
        return not self._seen[_LOCAL] & termios.ICANON

    def pause(self) -> None:
        """Before we stop with the command: the shell finds the modes that the command would have left."""
        self.follow()

    def resume(self) -> None:
        """The shell gave back what it found."""

    def end(self) -> None:
        """As it was, should the command have ended without doing so."""
        if self._seen != self._first:
            self._set(self._first)

    def _set(self, wanted: list[Any]) -> None:
        """Change on the real one just what was changed on ours."""
        with contextlib.suppress(termios.error):  # it was hung up: no more keys will come
            if self._has_keys:
                real = termios.tcgetattr(0)
                for word in (_INPUT, _LOCAL):
                    changed = wanted[word] ^ self._seen[word]
                    real[word] = (real[word] & ~changed) | (wanted[word] & changed)
                pairs = zip(wanted[_KEYS], self._seen[_KEYS], real[_KEYS], strict=True)
                real[_KEYS] = [want if want != seen else have for want, seen, have in pairs]
                termios.tcsetattr(0, termios.TCSANOW, real)
        self._seen = wanted


class Raw:
    """The real terminal while the command has one of its own: every key and every byte passes as it is."""

    def __init__(self, terminal: int) -> None:
        self._real = next((fd for fd in (0, 1, 2) if os.isatty(fd)), None)
        mode = termios.tcgetattr(terminal if self._real is None else self._real)
        self._first = mode
        own = list(mode)
        if self._real is None:  # nobody turns NL into CR NL here, so the command's bytes stay what they are
            own[_OUTPUT] &= ~termios.OPOST
        termios.tcsetattr(terminal, termios.TCSANOW, own)
        self.resume()

    takes_single_keys = True

    def follow(self) -> bool:
        """Nothing to follow: the command sets its own terminal."""
        return False

    def pause(self) -> None:
        if self._real is not None:
            with contextlib.suppress(termios.error):  # it was hung up
                termios.tcsetattr(self._real, termios.TCSADRAIN, self._first)

    def resume(self) -> None:
        if self._real is not None:
            with contextlib.suppress(termios.error):  # as above
                tty.setraw(self._real, termios.TCSADRAIN)

    end = pause
