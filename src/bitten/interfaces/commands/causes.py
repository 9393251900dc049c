"""`diagnose`, `suspect`, `check`, `confirm` and `reject`: from a failure to a cause that a person has confirmed."""

from __future__ import annotations

import json
from pathlib import Path

import click

from bitten.core import rank
from bitten.core.case import Evidence, Hypothesis
from bitten.core.next import undecided
from bitten.core.ports import Allowed
from bitten.core.trouble import BadInput
from bitten.interfaces import text, trials
from bitten.interfaces.commands import driven, options
from bitten.interfaces.wiring import House, OpenCase, agents, redact
from bitten.steps import check as checking
from bitten.steps import confirm as confirming
from bitten.steps.diagnose import diagnose as diagnosing
from bitten.steps.diagnose import evidence_at_hand
from bitten.steps.gates import within_the_hour
from bitten.steps.suspect import suspect as suspecting


@click.command()
@options.case
@click.option("--all", "everything", is_flag=True, help="Show every hypothesis, not only the first three.")
@driven.options
def diagnose(number: int | None, everything: bool, driving: driven.Driving | None) -> None:
    """Form ranked hypotheses, and run the checks that may start without asking.

    With --with an agent proposes them too, in a redacted copy that it can only read; bitten runs their checks as it runs its own.

    \b
    bitten diagnose
    bitten diagnose --all
    bitten diagnose --with claude --dollars 0.50
    bitten diagnose --with claude --dry-run
    """
    if driving:
        return driven.diagnose(number, everything, driving)
    opened = House.here().case(number)
    with opened.visited("diagnose"):
        within_the_hour(opened.case, opened.budget)
        opened.add(diagnosing(opened.case, opened.house.knowledge))
        if not trials.costs(opened, undecided(opened.case)):
            trials.run(opened, [each for each in rank.to_run(opened.case) if not each.generic])
    return click.echo(opened.shown(everything))


@click.command()
@click.argument("claim")
@click.option(
    "--check",
    "look",
    required=True,
    metavar="LOOK",
    help="captured | probe:NAME | turn:NAME=VALUE | env:NAME=VALUE | tree:REVISION | bare | patch:FILE | a command that prints "
         "`bitten-fact name=json`.",
)
@click.option("--supports-if", required=True, metavar="EXPR", help="The fact that would support the claim.")
@click.option("--refutes-if", required=True, metavar="EXPR", help="The fact that would refute it.")
@click.option("--scope", multiple=True, metavar="FILE[:NAME]", help="Where the cause would be mended.")
@options.case
def suspect(claim: str, look: str, supports_if: str, refutes_if: str, scope: tuple[str, ...], number: int | None) -> None:
    """Add your own hypothesis, with the check that decides it.

    \b
    bitten suspect "the last batch is short" --check "python count.py" --supports-if "rows < 128" --refutes-if "rows == 128"
    bitten suspect "the rate is too high" --check env:LR=0.001 \\
        --supports-if "symptom.depends == true" --refutes-if "symptom.depends == false"
    bitten suspect "the rate is too high" --check turn:lr=0.1 \\
        --supports-if 'changed.nan.kind == "none"' --refutes-if 'changed.nan.kind != "none"'
    """
    opened = House.here().case(number)
    if any(redact(each) != each for each in (claim, look, supports_if, refutes_if)):
        raise BadInput("suspect-holds-a-secret", "The hypothesis or its check holds what looks like a secret.", "Both are kept.",
                       "let the check read it from a variable or a file")
    with opened.visited("suspect"):
        within_the_hour(opened.case, opened.budget)
        hypothesis = suspecting(opened.case, claim, look, supports_if, refutes_if, scope, opened.house.person, opened.house.read,
                                agents.probes(opened))
        opened.add([hypothesis])
        captured = evidence_at_hand(hypothesis, opened.case.failure)
        opened.add([captured] if captured else [])
    click.echo(opened.shown(everything=True))


@click.command()
@click.argument("names", nargs=-1, metavar="[H]...")
@click.option("--on", "tree", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="TREE",
              help="Do the check on another tree of the project; nothing is added to the case.")
@click.option("--json", "as_json", is_flag=True, help="Print the evidence as JSON.")
@click.option("--yes", is_flag=True, help="Start without asking, whatever it costs.")
@options.timeout
@options.allow
@options.case
def check(
    names: tuple[str, ...], tree: Path | None, as_json: bool, yes: bool, timeout: float | None, allowed: Allowed, number: int | None
) -> None:
    """Run what would decide a hypothesis, in a throw-away copy; without names, all that are open, cheapest first.

    \b
    bitten check
    bitten check h2 --allow-net
    bitten check h1 --on ../patched-tree
    """
    opened = House.here().case(number)
    wanted = [confirming.hypothesis_named(opened.case, name) for name in names] or rank.to_run(opened.case)
    with opened.visited("check"):
        if not yes:
            trials.agreed(opened, wanted)
        found = _elsewhere(opened, wanted, tree, allowed, timeout) if tree else trials.run(opened, wanted, allowed, timeout)
    if as_json:
        click.echo(json.dumps([trials.plain(each) for each in found], ensure_ascii=False, indent=1))
        return
    for each in found:
        click.echo(text.evidence(each) + "\n")
    if not tree:
        click.echo(opened.following())


@click.command()
@click.argument("name", metavar="H")
@options.case
def confirm(name: str, number: int | None) -> None:
    """Read the evidence for H, and name the value that decided it. Only a person at a terminal can.

    \b
    bitten confirm h1
    """
    opened = House.here().case(number)
    with opened.visited("confirm"):
        opened.house.person.show(text.evidence(confirming.evidence_to_confirm(opened.case, name)))
        opened.add([confirming.confirm(opened.case, name, opened.house.person, opened.house.repo)])
    click.echo(opened.following())


@click.command()
@click.argument("name", metavar="H")
@click.argument("reason", nargs=-1)
@options.case
def reject(name: str, reason: tuple[str, ...], number: int | None) -> None:
    """Say that H is not the cause, in spite of any support, and why.

    \b
    bitten reject h2 "the items come from one file, they can't vary"
    """
    opened = House.here().case(number)
    with opened.visited("reject"):
        opened.add([confirming.reject(opened.case, name, " ".join(reason))])
    click.echo(opened.following())


def _elsewhere(opened: OpenCase, wanted: list[Hypothesis], tree: Path, allowed: Allowed, timeout: float | None) -> list[Evidence]:
    bench = opened.bench(allowed, timeout, tree.resolve())
    places = {each.id: found.place for each in wanted if (found := opened.case.latest(each))}
    with opened.house.person.progress(f"the check on {tree}"):
        anew = [next(checking.check(opened.case, [each], bench, on_base=False, place=places.get(each.id, ""))) for each in wanted]
    trials.say_limits(opened, bench.sandbox)
    return anew
