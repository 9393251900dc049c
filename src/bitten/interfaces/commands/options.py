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


def allow(command: Command) -> Command:
    """`--allow-write` and `--allow-net`, handed on as one value `allowed`."""

    @click.option("--allow-write", "write", multiple=True, metavar="PATH", help="Let the copy really write there; may be repeated.")
    @click.option("--allow-net", "net", is_flag=True, help="Let the copy use the network.")
    @wraps(command)
    def with_allowed(write: tuple[str, ...], net: bool, **others: Any) -> Any:
        return command(allowed=Allowed(write, net), **others)

    return with_allowed
