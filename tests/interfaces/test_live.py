"""What a person sees of a session: whole lines, nothing that moves the cursor, no secret, and what was taken of the budget."""

from __future__ import annotations

import pytest

from bitten.core.ports import Limits, Spent
from bitten.core.prediction import parse
from bitten.core.trouble import BadInput
from bitten.interfaces import mending, proposing
from bitten.interfaces.live import LONGEST, Live, plain, visible
from bitten.steps.suspect import check_from

LIMITS = Limits(60, 10, 1.5)


def test_words_that_come_in_pieces_are_shown_in_lines(capsys):
    with Live("claude", LIMITS) as live:
        for piece in ("I lo", "ok at\n\n  the wind", "ows.\nAnd"):
            live.says(piece)
        live.spent(Spent(3, 2.0, 0.25))
        shown = capsys.readouterr()
        assert shown.out == "" and "│ I look at\n" in shown.err and "│   the windows.\n" in shown.err and "And" not in shown.err
    assert "│ And\n" in (rest := capsys.readouterr().err)
    assert "claude: 3 of 10 turns, 0 of 60 s, about $0.25 of $1.50" in rest
    assert live.words == ["I look at", "  the windows.", "And"]


def test_a_price_that_nobody_knows_is_not_made_up(capsys):
    with Live("claude", LIMITS) as live:
        live.spent(Spent(1, 1.0))
    assert "price unknown" in capsys.readouterr().err


@pytest.mark.parametrize(("given", "shown"), [
    ("\x1b[2J\x1b[1;1Hgone", "gone"), ("\x1b]0;title\x07x", "x"), ("\x1b]8;;http://x\x1b\\link", "link"), ("a\rb\x08", "ab"),
    ("\u202egnirts", "gnirts"), ("half \ud800", "half ?"), ("a\tb", "a    b"), ("√ ✓ ü 漢", "√ ✓ ü 漢"), ("\x9b31mred", "31mred"),
])
def test_a_line_can_do_nothing_to_a_terminal(given, shown):
    assert plain(given) == shown


def test_no_secret_is_shown_though_it_comes_in_pieces(capsys):
    with Live("claude", LIMITS) as live:
        for piece in ("the key is ghp_abcdefghij", "klmnopqrstuvwxyz0123456789\n"):
            live.says(piece)
    assert "ghp_" not in capsys.readouterr().err and "ghp_" not in live.words[0]


def test_words_without_an_end_are_shown_all_the_same(capsys):
    with Live("claude", LIMITS) as live:
        live.says("x" * (LONGEST + 1))
        assert "xxx" in capsys.readouterr().err


def test_it_is_no_place_for_hypotheses():
    with pytest.raises(BadInput):
        Live("claude", LIMITS).proposes({})


@pytest.mark.parametrize(("given", "shown"), [
    ("+x = 1\x1b[2K\r+y = 2\n", "+x = 1\\x1b[2K\\r+y = 2\n"), ("+a = 'b\u202e' # c\n", "+a = 'b\\u202e' # c\n"),
    ("+a\U000e0041 = '\ufe0f\u3164'\n", "+a\\U000e0041 = '\\ufe0f\\u3164'\n"),
    ("+crlf\r\n\ttab ü\n", "+crlf\r\n\ttab ü\n"), ("zero\u200bwidth\xad", "zero\\u200bwidth\\xad"),
])
def test_nothing_of_a_diff_can_hide_from_who_looks(given, shown):
    assert visible(given) == shown


def test_no_part_of_a_line_is_taken_for_one_that_only_git_reads(capsys):
    mending._show_patch("diff --git a/a.py b/a.py\nindex 1..2 100644\n+a = 1\x0cindex = 2\u2028index = 3\n")
    assert capsys.readouterr().out == "diff --git a/a.py b/a.py\n+a = 1\\x0cindex = 2\\u2028index = 3\n"


@pytest.mark.parametrize("typed", ["python a\U000e0041.py", "env:FLAGS=a\U000e0041", "patch:x"])
def test_nothing_of_what_a_check_would_run_can_hide_from_who_is_told_to_read_it(typed):
    check = check_from(typed, parse("rows < 8"), parse("rows == 8"), lambda _: "+a\U000e0041\n+b\n")
    told = proposing._what_runs(check)
    assert "a\\U000e0041" in told and ("\n  +b" in told) is typed.startswith("patch")
