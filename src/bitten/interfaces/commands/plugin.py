"""`bitten plugin`: the gates inside a person's own Claude Code, put in and taken out. What is changed of theirs is shown first."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import click

from bitten.core.trouble import Refused, Unable
from bitten.interfaces.wiring import House
from bitten.interfaces.wiring import claude_code as wired

if TYPE_CHECKING:
    from bitten.interfaces.wiring.claude_code import Change, Claude

MARK = click.style("✓ ", fg="green")


@click.group()
def plugin() -> None:
    """Gates inside Claude Code: install, uninstall, or print where the plugin lies.

    \b
    bitten plugin install
    bitten plugin install --project
    claude --plugin-dir "$(bitten plugin path)"
    """


@plugin.command()
def path() -> None:
    """Lay the plugin out with this interpreter filled in, and print its folder."""
    click.echo(wired.layout.lay_out(wired.layout.place()))


@plugin.command()
@click.option("--project", "where", flag_value="settings.json", default=None,
              help="Into this project's .claude/settings.json instead; the paths in it are this machine's.")
@click.option("--local", "where", flag_value="settings.local.json", help="As --project, into settings.local.json, which is not shared.")
@click.option("--cli", metavar="PATH", default="", help="Another claude than the one on PATH.")
@click.option("--dry-run", is_flag=True, help="Say what would be done.")
@click.option("--yes", is_flag=True, help="Write into the project's settings without asking.")
@click.option("--force-advisory", is_flag=True, help="Also into a Claude Code whose hooks may fail open.")
def install(where: str | None, cli: str, dry_run: bool, yes: bool, force_advisory: bool) -> None:
    """Put the gates into Claude Code, for all your projects or for this one.

    \b
    bitten plugin install
    bitten plugin install --project --dry-run
    """
    place = wired.layout.place()
    laid = wired.layout.plugin_in(place) if dry_run else wired.layout.lay_out(place)
    claude = _found(cli, needed=where is None)
    if claude is not None:
        _recent_enough(claude, force_advisory)
    if where is not None:
        _write(wired.put_in(House.here().root, laid, where), dry_run, yes, "Put them in?")
    elif claude is not None:
        _tell(claude, _commands_in(claude), dry_run)
    if not dry_run:
        click.echo(f"{MARK}the gates are in; they hold from the next session on\n  next: see that they are alive:  bitten doctor")


@plugin.command()
@click.option("--cli", metavar="PATH", default="", help="Another claude than the one on PATH.")
@click.option("--dry-run", is_flag=True, help="Say what would be done.")
@click.option("--yes", is_flag=True, help="Change this project's settings without asking.")
def uninstall(cli: str, dry_run: bool, yes: bool) -> None:
    """Take the gates out of Claude Code, and out of this project's settings.

    \b
    bitten plugin uninstall
    """
    place, claude = wired.layout.place(), _found(cli, needed=False)
    _write(wired.taken_out(House.here().root), dry_run, yes, "Take them out?")
    if claude is not None and claude.has_plugin():
        _tell(claude, wired.commands_out(), dry_run)
    was = place.is_dir() if dry_run else wired.layout.take_away(place)
    click.echo(f"{MARK}{'would be out' if dry_run else 'out'}" if was else "it was not laid out here")


def _found(cli: str, *, needed: bool) -> Claude | None:
    """Raises: Unable `agent-no-cli`, with the two commands to type where there is one."""
    claude = wired.found(cli)
    if claude is None and cli:
        raise Unable("agent-no-cli", f"There is no program {cli}.", way="name another one:  --cli PATH")
    if claude is None and needed:
        typed = " && ".join(shlex.join(["claude", *words]) for words in wired.commands_in(wired.layout.place()))
        raise Unable("agent-no-cli", "There is no claude on PATH.", "The plugin is laid out; two commands take it in.",
                     f"bitten plugin install --cli PATH, or:  {typed}")
    return claude


def _recent_enough(claude: Claude, force: bool) -> None:
    version = claude.version()
    told, oldest = _dotted(version) or "an unknown version", _dotted(wired.OLDEST)
    if version < wired.OLDEST and not force:
        raise Unable("agent-too-old", f"{claude.path} is {told}; the gates need {oldest} or newer.",
                     "An older one lets a call through when a hook can't start, without a word.",
                     "claude update, or, for gates that are advisory:  bitten plugin install --force-advisory")
    if version < wired.OLDEST:
        click.echo(f"  {told} is older than {oldest}: these gates are advisory", err=True)
    elif version[:2] != wired.TESTED[:2]:
        click.echo(f"  tested with {oldest} to {_dotted(wired.TESTED)}, and this is {told}: ask bitten doctor", err=True)


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


def _commands_in(claude: Claude) -> Iterator[list[str]]:
    """One that is there already is taken out first: it may have been laid out by another interpreter."""
    if claude.has_plugin():
        yield from wired.commands_out()
    yield from wired.commands_in(wired.layout.place())


def _tell(claude: Claude, commands: Iterable[list[str]], dry_run: bool) -> None:
    for words in commands:
        click.echo(click.style(f"  {'would run: ' if dry_run else ''}{shlex.join(['claude', *words])}", dim=True))
        if not dry_run:
            claude.tell(words)


def _write(changes: list[Change], dry_run: bool, yes: bool, question: str) -> None:
    """Shown, and asked for; a script says --yes."""
    for each in changes:
        click.echo("".join(_shown(each)), nl=False)
    if dry_run or not changes:
        return
    person = House.here().person
    agreed = yes or (person.channel == "terminal" and person.ask(question, "y").lower().startswith("y"))
    if not agreed:
        raise Refused("settings-not-agreed", "These files are yours, and nobody agreed to the change.", "Nothing was written.",
                      "in a terminal, or with:  --yes")
    for each in changes:
        each.make()


def _shown(change: Change) -> Iterator[str]:
    old, new = (text.splitlines(keepends=True) if text else [] for text in (change.old, change.new))
    if change.old is None or change.new is None:
        yield f"{'new' if change.old is None else 'to be removed'}: {change.file}, {len(old or new)} lines\n"
        if change.file.suffix == ".md" or change.new is None:
            return
    for line in difflib.unified_diff(old, new, str(change.file) if change.old is not None else "/dev/null",
                                     str(change.file) if change.new is not None else "/dev/null", n=1):
        yield line if line.endswith("\n") else f"{line}\n"
