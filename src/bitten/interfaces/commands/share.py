"""`bitten export` and `bitten import`: a case as one file, for a colleague or an artefact of CI. Importing runs nothing."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from bitten.core.trouble import BadInput
from bitten.interfaces import text
from bitten.interfaces.commands.cases import plain
from bitten.interfaces.wiring import House


@click.command()
@click.argument("number", type=int, required=False, metavar="[CASE]")
@click.option("-o", "--output", metavar="FILE", help="Where to; NAME.bitten.tgz here by default, - for standard output.")
@click.option("--json", "as_json", is_flag=True, help="What is in it, as JSON.")
def export(number: int | None, output: str | None, as_json: bool) -> None:
    """Write the case into one file, redacted once more.

    It holds the journal, debug.md, what was printed, all evidence, and the small text files that the failure is about. What was
    masked is listed.

    \b
    bitten export
    bitten export 7 -o case.bitten.tgz
    """
    opened = House.here().case(number)
    file = output or f"{opened.folder.path.name}.bitten.tgz"
    if file != "-" and Path(file).exists():
        raise BadInput("file-exists", f"{file} is there already.", "It was left as it is.", "bitten export -o ANOTHER.bitten.tgz")
    shipment = opened.shipped()
    told = {"file": file, "bytes": len(shipment.content), "masked": dict(shipment.masked), "left_out": list(shipment.left_out),
            "source": list(shipment.source)}
    if file == "-":
        sys.stdout.buffer.write(shipment.content)
    else:
        Path(file).write_bytes(shipment.content)
    words = json.dumps(told, ensure_ascii=False, indent=1) if as_json else _said(opened.number, told)
    click.echo(words, err=file == "-")


def _said(number: int, told: dict[str, object]) -> str:
    masked, left_out, source = told["masked"], told["left_out"], told["source"]
    assert isinstance(masked, dict) and isinstance(left_out, list) and isinstance(source, list) and isinstance(told["bytes"], int)
    kinds = ", ".join(f"{kind} {count}" for kind, count in masked.items())
    files = f"{len(source)} source file{'' if len(source) == 1 else 's'}"
    lines = [f"case {number} is in {told['file']} ({told['bytes'] / 1024:.0f} KiB, {files}).",
             f"  masked in it: {kinds}" if kinds else "  no secret was found in it.",
             f"  left out: {text.short(', '.join(left_out), 300)}" if left_out else "",
             "  who gets it:  bitten import FILE, in a clone of the project"]
    return "\n".join(line for line in lines if line)


@click.command("import")
@click.argument("file")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def import_(file: str, as_json: bool) -> None:
    """Open the case in FILE, which another bitten exported, under the next free number here.

    Everything in it is checked before anything is kept. Nothing is run; the commands in it are somebody else's, so later steps ask
    before they run one.

    \b
    bitten import case.bitten.tgz
    """
    case, differing = House.here().received(file)
    if as_json:
        click.echo(json.dumps({**plain(case), "differing": differing}, ensure_ascii=False, indent=1))
        return
    click.echo(case.shown())
    if differing:
        click.echo(click.style(f"  other text here than where it failed: {text.short(', '.join(differing), 300)}", dim=True), err=True)
