"""`fix`, `verify`, `learn`, `close` and `reset`: from a confirmed cause to one commit and a lesson."""

from __future__ import annotations

import datetime
from pathlib import Path

import click

from bitten.core.ladder import Step
from bitten.core.ports import Allowed
from bitten.core.proof import Closing
from bitten.core.trouble import BadInput
from bitten.interfaces import text, trials
from bitten.interfaces.commands import driven, options
from bitten.interfaces.commands.gc import after_a_case
from bitten.interfaces.wiring import House, OpenCase
from bitten.steps import close as closing
from bitten.steps import fix as fixing
from bitten.steps import learn as learning
from bitten.steps.reset import reset as resetting
from bitten.steps.verify import interpreter


@click.command()
@click.option("--scope", multiple=True, metavar="FILE[:NAME]", help="Where the fix may touch, instead of what was agreed; may be repeated.")
@click.option("--test", default="", metavar="PATH", help="The file that the fix's test is added to.")
@click.option("--yes", is_flag=True, help="With --with: put its fix into the tree without asking.")
@driven.options
@options.case
def fix(scope: tuple[str, ...], test: str, yes: bool, driving: driven.Driving | None, number: int | None) -> None:
    """Open the way to the fix, and say what it may touch. The edit is yours.

    With --with an agent makes it in a redacted copy: what lies in scope is shown, put into the tree when you agree, and proven as
    `bitten verify` does; where the proof fails it is taken back, and a fresh session is told why, once.

    \b
    bitten fix
    bitten fix --scope src/data.py:DataLoader.__iter__ --test tests/unit/test_data.py
    bitten fix --with claude
    """
    if yes and not driving:
        raise click.UsageError("--yes needs --with AGENT: the edit is yours.")
    if driving:
        return driven.fix(number, scope, test, yes, driving)
    opened = House.here().case(number)
    with opened.visited("fix"):
        rescope = fixing.fix(opened.case, scope, test, opened.budget)
        opened.add([rescope] if rescope else [])
    agreed = opened.case.scope
    assert agreed is not None
    click.echo(f"Change only:  {', '.join(agreed.parts)}\nAdd a test to:  {agreed.test}\nDo not refactor anything else.\n")
    return click.echo(opened.following())


@click.command()
@options.timeout
@options.allow
@options.case
def verify(timeout: float | None, allowed: Allowed, number: int | None) -> None:
    """Prove the fix: its test red on the base and green on the fix, the command passes, the confirmed cause is gone.

    \b
    bitten verify
    bitten verify --allow-net --timeout 900
    """
    opened = House.here().case(number)
    with opened.visited("verify"):
        verification = trials.proven(opened, allowed, timeout)
    click.echo(text.proof(verification))
    click.echo(opened.following())


@click.command()
@click.option("--local", default="", metavar="REASON", help="The lesson is not general: say why, and write none.")
@click.option("--text", "words", default="", metavar="TEXT", help="The entry as it shall stand; asked for on a terminal otherwise.")
@options.case
def learn(local: str, words: str, number: int | None) -> None:
    """Write the lesson into CLAUDE.md, under "Things that have bitten us".

    \b
    bitten learn
    bitten learn --local "only this machine's disk was full"
    """
    opened = House.here().case(number)
    with opened.visited("learn"):
        _learn(opened, local, words)
    click.echo(opened.following())


@click.command()
@click.option("--local", default="", metavar="REASON", help="The lesson is not general: say why, and write none.")
@click.option("--all", "everything", is_flag=True, help="Commit the touched files whole, with the uncommitted work in them.")
@options.allow
@options.case
def close(local: str, everything: bool, allowed: Allowed, number: int | None) -> None:
    """Commit fix, test and lesson as one, and print the note for the team.

    \b
    bitten close
    bitten close --local "only this machine's disk was full"
    """
    opened = House.here().case(number)
    with opened.visited("close"):
        if opened.case.step is Step.VERIFIED:
            _learn(opened, local, "")
        closed = closing.resumed(opened.case, opened.house.repo) or _closed(opened, everything, allowed)
        opened.add([closed])
        opened.keep_fix()
    click.echo(text.closed(opened.case))
    after_a_case(opened.house)


@click.command()
@click.option(
    "--script", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="FILE", help="At most ten lines that show the bug."
)
@click.option("--symptom", default="", metavar="TEXT", help="What happens, as you see it now.")
@options.case
def reset(script: Path | None, symptom: str, number: int | None) -> None:
    """After an hour: re-read debug.md, update the symptom, show the bug in ten lines. Then go on.

    Without --script it takes the reproducer that `run` found and verified, where there is one.

    \b
    bitten reset --script ten_lines.py --symptom "the last window is one row short"
    """
    opened = House.here().case(number)
    script = script or _found(opened)
    source = script.read_text(encoding="utf-8", errors="replace")
    with opened.visited("reset"), opened.bench().sandbox.copy() as copy:
        words = symptom or opened.house.person.ask("The symptom, as you see it now", text.symptom(opened.case.failure))
        opened.add(resetting(opened.case, words, source, str(script.resolve()), copy, interpreter(opened.case)))
    click.echo(opened.following())


def _found(opened: OpenCase) -> Path:
    """The reproducer that `run` found, shown. Raises: BadInput `reset-needs-script`, where there is none."""
    found = opened.case.reproducer
    if found is None or not found.verified:
        raise BadInput("reset-needs-script", f"Re-read {opened.document}, then write the bug down in at most ten lines of Python.",
                       "If you can't, you do not understand it yet.", "bitten reset --script FILE")
    click.echo(f"Taken, as no --script is named:\n\n{found.code}", err=True)
    return opened.house.root / opened.keep_reproducer()


def _closed(opened: OpenCase, everything: bool, allowed: Allowed) -> Closing:
    plan = closing.plan(opened.case, opened.house.repo, opened.lesson_on_head(), everything)
    return closing.close(opened.case, plan, opened.bench(allowed), opened.house.person)


def _learn(opened: OpenCase, local: str, words: str) -> None:
    """Draft, let the person edit and accept, then write; without a person the draft is only taken when given as --text."""
    if not local and not words:
        words = _accepted(opened, learning.draft(opened.case, datetime.date.today().isoformat()))
    lesson = learning.learn(opened.case, words, local)
    if lesson.text:
        opened.with_lesson(lesson.text)  # what can't be written is refused before it is an event
    opened.add([lesson])
    if lesson.text:
        opened.write_lesson(lesson.text)


def _accepted(opened: OpenCase, draft: str) -> str:
    if opened.house.person.channel != "terminal":
        raise BadInput("lesson-needs-a-person", "The lesson is read and accepted by a person.", "Drafted:\n" + draft,
                       'bitten learn --text "…", or bitten learn --local REASON')
    click.echo(f"For {opened.house.settings.lessons}, under Things that have bitten us:\n\n{draft}\n")
    answer = opened.house.person.ask("Enter accepts, e edits, or type why it is only local", "accept")
    if answer == "accept":
        return draft
    if answer == "e":
        return (click.edit(draft) or draft).strip()
    raise BadInput("lesson-declined", "No lesson was written.", way=f'bitten close --local "{answer}"')
