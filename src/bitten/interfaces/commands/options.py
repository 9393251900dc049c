"""Options that several commands share, each with one meaning."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from bitten.core.ports import Allowed

Command = Callable[..., Any]

case = click.option("--case", "number", type=int, metavar="N", help="Another case than the current one.")
timeout = click.option("--timeout", type=float, metavar="SECONDS", help="For one run in a copy; five times the failing run by default.")


class WithCommand(click.Command):
    """A command of ours whose own words come before `--`, and the words of another after it: these are its parameter `command`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        at = args.index("--") if "--" in args else len(args)
        ctx.params["command"] = tuple(args[at + 1:])
        return super().parse_args(ctx, args[:at])

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return [*super().collect_usage_pieces(ctx), "-- COMMAND..."]


def allow(command: Command) -> Command:
    """`--allow-write` and `--allow-net`, handed on as one value `allowed`."""

    @click.option("--allow-write", "write", multiple=True, metavar="PATH", help="Let the copy really write there; may be repeated.")
    @click.option("--allow-net", "net", is_flag=True, help="Let the copy use the network.")
    @wraps(command)
    def with_allowed(write: tuple[str, ...], net: bool, **others: Any) -> Any:
        return command(allowed=Allowed(write, net), **others)

    return with_allowed
