"""What one run of a commit tells a bisection, and what it must not take from it."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace

import pytest
from tests import nouns

from bitten.core.bisecting import Search
from bitten.core.failure import Crash, Run
from bitten.core.ports import Observed
from bitten.core.prediction import parse
from bitten.core.trouble import BadInput, Unable
from bitten.steps.bisect import Bench, Bisection, Question, from_plain, plain


def ran(crash: str = "", refused: str = "") -> Observed:
    crashes = (Crash(crash, "no", (), "main", "root"),) if crash else ()
    code = 1 if crash else 0
    return Observed(Run(nouns.COMMAND, code, 1.0), {"exit": code}, crashes, refused=(refused,) if refused else ())


def bisection(runs: dict[str, list[Observed]], *expected: str, known=(), repeat: int = 1) -> Bisection:
    """Of c0 … c3, c0 good and c3 bad; each commit gives its runs one after the other, the last for ever."""
    at: list[str] = []
    left = {commit: list(each) for commit, each in runs.items()}

    def run(command, **how):
        return left[at[-1]].pop(0) if len(left[at[-1]]) > 1 else left[at[-1]][0]

    def write(files):
        at.append(*files)
        if not runs[at[-1]]:
            raise Unable("copy-not-writable", "Could not write it.")

    room = SimpleNamespace(write=write, run=run)
    history = SimpleNamespace(told=lambda commit: SimpleNamespace(short=commit), files=lambda commit: {commit: b""})
    bench = Bench(history, SimpleNamespace(copy=lambda allowed: nullcontext(room)), lambda words: nullcontext())
    question = Question(nouns.COMMAND, tuple(map(parse, expected)), repeat=repeat)
    return Bisection(question, Search({"c3": ("c2",), "c2": ("c1",), "c1": ("c0",)}, "c3"), "c0", bench, known)


OLD, NEW = ran("ImportError"), ran("ValueError")


def test_what_the_good_end_shows_is_never_what_is_looked_for():
    found = bisection({"c3": [ran(), NEW], "c0": [OLD]}, repeat=2)
    with pytest.raises(BadInput) as refused:
        list(found.walk())
    assert refused.value.slug == "bisect-end-does-not-run" and "The good end tells nothing: ImportError" in str(refused.value)


def test_a_search_that_goes_on_looks_for_what_the_bad_end_showed_and_not_for_a_run_that_was_well():
    runs = {"c3": [ran(), NEW], "c0": [ran()], "c1": [ran()], "c2": [NEW]}
    ends = [from_plain(plain(each)) for each, _ in zip(bisection(runs, repeat=25).walk(), range(2), strict=False)]
    found = bisection(runs, known=ends, repeat=25)
    assert [each.outcome.value for each in found.walk()][:2] == ["bad", "good"]
    assert found.signature.startswith("ValueError") and found.search.suspects == ("c2",)


def test_a_run_that_failed_and_was_kept_from_something_is_not_called_bad_by_its_exit():
    runs = {"c3": [NEW], "c0": [ran()], "c1": [ran("OSError", "It asked for data.example")], "c2": [NEW]}
    found = bisection(runs, "exit == 0")
    tried = {each.commit: each for each in found.walk()}
    assert tried["c1"].outcome.value == "skip" and "It asked for data.example" in tried["c1"].why
    assert set(found.search.suspects) == {"c1", "c2"}


def test_what_the_copy_kept_from_a_run_that_counts_is_told():
    runs = {"c3": [NEW], "c0": [ran(refused="It asked for data.example")], "c1": [ran()], "c2": [NEW]}
    tried = {each.commit: each for each in bisection(runs).walk()}
    assert (tried["c0"].outcome.value, tried["c0"].why) == ("good", "It asked for data.example")


def test_a_commit_whose_files_can_not_be_laid_over_the_copy_is_skipped():
    found = bisection({"c3": [NEW], "c0": [ran()], "c1": [], "c2": [NEW]})
    tried = {each.commit: each for each in found.walk()}
    assert (tried["c1"].outcome.value, tried["c2"].outcome.value) == ("skip", "bad") and "Could not write it." in tried["c1"].why
