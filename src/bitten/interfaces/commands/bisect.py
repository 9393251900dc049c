"""`bitten bisect`: the first commit at which a command went bad, each tried in a throw-away copy. Opens no case."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import click

from bitten.core.bisecting import Search
from bitten.core.failure import Command
from bitten.core.intervening import instruments_for
from bitten.core.ladder import Case
from bitten.core.ports import Allowed
from bitten.core.prediction import Prediction, parse
from bitten.core.trouble import BadInput
from bitten.interfaces import bisecting
from bitten.interfaces.commands import options
from bitten.interfaces.wiring import House, instruments
from bitten.steps.bisect import WORK, Bench, Bisection, Question, Tried, from_plain, plain

SEVERAL = 1
"""Exit code when skipped commits leave more than one."""


@click.command(cls=options.WithCommand)
@click.option("--good", "goods", multiple=True, required=True, metavar="REV",
              help="Where it was well; may be repeated: the first one is run.")
@click.option("--bad", metavar="REV", help="Where it is bad; the work tree as it stands by default.")
@click.option("--expect", "expected", multiple=True, metavar="EXPR", help="What a good commit meets, such as 'val_acc >= 0.8'.")
@click.option("--repeat", type=click.IntRange(min=1), default=5, show_default=True, metavar="N",
              help="Runs of each end from which noise is learnt, where its first two differ; 1 looks for none.")
@click.option("--alpha", type=click.FloatRange(0.001, 0.4), default=0.05, show_default=True,
              help="How often a good commit may be called bad, where it is noisy.")
@click.option("--beta", type=click.FloatRange(0.001, 0.4), default=0.05, show_default=True,
              help="How often a bad commit may be called good.")
@click.option("--first-parent", is_flag=True, help="Try only the commits of the main line, not those that were merged.")
@click.option("--json", "as_json", is_flag=True, help="Print what was tried and found as JSON.")
@click.option("--timeout", type=click.FloatRange(min=0), metavar="SECONDS", help="For one run; it is skipped when it takes longer.")
@options.allow
def bisect(
    goods: tuple[str, ...], bad: str | None, expected: tuple[str, ...], repeat: int, alpha: float, beta: float, first_parent: bool,
    as_json: bool, timeout: float | None, allowed: Allowed, command: tuple[str, ...],
) -> int:
    """Find the first commit at which COMMAND went bad, in throw-away copies: your tree, index and refs stay as they are.

    A commit is bad when it misses an expectation; without one, when it fails as the open case does, or as the bad end. A commit that
    fails otherwise is skipped. Where outcomes are noisy each commit is run until a sequential test decides.

    \b
    bitten bisect --good v1.2 -- python train.py
    bitten bisect --good HEAD~40 --bad HEAD --expect 'val_acc >= 0.8' -- make train
    bitten bisect --good v1.2 --first-parent --json -- pytest tests/test_loss.py
    """
    house = House.here()
    question = _question(house, command, tuple(map(parse, expected)), (alpha, beta), repeat, timeout)
    search, good = _search(house, goods, bad, first_parent)
    bench = Bench(house.history, house.copies, house.person.progress, allowed)
    tries = house.tries(_about(house, question, search, good, first_parent, allowed))
    known = _known(tries.known())
    found = Bisection(question, search, good, bench, known)
    ends = f"{_short(house, found.bad)} and {_short(house, good)}"
    house.say(f"{len(search.suspects)} commits, about {search.tries} to try after the two ends: {ends}")
    if known:
        house.say(f"going on from {len(known)} commits that were tried before")
    try:
        for each in found.walk():
            tries.keep(plain(each))
            house.say(_line(house, each.commit, each.outcome.value, each.why))
    except KeyboardInterrupt:
        _tell(house, found, as_json)
        house.say("the same command goes on from here")
        raise
    tries.forget()
    _tell(house, found, as_json)
    return 0 if len(found.search.suspects) == 1 else SEVERAL


def _question(house: House, typed: tuple[str, ...], expected: tuple[Prediction, ...], errors: tuple[float, float], repeat: int,
              timeout: float | None) -> Question:
    """Where nothing was said that a good commit meets, the open case says it, if the command is its own.

    Raises: BadInput `bisect-without-command`.
    """
    case = _open_case(house)
    command = Command(typed, str(Path.cwd())) if typed else case.failure.run.command if case else None
    if command is None:
        raise BadInput("bisect-without-command", "There is no command to run, and no open case.", way="bitten bisect --good REV -- CMD")
    is_its = case is not None and (case.failure.run.command.argv, case.failure.run.command.cwd) == (command.argv, command.cwd)
    failure = case.failure if case and is_its and not expected else None
    known = case.expected if case and failure and failure.run.ended_well else ()
    signature = str(failure.facts.get("signature", "")) if failure and failure.root and not known else ""
    armed = instruments_for((*expected, *known), [each.name for each in instruments()])
    patience = timeout or house.settings.timeout or None
    return Question(command, expected or known, signature, *errors, repeat, patience, tuple(armed))


def _about(house: House, question: Question, search: Search, good: str, first_parent: bool, allowed: Allowed) -> list[object]:
    """What makes it the same search."""
    command = question.command
    bad = house.repo.snapshot() if search.bad == WORK else search.bad
    return [list(command.argv), command.cwd, [str(each) for each in question.expected], question.signature, question.alpha, question.beta,
            question.repeat, question.timeout, bad, good, len(search.parents), first_parent, list(allowed.write), allowed.net]


def _known(told: Sequence[Mapping[str, object]]) -> list[Tried]:
    """Nothing of what can't be read: it is tried anew."""
    with suppress(KeyError, TypeError, ValueError):
        return [from_plain(each) for each in told]
    return []


def _open_case(house: House) -> Case | None:
    folder = house.cases.current()
    case = house.load(folder).case if folder else None
    return case if case is not None and case.is_open else None


def _search(house: House, goods: tuple[str, ...], bad: str | None, first_parent: bool) -> tuple[Search, str]:
    """The commits between; what is not committed counts as one more, on top."""
    history = house.history
    named = [history.commit(each) for each in goods]
    end = history.commit(bad or "HEAD")
    parents = dict(history.between(named, end, first_parent))
    if bad is None and history.is_dirty:
        house.say("the bad end is the work tree as it stands, with what is not committed")
        parents[WORK] = (end,)
        end = WORK
    if not parents:
        raise BadInput("bisect-nothing-between", f"There is no commit after {goods[0]}.", "The good end and the bad end are the same.",
                       "name an older one:  bitten bisect --good REV …")
    return Search(parents, end), named[0]


def _short(house: House, commit: str) -> str:
    return commit if commit == WORK else house.history.told(commit).short


def _line(house: House, commit: str, outcome: str, why: str) -> str:
    told = f": {why}" if why else ""
    return f"{_short(house, commit)} {'skipped' if outcome == 'skip' else 'is ' + outcome}{told}"


def _tell(house: House, found: Bisection, as_json: bool) -> None:
    for each in found.bench.sandbox.limits:
        house.say(f"copy: {each}")
    if as_json:
        click.echo(json.dumps(bisecting.plain(found, house.history.told), ensure_ascii=False, indent=1))
    elif found.tried:
        click.echo("\n".join(bisecting.lines(found, house.history.told)))
