"""The choice of commits finds the first bad one in any history by few tries, and the sequential test errs as it says."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bitten.core.bisecting import MOST_RUNS, Outcome, Rates, Search, ancestors, by_chance, is_noisy, rates_of, sure, wrong_at_most
from bitten.core.trouble import Refused


@st.composite
def histories(draw):
    """A history with merges, its latest commit, the first bad commit, and commits that do not run."""
    size = draw(st.integers(1, 40))
    names = [f"c{number}" for number in range(size)]
    parents = {names[0]: ("good",)}
    for number in range(1, size):
        others = draw(st.lists(st.integers(0, number - 1), min_size=1, max_size=2, unique=True))
        chosen = {number - 1} if draw(st.booleans()) else set(others)
        parents[names[number]] = tuple(names[each] for each in sorted(chosen, reverse=True))
    inside = ancestors(parents, names[-1])
    parents = {each: parents[each] for each in names if each in inside}
    culprit = draw(st.sampled_from(list(parents)))
    broken = draw(st.sets(st.sampled_from(list(parents)), max_size=6)) - {names[-1]}
    return parents, names[-1], culprit, broken


def walked(parents, bad, culprit, broken=frozenset()):
    """The search at its end, and what was tried."""
    search, tried = Search(parents, bad), []
    while (commit := search.next()) is not None:
        assert commit not in tried and commit != search.bad
        tried.append(commit)
        is_bad = culprit in ancestors(parents, commit)
        search = search.tested(commit, Outcome.SKIP if commit in broken else Outcome.BAD if is_bad else Outcome.GOOD)
    return search, tried


@given(histories())
@settings(max_examples=200, deadline=None)
def test_the_first_bad_commit_is_found_in_any_history(history):
    parents, bad, culprit, _ = history
    search, _ = walked(parents, bad, culprit)
    assert search.suspects == (culprit,)


@given(histories())
@settings(max_examples=200, deadline=None)
def test_commits_that_do_not_run_leave_a_few_of_which_one_is_it(history):
    parents, bad, culprit, broken = history
    search, _ = walked(parents, bad, culprit, broken)
    assert culprit in search.suspects and set(search.suspects) - {search.bad} <= broken


@pytest.mark.parametrize("size", [1, 2, 3, 10, 34, 100, 1000])
def test_a_line_of_commits_takes_as_many_tries_as_its_logarithm(size):
    names = [str(number) for number in range(size)]
    parents = {name: (names[number - 1] if number else "good",) for number, name in enumerate(names)}
    assert Search(parents, names[-1]).tries == math.ceil(math.log2(size))
    for culprit in {0, size // 2, size - 1}:
        search, tried = walked(parents, names[-1], names[culprit])
        assert search.suspects == (names[culprit],) and len(tried) <= math.ceil(math.log2(size))


def test_a_merge_of_two_good_sides_can_be_the_first_bad_one():
    parents = {"left": ("good",), "right": ("good",), "merge": ("left", "right"), "top": ("merge",)}
    search, tried = walked(parents, "top", "merge")
    assert search.suspects == ("merge",) and set(tried) >= {"left", "right"}


def test_a_block_of_commits_that_do_not_run_is_left_rather_than_worn_down():
    names = [str(number) for number in range(64)]
    parents = {name: (names[number - 1] if number else "good",) for number, name in enumerate(names)}
    search, tried = walked(parents, names[-1], "50", frozenset(names[20:45]))
    assert search.suspects == ("50",) and len(tried) <= 12


@pytest.mark.parametrize(("low", "high"), [(0.05, 0.95), (0.2, 0.8), (0.1, 0.6), (0.4, 0.9)])
@pytest.mark.parametrize("error", [0.05, 0.1])
def test_the_sequential_test_errs_no_oftener_than_stated(low, high, error):
    dice, rates = random.Random(7), Rates(low, high, error, error)

    def outcome(rate):
        runs = []
        while (decided := rates.decide(runs)) is None:
            runs.append(dice.random() < rate)
        return decided, len(runs)

    for rate, wrong in ((low, Outcome.BAD), (high, Outcome.GOOD)):
        seen = [outcome(rate) for _ in range(3000)]
        bound = error / (1 - error)
        assert sum(each is wrong for each, _ in seen) / 3000 <= bound + 3 * math.sqrt(bound / 3000)
        assert sum(runs for _, runs in seen) / 3000 <= 2 * rates.runs + 1


def test_a_commit_that_is_as_neither_end_is_skipped_in_the_end():
    rates = Rates(0.2, 0.8)
    assert rates.decide([True, False] * MOST_RUNS) is Outcome.SKIP and rates.decide([True, False]) is None


def test_one_run_decides_where_nothing_is_noisy():
    assert sure().decide([]) is None and sure().decide([True]) is Outcome.BAD and sure().decide([False]) is Outcome.GOOD
    assert wrong_at_most(sure(), 9) == 0.0 and 0.22 < wrong_at_most(Rates(0.1, 0.9), 5) < 0.23


def test_ends_that_are_too_much_alike_are_refused():
    assert rates_of([False] * 5, [True] * 5, 0.05, 0.05).runs < 3
    assert by_chance([False] * 3, [True] * 3) == pytest.approx(1 / 20) and by_chance([True] * 2, [False] * 2) == 1.0
    few = [True] + [False] * 4
    for good, bad in (([True, False] * 3, [True, False] * 3), ([True] * 5, [False] * 5), (few, [not each for each in few])):
        with pytest.raises(Refused) as refused:
            rates_of(good, bad, 0.05, 0.05)
        assert refused.value.slug == "bisect-ends-alike"


def test_noise_is_seen_in_values_also_where_each_run_has_the_same_outcome():
    assert is_noisy([(Outcome.BAD, 0.71), (Outcome.BAD, 0.72)], [(Outcome.GOOD, 0.9)] * 2)
    assert not is_noisy([(Outcome.BAD, "nan")] * 2, [(Outcome.GOOD, 0.9)] * 2)
