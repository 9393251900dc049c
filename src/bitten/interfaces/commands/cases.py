"""`bitten` alone, `show`, `cases`, `switch` and `drop`: where things stand, and the one next thing."""

from __future__ import annotations

import json

import click

from bitten.core import gating, rank
from bitten.core.case import Drop
from bitten.interfaces import text
from bitten.interfaces.commands import options
from bitten.interfaces.commands.gc import after_a_case
from bitten.interfaces.fault import spared
from bitten.interfaces.wiring import House, OpenCase


def overview() -> None:
    """The current case and the one next thing; how to begin where there is none."""
    house = House.here()
    if house.cases.all():
        click.echo(house.case().shown())
    else:
        click.echo('no case here yet.\n  next: run the failing command:  bitten run -- CMD')
    if house.has_detached:
        from bitten.interfaces import awaiting  # noqa: PLC0415 - few projects have a run apart

        for line in awaiting.mentions(house):
            click.echo(line)


@click.command()
@click.argument("name", required=False, metavar="[H]")
@click.option("--all", "everything", is_flag=True, help="Every hypothesis.")
@click.option("--evidence", is_flag=True, help="The evidence for each.")
@click.option("--show-redactions", "redactions", is_flag=True, help="Where secrets were masked, and of what kind; never what they were.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@options.case
def show(name: str | None, everything: bool, evidence: bool, redactions: bool, as_json: bool, number: int | None) -> None:
    """Show the case, or all that was gathered for one hypothesis.

    \b
    bitten show
    bitten show h1
    bitten show --json
    """
    opened = House.here().case(number)
    if as_json:
        click.echo(json.dumps(plain(opened), ensure_ascii=False, indent=1))
    elif redactions:
        places = [(each.kind, f"{each.file}:{each.line}", f"{each.length} characters") for each in opened.redactions()]
        click.echo(text.table(places) if places else "nothing was masked in this case.")
    elif name or evidence:
        wanted = [h for h in opened.case.hypotheses if not name or name.lower() in (h.id, h.id[1:])]
        click.echo(
            "\n\n".join(text.evidence(found) if (found := opened.case.latest(h)) else f"{h.id}: {h.claim}: untested" for h in wanted)
        )
    else:
        click.echo(opened.shown(everything))


@click.command()
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def cases(as_json: bool) -> None:
    """List every case of this project, newest last."""
    house = House.here()
    every = _readable(house)
    if as_json:
        click.echo(json.dumps([plain(each) for each in every], ensure_ascii=False, indent=1))
    elif every:
        click.echo(text.table((str(each.number), text.standing(each.case), text.symptom(each.case.failure)[:80]) for each in every))
    else:
        click.echo("no case here yet.")


def _readable(house: House) -> list[OpenCase]:
    """One that can't be read is said, and takes nothing from the others."""
    every = []
    for folder in house.cases.all():
        with spared():
            every.append(house.load(folder))
    return every


@click.command()
@click.argument("number", type=int)
def switch(number: int) -> None:
    """Make case NUMBER the current one."""
    opened = House.here().case(number)
    opened.house.cases.switch(opened.folder)
    click.echo(opened.shown())


@click.command()
@click.argument("reason", nargs=-1)
@options.case
def drop(reason: tuple[str, ...], number: int | None) -> None:
    """Give a case up; nothing of it is lost.

    \b
    bitten drop "it was the disk"
    """
    opened = House.here().case(number)
    with opened.visited("drop"):
        opened.add([Drop(" ".join(reason))])
    click.echo(f"case {opened.number} dropped.")
    after_a_case(opened.house)


def plain(opened: OpenCase) -> dict[str, object]:
    """A case as a script would read it."""
    case = opened.case
    crash = case.failure.root
    return {
        "case": opened.number, "step": case.step.name.lower(), "open": case.is_open, "symptom": text.symptom(case.failure),
        "signature": case.failure.facts.get("signature"), "exit": case.failure.run.exit, "signal": case.failure.run.signal,
        "seconds": case.failure.run.seconds, "expected": [str(each) for each in case.expected],
        "missed": [str(each) for each in case.failure.missed],
        "site": {"file": crash.site.file, "line": crash.site.line, "function": crash.site.function} if crash and crash.site else None,
        "hypotheses": [{"id": h.id, "claim": h.claim, "class": h.kind, "likelihood": h.likelihood.value, "generic": h.generic,
                        "verdict": verdict.value if (verdict := case.verdict(h)) else None, "scope": list(h.scope), "place": h.place,
                        "source": h.source, "supports_if": str(h.check.supports_if), "refutes_if": str(h.check.refutes_if)}
                       for h in rank.shown(case, everything=True)],
        **gating.plain(case),
    }
