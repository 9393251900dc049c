"""`mcp`: the server that an agent starts. Its help stands here; `bitten.__main__` takes the short way past it."""

from __future__ import annotations

import click


@click.command()
@click.option("--root", default="", metavar="DIR", help="The project to serve, instead of CLAUDE_PROJECT_DIR or the current folder.")
def mcp(root: str) -> int:
    """Serve the case to an agent by MCP, on standard input and output. It proposes and has checked; it can't confirm.

    \b
    bitten mcp
    bitten mcp --root ~/charngram
    """
    from bitten.interfaces.mcp.__main__ import main  # noqa: PLC0415 - help needs no server

    return main(root)
