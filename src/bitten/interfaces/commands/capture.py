"""`bitten run` and `bitten expect`: step 1. The program's own output is untouched; ours follows it on stderr."""

from __future__ import annotations

import contextlib
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bitten.core.case import Note, Recurrence
from bitten.core.failure import Command, Failure, Run
from bitten.core.ports import Observed
from bitten.core.prediction import Prediction, parse
from bitten.interfaces import reproducing, text
from bitten.interfaces.course import Told, Untold
from bitten.interfaces.fault import say, spared, tell
from bitten.interfaces.joining import cases_of, expected_of, same_failure
from bitten.interfaces.wiring import House, OpenCase, end_like
from bitten.steps import capture
from bitten.steps.diagnose import diagnose

if TYPE_CHECKING:
    from bitten.interfaces.wiring import Ran

MISSED = 65
"""Exit code when the command itself exits 0 but an expectation was missed."""
HUNG = 124
"""Exit code when it hung and was ended, as timeout(1) has it."""
NOTES = 5
"""What could not be seen or kept, on the screen; debug.md has all of it."""


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option("--expect", "expectations", multiple=True, metavar="EXPR", help="What must hold afterwards; may be repeated.")
@click.option("--hang-after", metavar="DURATION", help="End COMMAND after so long without output and CPU: 90, 5m, 1h; 0 for never.")
@click.option("--detach", is_flag=True, help="Run COMMAND apart from this terminal; `bitten wait` tells how it ended.")
@click.option("--full-tty", is_flag=True, help="Give COMMAND a terminal of its own, as `script` does; then ^Z does nothing.")
@click.option("--native", is_flag=True, help="Reach Pythons started with -I, -E, -S or a PYTHONPATH of their own (needs a C compiler).")
@click.option("--keep-arguments", is_flag=True, help="Keep the failing call's tensors and arrays, unredacted (10 MB at most).")
@click.option("--no-reproducer", is_flag=True, help="Don't look for a program of ten lines that fails alike.")
@click.option("--trace-handled", is_flag=True, help="Also record exceptions that the program swallows (Python 3.12 and later).")
@click.argument("command", nargs=-1, type=click.UNPROCESSED, required=True)
def run(
    expectations: tuple[str, ...], hang_after: str | None, detach: bool, full_tty: bool, native: bool, keep_arguments: bool,
    no_reproducer: bool, trace_handled: bool, command: tuple[str, ...],
) -> int:
    """Run COMMAND unchanged; when it fails, open a case with tested hypotheses.

    It prints what it prints and exits as it exits; 65 when it exits 0 but an expectation was missed, 124 when it hung.

    \b
    bitten run -- make train RUN=charngram
    bitten run --expect "val_acc >= 0.8" --expect "loss is finite" -- python train.py
    bitten run --hang-after 10m -- torchrun --nproc-per-node 4 train.py
    bitten run --detach -- python train.py
    """
    house = House.here()
    typed = Command(command, str(Path.cwd()), _asked(native=native, handled=trace_handled, keep_arguments=keep_arguments))
    runs = partial(_run, house, typed, expectations, hang_after, full_tty, not no_reproducer)
    if not detach:
        return runs(Untold())
    from bitten.interfaces.commands.detached import apart  # noqa: PLC0415 - most runs stay at their terminal

    return apart(house, typed, runs)


def _run(
    house: House, typed: Command, expectations: tuple[str, ...], hang_after: str | None, full_tty: bool, reproduce: bool, told: Told
) -> int:
    expected = tuple(parse(each) for each in expectations)
    ran: Ran | None = None
    missed, case, looked = False, None, False
    try:
        runner = house.runner(hang_after)
        with house.sitting() as sitting, runner.running(typed, sitting, expectations, told.started, full_tty=full_tty) as ran:
            told.ended(ran.run)
            if not (ran.interrupted or told.stopped):  # the person ended it, nothing failed
                missed, case = _after(house, ran, expected, reproduce)
            looked = True
    except (Exception, KeyboardInterrupt) as error:
        if ran is None:
            raise
        tell(error)  # once the command has ended, nothing of ours changes how
    if looked or not ran.run.ended_well:  # what was expected of a success is not known otherwise
        told.complete(missed, case.number if case else None)
    return _leave(ran.run, missed)


