"""`bitten gc`: what the cases take on disk, and what of it may go. Decides nothing of that itself."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from bitten.interfaces.fault import spared
from bitten.interfaces.wiring import House

if TYPE_CHECKING:
    from bitten.interfaces.wiring import Tidied


@click.command()
@click.option("--dry-run", is_flag=True, help="Only say what would go.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def gc(dry_run: bool, as_json: bool) -> None:
    """Keep the cases under `keep_mib`: raw output of closed and dropped ones goes, oldest first; an open case loses nothing.

    Events, debug.md, fix.patch, verification.json and run.sh stay for ever.

    \b
    bitten gc --dry-run
    """
    tidied = House.here().tidied(dry_run=dry_run)
    click.echo(json.dumps(plain(tidied, dry_run), ensure_ascii=False, indent=1) if as_json else told(tidied, dry_run))


def after_a_case(house: House) -> None:
    """Once a case is done: nothing to say while there is room."""
    with spared():
        if house.takes_too_much():
            click.echo(told(house.tidied(), dry_run=False), err=True)


def plain(tidied: Tidied, dry_run: bool) -> dict[str, object]:
    """In bytes, as a script would read it."""
    return {"before": tidied.before, "after": tidied.after, "limit": tidied.limit, "dry_run": dry_run,
            "freed": [{"what": each.what, "bytes": each.size} for each in tidied.gone], "notes": list(tidied.notes)}


def told(tidied: Tidied, dry_run: bool) -> str:
    """What went, what is left, and why no more of it."""
    would = "would free" if dry_run else "freed"
    what = ", ".join(each.what for each in tidied.gone)
    first = f"{would} {mib(tidied.freed)}: {what}; " if tidied.gone else "nothing to free: "
    lines = [f"{first}{mib(tidied.after)} of at most {mib(tidied.limit)} {'would be' if dry_run else 'are'} taken.", *tidied.notes]
    if tidied.after > tidied.limit:
        lines.append("The rest belongs to open cases, or stays for ever: close or drop a case, or raise keep_mib.")
    return "\n".join(lines)


def mib(size: int) -> str:
    return f"{size / 2**20:.1f} MiB"
