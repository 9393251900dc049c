# ruff: noqa: E501 - a table of commands and paths is easier read unbroken
"""What the list of readers lets through: words as a real shell takes them, and commands that leave a real folder as it was."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bitten.interfaces.claude_plugin.hooks.bash import GIT, READERS, Refused, reads, words_of

READING = [
    "ls", "ls -la src", "ls -lah 'a b'", "cat src/*.py", "head -n 20 a.py", "head -20 a.py", "tail -n +5 a.py", "wc -l a.py b.py", "pwd",
    "stat -c '%s' a.py", "du -sh .", "du -d 1 src", "df -h", "nvidia-smi", "diff -u a b", "grep -rn 'def f(x)' src", "grep -e 'a|b' -A3 f",
    "grep --include='*.py' -r x .", "rg -n 'foo$' src", "rg -g '*.py' -i loss", "rg --files", "find . -name '*.py' -type f", "find . -mtime -1",
    "find src -maxdepth 2 -not -path '*/x/*'", "sed -n 10,20p a.py", "sed -n '10,$p' a.py", "git status", "git status --short -b", "git log",
    "git log --oneline -5", "git log -p -2 -- src/a.py", "git log -L10,20:a.py", "git log -S'lost' --all", "git show HEAD:src/a.py", "git diff",
    "git diff HEAD~1 -- a.py", "git diff --stat --cached", "git --no-pager diff -U5", "git blame -L 10,20 a.py", "git ls-files -m -o",
    "git grep -n foo", "git rev-parse HEAD", "git branch -a", "git show 'stash@{0}'", "cat it\"'\"s", "ls ./*", "ls ~", "cat -- -x", "grep -- -x f",
    "sed -n 5p a.py b.py", "ls\ta", "cat \"a b\"", 'grep "a\\.b" f',
]
WRITING = [
    "", " ", "rm x", "touch x", "echo x", "python -c 'x'", "bash -c ls", "sh x", "env ls", "xargs rm", "sudo ls", "time ls", "command ls", "exec ls",
    "eval ls", "builtin cd", "source x", ". x", "/bin/ls", "./ls", "ls; rm x", "ls && rm x", "ls || rm x", "ls & rm x", "ls | tee x", "ls > x",
    "ls >| x", "ls 2> x", "ls &> x", "ls >> x", "cat <x", "cat <<E", "cat <(touch x)", "ls $(touch x)", "ls `touch x`", "ls $x", "ls ${x}",
    'ls "$(touch x)"', 'ls "`touch x`"', "ls {a,b}", "(ls)", "ls\nrm x", "ls\rrm x", "ls \\\nrm", "ls 'a\nb'", "ls \0", "ls \x01", "ls \x7f",
    "ls\u00a0x", "ls \u2028x", "l\u0455", "ls é", "ls 'x", 'ls "x', "ls x\\ y", "ls !x", 'ls "!x"', "A=1 ls", "ls #x", "*", "* -delete", "ls *", "rg *",
    "rg ''*", 'rg ""*', "rg '' *", "ls [a]", "ls ?x", "!ls", "[ -f x ]", "test -f x", "[[ x ]]", "{ ls; }", "if ls", "cd x", "pushd x", "alias ls=rm",
    "tail -f x", "tail --follow x", "less x", "more x", "vim x", "tee x", "sort -o x y", "uniq a b", "awk 1", "dd of=x", "cp a b", "mv a b", "ln a b",
    "install a b", "truncate x", "script x", "expect x", "unbuffer ls", "pwd x", "nvidia-smi -r", "nvidia-smi -f x", "date -s x", "tree -o x",
    "file -C", "split x", "patch", "make", "pytest", "curl x", "wget x", "tar x", "zip x", "ed x", "ex x", "xxd -r a b", "openssl x", "perl -e 1",
    "find . -delete", "find . -exec rm {} +", "find . -execdir x", "find . -ok x", "find . -fprint x", "find . -fprintf x y", "find . -fls x",
    "find . -fprint0 x", "find -- . -delete", "find . -name -delete", "find . '-delete'", "find . -\"delete\"", "find -D x", "find -files0-from x",
    "sed -i s/a/b/ x", "sed -n 'w x'", "sed -n '1w x' y", "sed -n 1e x", "sed -n '1p;w x' y", "sed -ni 5p x", "sed -n -i 5p x", "sed -n 5p -i x",
    "sed s/a/b/ x", "sed -n 5p --in-place x", "sed -n -f x", "sed -n", "rg --pre x y", "rg --pre=x y", "rg --hostname-bin x y", "rg -z x", "rg --search-zip x",
    "grep --save-config=x y", "grep --filter=x y", "grep --pager=x y", "grep --config=x y", "grep -f x", "grep --view=x y", "grep -z x y",
    "grep ---x y", "grep -nZ x", "ls --hyperlink=x", "ls -w 5", "git", "git commit", "git add x", "git checkout x", "git restore x", "git stash",
    "git stash list", "git apply x", "git -c core.pager=x log", "git -C x log", "git --git-dir=x log", "git --exec-path=x log", "git -p log",
    "git --work-tree=x log", "git diff --output=x", "git diff --outp=x", "git diff --output x", "git log --output=x", "git show -O x", "git diff -Ox",
    "git diff --ext-diff", "git log --show-signature", "git diff --no-index a b", "git grep -O x", "git grep -Ox y", "git grep --open-files-in-pager x",
    "git branch x", "git branch -D x", "git branch -d x", "git branch -m x", "git config x y", "git update-index x", "git log --textconv", "git bisect x",
    "git rev-parse --parseopt", "git ls-files --with-tree=x --recurse-submodules", "git blame --contents x y", "git tag x", "git fetch", "git clone x",
    "git --no-pager", "git --no-pager --no-pager log", "git log --remerge-diff", "git archive -o x HEAD", "git bundle create x", "git fsck --lost-found",
    "git notes add", "git worktree add x", "git reflog expire", "git gc", "ls" + " x" * 3000,
]


def allowed(command):
    try:
        reads(words_of(command))
    except Refused as why:
        assert str(why)
        return False
    return True


@pytest.mark.parametrize("command", READING)
def test_what_only_reads_is_let_through(command):
    assert allowed(command)


@pytest.mark.parametrize("command", WRITING, ids=lambda command: command[:30] or "nothing")
def test_all_else_is_refused(command):
    assert not allowed(command)


def test_whatever_follows_a_reader_behind_any_sign_of_the_shell_is_refused():
    for sign in (";", "&", "&&", "|", "||", "|&", ">", ">>", ">|", "<", "<<<", "\n", "$(", "`", "<(", ">(", "&>", "2>", "\r\n", "\x0b"):
        for before in ("ls", "git log", "cat a", "grep 'x' y"):
            assert not allowed(f"{before} {sign} touch made") and not allowed(f"{before}{sign}touch made")


PIECES = st.sampled_from(["a", "b.py", "-n", "--x=y", "'q r'", '"s t"', "''", '""', "'it'\"'\"'s'", "x'y'\"z\"", "*", "?", "[a]", "~", "#", "=", "^",
                          "%", "@", "+", ",", ":", "/", "-", "--", "\\", "$", "`", "|", "!", "{a,b}", "(", " ", "  ", "\t", "é", "\u00a0", "\"a\\.b\""])


@given(st.lists(st.lists(PIECES, min_size=1, max_size=8).map("".join), min_size=1, max_size=40))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_words_are_those_that_a_real_shell_makes_of_it(commands):
    """Where a word is not literal the shell may put others in its place, so only literal commands are compared."""
    taken = []
    for command in commands:
        try:
            words = words_of(command)
        except Refused:
            continue
        if all(word.is_literal for word in words):
            taken.append((command, list(map(str, words))))
    script = "f() { printf '%s\\0' \"$@\"; printf '\\1'; }\n" + "".join(f"f {command}\n" for command, _ in taken)
    done = subprocess.run(["bash", "--norc", "-c", script], capture_output=True, text=True, check=True, cwd="/")
    assert [each.split("\0")[:-1] for each in done.stdout.split("\1")[:-1]] == [words for _, words in taken]


NAMES = st.sampled_from([*READERS, *(f"git {name}" for name in GIT), "sed -n", "git --no-pager log", "git"])
WORDS = st.sampled_from([
    "a.py", "'b c'", ".", "src", "HEAD", "-n", "-r", "-p", "-i", "-o", "-O", "-1", "5", "5p", "'w made'", "1e", "--", "-", "made", "./made", "*", "./*",
    "--output=made", "--output", "--outp=made", "-Omade", "--pre=./evil", "--pre", "./evil", "-delete", "-exec", "touch", "'{}'", "'+'", "';'",
    "-fprint", "-fls", "-ok", "-w", "-f", "-z", "-c", "--in-place", "-i.bak", "> made", "; touch made", "&& touch made", "| tee made", "$(touch made)",
    "`touch made`", "\"$(touch made)\"", "'$(touch made)'", "\\", "\n touch made", "& touch made", "--ext-diff", "--save-config=made", "--filter=./evil",
    "--hostname-bin=./evil", "-x", "--open-files-in-pager=./evil", "-D", "x'", "\"", "--follow", "-name", "'*.py'", "-e", "-m", "--stat", "-C", "-M"])


def scratch(place: Path) -> Path:
    """A small repository with files whose names look like options, and a program that writes when anything starts it."""
    (place / "src").mkdir(parents=True)
    for name in ("a.py", "b c", "src/a.py", "--output=made", "-delete", "-exec", "--pre=.evil", "-rf"):
        (place / name).write_text("x = 1\n")
    (place / "evil").write_text("#!/bin/sh\ntouch made\ncat\n")
    (place / "evil").chmod(0o755)
    for words in (["init", "-q"], ["add", "a.py"], ["-c", "user.name=A", "-c", "user.email=a@b.c", "commit", "-qm", "x"]):
        subprocess.run(["git", *words], cwd=place, check=True)
    return place


def photographed(place: Path) -> dict[str, bytes]:
    """Git's index apart, whose times of change `git status` renews."""
    return {str(file): file.read_bytes() for file in sorted(place.rglob("*")) if file.is_file() and file.name != "index"}


def test_nothing_that_is_let_through_changes_anything(tmp_path):
    place = scratch(tmp_path / "p")
    before = photographed(place)
    ran = set()

    @given(NAMES, st.lists(WORDS, max_size=5))
    @settings(max_examples=1000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    def tried(name, words):
        command = " ".join((name, *words))
        if not allowed(command) or command in ran or shutil.which(name.split()[0]) is None or len(ran) > 150:
            return
        ran.add(command)
        subprocess.run(["bash", "--norc", "-c", command], cwd=place, capture_output=True, stdin=subprocess.DEVNULL, timeout=20, check=False)
        assert photographed(place) == before, command

    tried()
    assert len(ran) > 50
