"""Which commands of `bitten` a model may run: those that look, propose and measure. What confirms, gives up or commits is a person's."""

from __future__ import annotations

import os
import re
import sys

from .bash import Refused, Word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from .reading import Reading


class Verb:
    """Flags, options with the form of their value, and the form of each operand."""

    def __init__(self, flags: str = "", options: str = "", number: str = r"\d+", operand: str = "", most: int = 99) -> None:
        self.flags, self.options = frozenset(flags.split()), frozenset(options.split())
        self.number, self.operand, self.most = number, operand, most

    def refuses(self, words: Sequence[str]) -> str:
        """The first word that is not let through."""
        rest, operands = list(words), 0
        while rest:
            word = rest.pop(0)
            name, joined, value = word.partition("=")
            if word in ("--help", "-h") or word in self.flags:
                continue
            if name in self.options:
                value = value if joined else rest.pop(0) if rest else ""
                if not re.fullmatch(self.number, value, re.S):
                    return f"{name} {value}"
                continue
            operands += 1
            if not self.operand or word.startswith("-") or operands > self.most or not re.fullmatch(self.operand, word, re.S):
                return word
        return ""


_H = r"[hH]?\d+"
VERBS = {
    "show": Verb("--all --evidence --json --show-redactions", "--case", operand=_H, most=1),
    "cases": Verb("--json"),
    "diagnose": Verb("--all", "--case"),
    "suspect": Verb(options="--check --supports-if --refutes-if --scope --case", number=r"(?!-).+", operand=r".+", most=1),
    "check": Verb("--json", "--case --timeout", operand=_H),
    "fix": Verb(),
    "verify": Verb(options="--case --timeout"),
    "prompt": Verb("--json", "--case --budget", operand=r"diagnose|check|fix", most=1),
    "probe": Verb("--list"),
    "bisect": Verb(),
    "compare": Verb("--json", operand=r"(?!-).+", most=2),
    "picture": Verb("--json", operand=r"\d+", most=1),
    "wait": Verb("--json", "--timeout", operand=r"r?\d+", most=1),
    "doctor": Verb("--json --quick"),
    "playbooks": Verb(),
}
"""`--allow-write`, `--allow-net`, `--yes` and `--with` are missing on purpose: each lifts a limit, which is a person's word."""
PERSONS = frozenset(("confirm", "reject", "drop", "reset", "switch", "learn", "close", "expect", "hook", "plugin", "import", "gc"))
"""What only a person types: in a terminal, or after `!` in Claude Code."""
SPOKEN = re.compile(
    rf"\bbitten(?:\s+-\S+)*\s+(?:{'|'.join(sorted(PERSONS))})\b|\bbitten:confirm\b|\bclaude(?:\s+-\S+)*\s+(?:plugin|mcp|config)\b", re.I)
"""As a text may say it: a command for a shell, a prompt for another session, or what takes our plugin away or puts another in its place."""


def is_ours(word: Word) -> bool:
    return word in ("bitten", os.path.join(os.path.dirname(sys.executable), "bitten"))


def allows(words: Sequence[Word], case: Reading | None, cwd: str) -> None:
    """Raises: Refused, unless a model may run it while the case is as it is."""
    verb, rest = str(words[1]) if len(words) > 1 else "", list(words[2:])
    if verb == "run":
        _run(rest, case, cwd)
    elif verb not in ("", "--help", "-h", "--version"):
        _look(verb, rest)


def _look(verb: str, rest: Sequence[Word]) -> None:
    if verb in PERSONS:
        raise Refused(f"`bitten {verb}` is for the person: in a terminal, or after `!` at Claude Code's prompt")
    if verb not in VERBS:
        raise Refused(f"`bitten {verb}` is not on the list ({', '.join(('run', *VERBS))})")
    wrong = VERBS[verb].refuses(rest)
    if wrong:
        raise Refused(f"`bitten {verb} … {wrong}` is not on the list; a person may type it")


def _run(words: list[Word], case: Reading | None, cwd: str) -> None:
    """With an open case, its own failing command alone: any other would be a way around the list of readers."""
    if words[:1] == ["--detach"]:
        words = words[1:]
    if words[:1] != ["--"] or len(words) < 2:
        raise Refused("write it as `bitten run -- CMD` or `bitten run --detach -- CMD`, with nothing else before the --")
    if case is None:
        return
    if case.is_imported:
        raise Refused("the case came in a file, so its command is a stranger's: only the person runs it")
    if not case.argv or tuple(map(str, words[1:])) != case.argv or not all(each.is_literal for each in words[1:]):
        raise Refused(f"with an open case only its own failing command is run: bitten run -- {quoted(case.argv)}")
    if os.path.realpath(cwd) != os.path.realpath(case.cwd):
        raise Refused(f"the failing command is run in {case.cwd}, not in {cwd}")


def quoted(argv: Sequence[str]) -> str:
    """As it would be typed, by quotes that the list of readers takes."""
    return " ".join(each if re.fullmatch(r"[\w@%+=:,./-]+", each, re.A) else "'" + each.replace("'", "'\"'\"'") + "'" for each in argv)


def spoken_of(command: str) -> str:
    """A command of a person's that a text names; obfuscation hides it, this sees only plain words."""
    found = SPOKEN.search(re.sub(r"[\"'\\]", "", command))
    return found[0] if found else ""