def _asked(**wishes: bool) -> dict[str, str]:
    """What the guest is asked for stays with the command, so that its checks ask for it too."""
    return {f"BITTEN_{name.upper()}": "1" for name, is_wished in wishes.items() if is_wished}


def _after(house: House, ran: Ran, expected: tuple[Prediction, ...], reproduce: bool) -> tuple[bool, OpenCase | None]:
    """Join the open case of this command, or open one, or say that it passes now. Returns whether it failed, and the case of that."""
    known = cases_of(house, ran.run)
    expected = expected or expected_of(known)
    if ran.run.ended_well and not expected:  # then nothing that it printed is looked at
        with spared():
            _passes(known, ran.run)
            house.remember(ran.run, ran.spool)
        return False, None
    failed, case = _read(house, ran.observed(), expected, known, ran.spool)
    if case and case not in known and reproduce:
        reproducing.reproduce(case, ran.spool)
    return failed, case


def _read(
    house: House, observed: Observed, expected: tuple[Prediction, ...], known: list[OpenCase], spool: Path
) -> tuple[bool, OpenCase | None]:
    """Whether it failed, and the case that has it now."""
    case = None
    failure = capture.capture(observed, expected)
    with spared():
        same = same_failure(failure, known)
        if failure is None:
            _passes(known, observed.run)
            house.remember(observed.run, spool)
        elif same:
            case = same
            _again(same, observed.run)
        else:
            case = _opened(house, failure, observed, known, spool)
    return failure is not None, case


def _passes(known: list[OpenCase], run: Run) -> None:
    for each in known[:1]:
        with each.visited("run"):
            each.add([Recurrence(run, passed=True)])
        say(f"\ncase {each.number} passes now:  bitten verify, or  bitten drop")


def _again(case: OpenCase, run: Run) -> None:
    with case.visited("run"):
        case.add([Recurrence(run)])
    case.house.cases.switch(case.folder)
    say("\n" + case.shown())


def _opened(house: House, failure: Failure, observed: Observed, known: list[OpenCase], spool: Path) -> OpenCase:
    """The failure is on disk before anything is asked or thought; what could not be kept of it is said."""
    say("\n" + text.headline(failure))
    failure = house.survey(spool).around(capture.photographed(failure, house.repo))
    case = house.begin(failure, text.title(failure))
    for note in failure.surroundings.notes[:NOTES]:
        say(click.style(f"  {note}", dim=True))
    if not case.is_at_home:
        say(click.style("  The project's folder can't be written, or has no room: the case is kept elsewhere.", dim=True))
    with spared():
        case.keep_capture(observed)
        case.keep_arguments(spool)
    with spared(), case.visited("run"):
        if known:
            case.add([Note("linked", f"case {known[0].number}: the same command, another failure")])
        _ask(case)
        case.add(diagnose(case.case, house.knowledge))
    say(text.below(case.case, case.number, case.document, case.budget))
    if masked := text.masked((each.file, each.kind) for each in case.redactions()):
        say(masked)
    for trouble in house.knowledge.troubles():
        say(f"  {trouble}")
    return case


def _ask(case: OpenCase) -> None:
    """One question, on a terminal only; Enter skips."""
    if case.house.person.channel != "terminal" or case.case.failure.expected:
        return
    answer = ""
    with contextlib.suppress(click.Abort, OSError):  # ^C or ^D at the question skips it; a terminal that is gone asks nobody
        answer = case.house.person.ask("What did you expect?")
    if answer:
        case.add([Note("expected", answer)])


def _leave(run: Run, missed: bool) -> int:
    """Leave as the command did: by the same signal, or with its exit code."""
    if run.hung:
        return HUNG
    if run.signal is not None:
        return end_like(run.signal)
    return MISSED if missed and run.exit == 0 else run.exit or 0


@click.command()
@click.argument("words", nargs=-1, required=True)
@click.option("--case", "number", type=int, metavar="N", help="Another case than the current one.")
def expect(words: tuple[str, ...], number: int | None) -> None:
    """Say what you expected of the failing command: free text, or FACT OP VALUE, which later runs are held to.

    \b
    bitten expect training to start, loss to print every 100 steps
    bitten expect "val_acc >= 0.8"
    """
    opened = House.here().case(number)
    said = " ".join(words)
    with opened.visited("expect"):
        opened.add([Note("expected", said)])
    click.echo(f"case {opened.number}: expected {said}")
