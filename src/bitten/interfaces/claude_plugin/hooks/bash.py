"""Which shell commands only read: one simple command, of words that a shell takes as they stand, from a list of readers and their options.

It is a list of what is let through, so what is forgotten is refused. It does not know what a person's shell makes of a name (an alias
of `ls`, a function), nor what a person's own git config runs at `git diff`: the tree is compared after the call for that.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

META = frozenset("$`;&|><(){}\n\r\\!")
"""What a shell takes for more than a letter, outside of quotes. `*?[` may stand; a word that begins with one may become an option."""
GLOB = frozenset("*?[")
LONGEST = 4000


class Refused(Exception):  # noqa: N818 - it says what became of the command
    """Not let through; the text says why."""


class Word(str):
    """A word as the program gets it. `is_literal` is false where the shell may still put other words in its place."""

    is_literal = True


def words_of(command: str) -> list[Word]:
    """The words of one simple command. Raises: Refused, at anything that could be more."""
    if len(command) > LONGEST:
        raise Refused("it is too long to be a look at something")
    if any(ord(each) < 32 or ord(each) == 127 for each in command if each != "\t"):
        raise Refused("it holds a line break or a control character; give one simple command")
    words, rest = [], command.strip(" \t")
    while rest:
        word, rest = _word(rest)
        words.append(word)
        rest = rest.lstrip(" \t")
    if not words:
        raise Refused("it is empty")
    return words


def _word(text: str) -> tuple[Word, str]:
    """The first word of a text that begins with one, and what follows it."""
    taken, at, literal = "", 0, text[0] not in "~=^"
    while at < len(text) and text[at] not in " \t":
        letter = text[at]
        if letter in "'\"":
            inside, at = _quoted(text, at)
            taken += inside
            continue
        if letter in META or not " " < letter < "\x7f":
            raise Refused(f"it holds `{letter}`; give one simple command, without pipes, redirections, variables or escapes")
        if not taken and (letter in GLOB or letter == "#"):
            raise Refused(f"a word begins with `{letter}`, which may become anything; name it, or put ./ before it")
        literal = literal and letter not in GLOB
        taken += letter
        at += 1
    word = Word(taken)
    word.is_literal = literal
    return word, text[at:]


def _quoted(text: str, at: int) -> tuple[str, int]:
    """What stands in the quotes that begin there, and where they end."""
    end = text.find(text[at], at + 1)
    if end < 0:
        raise Refused("a quote is not closed")
    inside = text[at + 1:end]
    if text[at] == '"' and re.search(r'[$`!]|\\["\\$`]|\\$', inside):
        raise Refused("a double-quoted text holds `$`, a backtick, `!` or an escape; use single quotes")
    return inside, end + 1


class Reader:
    """A reader's options: single letters, letters that a number follows, letters that take the next word, long names, and other forms.

    `ends` says whether `--` ends its options; `operands` whether it takes any.
    """

    def __init__(
        self, letters: str = "", numbers: str = "", texts: str = "", long: str = "", also: str = "(?!)", operands: bool = True,
        ends: bool = True,
    ) -> None:
        cluster = (f"[{letters}]*" if letters else "") + "(?:" + "|".join(
            [*([rf"[{numbers}]\d*"] if numbers else []), *([f"[{texts}]"] if texts else []), ""]) + ")"
        self.short = f"-{cluster}|{also}"  # compiled where it is asked for: all of them cost every start five milliseconds
        self.long = frozenset(long.split())
        self.operands, self.ends = operands, ends

    def refuses(self, words: Sequence[str]) -> str:
        """The first word that is not let through."""
        for word in words:
            if word == "--" and self.ends and self.operands:
                return ""
            if not self._takes(word):
                return word
        return ""

    def _takes(self, word: str) -> bool:
        if not word.startswith("-") or word == "-":
            return self.operands
        return word.partition("=")[0] in self.long if word.startswith("--") else bool(re.fullmatch(self.short, word, re.A))


_DIFF = ("--stat --numstat --shortstat --summary --name-only --name-status --patch --no-patch --cached --staged --unified --no-color "
         "--color --word-diff --ignore-all-space --ignore-space-change --find-renames --no-renames --diff-filter --raw --full-index "
         "--abbrev --minimal --histogram --patience --function-context --no-ext-diff --no-textconv --exit-code --check")
_LOG = (_DIFF + " --oneline --graph --all --decorate --no-decorate --follow --reverse --max-count --skip --since --until --after --before "
        "--author --committer --grep --format --pretty --abbrev-commit --date --merges --no-merges --first-parent --branches --tags")
_DIGITS = r"-\d+"
_LINES = r"-[MCU]\d*%?|-[LSG].+"
READERS = {
    "ls": Reader("1AaBcdFgGhilLmnNopqQrRsStuUvxX", long=(
        "--all --almost-all --human-readable --recursive --reverse --sort --time --color --size")),
    "cat": Reader("AbeEnstTuv", long="--number --number-nonblank --show-all --show-ends --show-tabs --squeeze-blank"),
    "head": Reader("qv", "cn", long="--lines --bytes --quiet --verbose", also=_DIGITS),
    "tail": Reader("qv", "cn", long="--lines --bytes --quiet --verbose", also=r"-\d+|-[cn]?\+\d+"),
    "wc": Reader("clLmw", long="--lines --words --bytes --chars --max-line-length"),
    "stat": Reader("Lft", texts="c", long="--format --dereference --terse"),
    "du": Reader("abchHkLmsSx", "d", long="--human-readable --summarize --max-depth --all --total"),
    "df": Reader("ahiHkTP", long="--human-readable"),
    "pwd": Reader("LP", operands=False),
    "nvidia-smi": Reader(operands=False),
    "diff": Reader("abBinNpqrsuwy", "U", long=(
        "--unified --brief --recursive --ignore-all-space --ignore-blank-lines --side-by-side --color")),
    "grep": Reader("acEFGhHiIlLnoPqrRsvwx", "ABCm", "e", long=(
        "--include --exclude --exclude-dir --color --recursive --line-number --ignore-case --files-with-matches --files-without-match "
        "--count --context --after-context --before-context --max-count --only-matching --word-regexp --fixed-strings --extended-regexp "
        "--invert-match --no-messages --with-filename --no-filename --perl-regexp --regexp"), also=_DIGITS),
    "rg": Reader("acFHiIlLnNopPqsSuUvwx", "ABCmj", "egtT", long=(
        "--glob --iglob --type --type-not --files --hidden --no-ignore --no-heading --heading --line-number --no-line-number --ignore-case "
        "--smart-case --case-sensitive --count --files-with-matches --files-without-match --json --multiline --sort --color --context "
        "--after-context --before-context --max-count --max-depth --only-matching --word-regexp --fixed-strings --invert-match --regexp "
        "--no-messages --stats --pcre2 --no-config")),
    "find": Reader("HL", ends=False, also=(
        r"-(i?name|i?path|i?wholename|i?regex|type|xtype|maxdepth|mindepth|newer|mtime|mmin|ctime|cmin|atime|amin|size|empty|not|and|or|a|o|print"
        r"|print0|prune|perm|user|group|readable|executable|true|false|depth|links|xdev|mount)|-\d+[cwbkMG]?")),
}
GIT = {
    "status": Reader("bsuvz", also="-uno|-uall|-unormal", long=(
        "--short --branch --porcelain --untracked-files --ignored --verbose --no-renames")),
    "log": Reader("bpuwz", "n", "GS", long=_LOG, also=f"{_DIGITS}|{_LINES}"),
    "show": Reader("bpuwzs", "n", "GS", long=_LOG, also=f"{_DIGITS}|{_LINES}"),
    "diff": Reader("bpuwzRa", texts="GS", long=_DIFF + " --merge-base", also=_LINES),
    "blame": Reader("beflnpstwC", texts="L", long="--porcelain --line-porcelain --show-email --date", also="-L.+"),
    "ls-files": Reader("cdmostuz", long="--cached --deleted --modified --others --stage --exclude-standard --full-name --error-unmatch"),
    "ls-tree": Reader("drtlz", long="--name-only --full-name --long"),
    "grep": Reader("cEFGhHiIlLnoPpqvwW", "ABCm", "e", long=(
        "--cached --untracked --line-number --ignore-case --count --name-only --show-function")),
    "rev-parse": Reader(long="--short --show-toplevel --abbrev-ref --verify --git-dir --is-inside-work-tree --show-prefix"),
    "branch": Reader("arvl", long="--show-current --all --remotes --verbose", operands=False),
}
"""No option among them writes, starts a program, or names another repository or config."""
_SED = re.compile(r"\d+(,(\d+|\$|\+\d+))?p")


def reads(words: Sequence[Word]) -> None:
    """Raises: Refused, unless the words are one reader with options from its list."""
    name, rest = str(words[0]), list(words[1:])
    if not words[0].is_literal:
        raise Refused("the command's name is no plain word")
    if name == "git":
        return _git(rest)
    if name == "sed":
        return _sed(rest)
    if name not in READERS:
        raise Refused(f"`{name}` is not on the list of readers ({', '.join((*READERS, 'git', 'sed -n'))})")
    _holds(READERS[name], name, rest)
    return None


def _holds(reader: Reader, name: str, words: Sequence[Word]) -> None:
    wrong = reader.refuses(words)
    if wrong:
        raise Refused(f"`{name} {wrong}` is not on the list of what only reads")


def _git(words: list[Word]) -> None:
    if words[:1] == ["--no-pager"]:
        words = words[1:]
    name = str(words[0]) if words else ""
    if name not in GIT:
        raise Refused(f"`git {name}` is not on the list of readers ({', '.join(GIT)})")
    _holds(GIT[name], f"git {name}", words[1:])


def _sed(words: list[Word]) -> None:
    if len(words) < 2 or words[0] != "-n" or not _SED.fullmatch(words[1]) or any(each.startswith("-") for each in words[2:]):
        raise Refused("only `sed -n 'FIRST,LASTp' FILE` reads and nothing else")
