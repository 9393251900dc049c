"""Writes docs/reference/commands.md from the command line itself, or (`--check`) says whether it is current."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

os.environ["COLUMNS"] = "100"

from bitten.adapters.config import Settings
from bitten.interfaces.cli import COMMANDS, cli

PAGE = Path(__file__).parent.parent / "docs" / "reference" / "commands.md"
VARIABLES = {
    "BITTEN_REPRODUCER": "`0` asks `run` not to look for a reproducer.",
    "BITTEN_SANDBOX": "`clone` asks for throw-away copies that need no namespaces.",
    "XDG_RUNTIME_DIR": "Where a running command's output is held; else `/dev/shm`, else `TMPDIR`.",
    "XDG_STATE_HOME": "Heads of journals, and reports of our own faults.",
    "XDG_CACHE_HOME": "The guest's byte-code cache.",
    "COLUMNS, NO_COLOR": "As everywhere.",
}


def page() -> str:
    parts = ["# Commands\n\nGenerated from the code by `python tools/reference.py`.\n", _help(cli, "bitten")]
    with click.Context(cli, info_name="bitten") as ctx:
        for name in COMMANDS:
            command = cli.get_command(ctx, name)
            assert command is not None
            parts.append(_help(command, f"bitten {name}"))
    return "\n".join([*parts, _settings(), _variables()])


def _help(command: click.Command, name: str) -> str:
    with click.Context(command, info_name=name, max_content_width=100, terminal_width=100) as ctx:
        return f"## `{name}`\n\n```text\n{command.get_help(ctx)}\n```\n"


def _settings() -> str:
    rows = "\n".join(f"| `{name}` | `{field.default!r}` |" for name, field in Settings.__dataclass_fields__.items())
    told = " ".join((Settings.__doc__ or "").split())
    where = "`[tool.bitten]` in pyproject.toml, or `.bitten.toml`, which wins."
    return f"## Settings\n\n{where} {told}\n\n| name | default |\n|---|---|\n{rows}\n"


def _variables() -> str:
    rows = "\n".join(f"| `{name}` | {what} |" for name, what in VARIABLES.items())
    return f"## Environment variables\n\n| name | what it does |\n|---|---|\n{rows}\n"


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(0 if PAGE.read_text("utf-8") == page() else f"{PAGE.name} is stale: python tools/reference.py")
    PAGE.write_text(page(), "utf-8")
