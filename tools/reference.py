"""Writes the pages of docs/reference that the code itself knows, or (`--check`) says whether they are current."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

os.environ["COLUMNS"] = "100"

from bitten.adapters.config import Settings
from bitten.adapters.vocabulary import Instrument, Meaning, instruments
from bitten.interfaces.cli import COMMANDS, cli
from bitten.interfaces.mcp.protocol import HANDSHAKE, MODERN
from bitten.interfaces.mcp.tools import INSTRUCTIONS, TOOLS

DOCS = Path(__file__).parent.parent / "docs" / "reference"
VARIABLES = {
    "BITTEN_REPRODUCER": "`0` asks `run` not to look for a reproducer.",
    "BITTEN_SANDBOX": "`clone` asks for throw-away copies that need no namespaces.",
    "XDG_RUNTIME_DIR": "Where a running command's output is held; else `/dev/shm`, else `TMPDIR`.",
    "XDG_STATE_HOME": "Heads of journals, and reports of our own faults.",
    "XDG_CACHE_HOME": "The guest's byte-code cache.",
    "COLUMNS, NO_COLOR": "As everywhere.",
}


def commands() -> str:
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


MCP = """# The MCP server

Generated from the code by `python tools/reference.py`.

`bitten mcp` serves the case of one project to an agent, on standard input and output: [how to add it to yours](../how-to/mcp.md).
It serves the project that `--root` names, else the one that `CLAUDE_PROJECT_DIR` names, else the current folder's; of it always the
current case.

There is no tool to confirm, reject, close or drop, and none that writes a lesson: those are [a person's](../explanation/gates.md).
What an agent does is in the journal by the name that its client gave, as `agent:NAME`, channel `mcp`.

Every answer is given twice, as text and as `structuredContent`; some clients, Claude Code among them, show the model the second
alone. Secrets are masked in both; raw output is quoted line by line as data. A refusal is a result with `isError`: what happened,
why, the way out, and [its slug](errors.md). A fault of ours is one too, in a sentence; its report lies where that says.

| | |
|---|---|
| protocol | {handshake} by handshake, {modern} by envelope; whichever the client speaks |
| while a check runs | others are answered; `notifications/cancelled` ends it and all that it started, as the session's end does |
| at once | four calls; those that may change the case one after the other |
| a line that is no JSON, or over 4 MiB | an error with no id; the next line is served |
| a call whose process is killed | answered in words; the case is as it was after its last completed step |
| the client goes, or the server is killed | what runs in copies ends with it |
| two sessions on one case | both are served; the slower proposal is numbered anew |
| a `print` of some library | goes to standard error |
| told to the model once | {instructions} |
| starts | [with the standard library alone](../../benchmarks/RESULTS.md), by `bitten mcp` or `python -I -m bitten.interfaces.mcp` |
"""


def mcp() -> str:
    told = MCP.format(handshake=", ".join(reversed(HANDSHAKE)), modern=", ".join(MODERN), instructions=INSTRUCTIONS)
    return "\n".join([told, *map(_tool, TOOLS)])


def _tool(tool: dict[str, Any]) -> str:
    reads = " (changes nothing)" if tool["annotations"]["readOnlyHint"] else ""
    head = f"## `{tool['name']}`\n\n**{tool['title']}**{reads}"
    rows = list(_arguments(tool["inputSchema"]))
    table = "\n".join(["\n| argument | type | |", "|---|---|---|", *rows]) if rows else "\nIt takes no arguments."
    return f"{head}\n\n{tool['description']}\n{table}\n"


def _arguments(schema: dict[str, Any], where: str = "") -> Iterator[str]:
    for name, each in schema["properties"].items():
        kind = each.get("type") or " or ".join(f"`{word}`" for word in each["enum"])
        needed = "" if name in schema["required"] else ", optional"
        yield f"| `{where}{name}` | {kind}{needed} | {each.get('description', '').replace('|', '&#124;')} |"
        if each.get("items", {}).get("type") == "object":
            yield from _arguments(each["items"], f"{where}{name}[].")


COLUMNS = "| fact | what it says | unit | threshold | its source | how it misfires |"
FACTS = """# Facts and findings

Generated from the code by `python tools/reference.py`.

What the instruments of [`bitten probe`](../how-to/probe.md) measure, by name. Every fact can stand in an expectation or a
prediction, which then arms its instrument: `bitten run --expect 'nan.kind == "none"' -- CMD`. Each sighting tells where it was seen:
`at` (the file and line of your own code), `step` (completed steps of the optimizer, from 0), `module` (its dotted path), `also`
(further lines worth reading).

A **finding** is a fact past its threshold at a line of your own code. Where no threshold is named a fact is only told; a *hint* is
a signal of low precision: words that may prompt a hypothesis, never a verdict.
"""


def facts() -> str:
    return "\n".join([FACTS, *map(_vocabulary, instruments())])


def _vocabulary(each: Instrument) -> str:
    head = f"## `{each.name}`\n\n{each.about}\n\n{COLUMNS}\n|---|---|---|---|---|---|"
    return "\n".join([head, *(_row(name, meaning) for name, meaning in each.facts.items())]) + "\n"


def _row(name: str, m: Meaning) -> str:
    return "| " + " | ".join(_cell(cell) for cell in (f"`{name}`", m.says, m.unit, m.threshold, m.source, m.misfires)) + " |"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "&#124;")


def main() -> str | int:
    pages = {DOCS / "commands.md": commands(), DOCS / "mcp.md": mcp(), DOCS / "facts.md": facts()}
    for file, text in pages.items():
        if "--check" not in sys.argv:
            file.write_text(text, "utf-8")
        elif not file.exists() or file.read_text("utf-8") != text:
            return f"{file.name} is stale: python tools/reference.py"
    return 0


if __name__ == "__main__":
    sys.exit(main())
