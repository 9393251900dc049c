"""`diagnose --with` and `fix --with`: the options, and the two flows of an agent's work on a case. Knows no agent by more than its name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any

import click

from bitten.core.ports import Limits

Command = Callable[..., Any]


@dataclass(frozen=True)
class Driving:
    """Which agent, and what was typed of its budget; what was not stands in the settings."""

    name: str
    model: str | None = None
    seconds: float | None = None
    turns: int | None = None
    dollars: float | None = None
    dry_run: bool = False

    def limits(self, seconds: float, turns: int, dollars: float) -> Limits:
        return Limits(self.seconds or seconds, self.turns or turns, self.dollars or dollars)


def options(command: Command) -> Command:
    """`--with` and its budget, handed on as one value `driving`; None without `--with`."""

    @click.option("--with", "name", metavar="AGENT", help="Let an agent do it: claude, or one of the entry point group bitten.agents.")
    @click.option("--model", metavar="NAME", help="With --with: the model, instead of the agent's own choice.")
    @click.option("--seconds", type=click.FloatRange(min=1), metavar="N", help="With --with: the longest that its session may take.")
    @click.option("--turns", type=click.IntRange(min=1), metavar="N", help="With --with: the most turns of the model.")
    @click.option("--dollars", type=click.FloatRange(min=0, min_open=True), metavar="N",
                  help="With --with: the most that its session may cost, by list price.")
    @click.option("--dry-run", is_flag=True, help="With --with: print the prompt that would be sent, and send nothing.")
    @wraps(command)
    def with_driving(name: str | None, model: str | None, seconds: float | None, turns: int | None, dollars: float | None, dry_run: bool,
                     **others: Any) -> Any:
        if name is None and (model or seconds or turns or dollars or dry_run):
            raise click.UsageError("--model, --seconds, --turns, --dollars and --dry-run need --with AGENT.")
        return command(driving=None if name is None else Driving(name, model, seconds, turns, dollars, dry_run), **others)

    return with_driving


def diagnose(number: int | None, everything: bool, driving: Driving) -> None:
    from bitten.interfaces.driving import diagnose as diagnosed  # noqa: PLC0415 - a command without an agent needs nothing of it

    diagnosed(number, everything, driving)


def fix(number: int | None, scope: Sequence[str], test: str, yes: bool, driving: Driving) -> None:
    from bitten.interfaces.driving import fix as fixed  # noqa: PLC0415 - as above

    fixed(number, scope, test, yes, driving)
