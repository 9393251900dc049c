"""The command line: names, help and the one handler at the edge. Each command stands in `commands/`, loaded when called."""

from __future__ import annotations

import importlib
import sys
import warnings

import click

from bitten import __version__
from bitten.interfaces.ends import open_what_is_closed

COMMANDS = {
    "run": "capture", "expect": "capture", "capture": "elsewhere",
    "shell-hook": "elsewhere", "pick": "elsewhere",
    "diagnose": "causes", "suspect": "causes", "check": "causes", "confirm": "causes", "reject": "causes",
    "prompt": "prompt",
    "fix": "fixes", "verify": "fixes", "learn": "fixes", "close": "fixes", "reset": "fixes",
    "show": "cases", "cases": "cases", "switch": "cases", "drop": "cases", "gc": "gc", "picture": "picture",
    "probe": "probe", "bisect": "bisect", "compare": "compare",
    "export": "share", "import": "share", "wait": "detached", "doctor": "doctor",
    "mcp": "mcp",
    "playbooks": "knowledge", "prove": "knowledge", "demo": "demo",
    "plugin": "plugin",
}
"""Each command's module. Importing them all would cost every start what only one of them needs."""
HIDDEN = {"hook": "hook"}
"""For programs of ours, not for people."""


class _Unread(Exception):  # noqa: N818 - it only carries one past click, which would end us with its own exit code
    pass


class _Lazy(click.Group):
    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise _Unread from error

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        known = {**COMMANDS, **HIDDEN}
        if cmd_name not in known:
            return None
        module = importlib.import_module(f"bitten.interfaces.commands.{known[cmd_name]}")
        name = cmd_name.replace("-", "_")
        command = getattr(module, name, None) or getattr(module, f"{name}_")  # `import` can be no name
        assert isinstance(command, click.Command)
        return command


@click.group(cls=_Lazy, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="%(version)s")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """From a failing ML command to a verified fix, with evidence at every step.

    \b
    bitten run -- make train          capture the failure, see tested hypotheses
    bitten check                      run what would decide the open ones
    bitten confirm h1                 read the evidence, name the deciding value
    bitten verify                     prove the fix and its test
    bitten close                      one commit of fix, test and lesson

    Alone, it shows the current case and the one next thing to do.
    """
    if ctx.invoked_subcommand is None:
        from bitten.interfaces.commands.cases import overview  # noqa: PLC0415 - only when it is asked for

        overview()


def main() -> None:
    """The edge: troubles become three sentences and an exit code; a fault of ours becomes a report that can be pasted."""
    open_what_is_closed()
    warnings.simplefilter("ignore", SyntaxWarning)  # what Python thinks of the person's source, which we parse, is no word of ours
    try:
        code = cli(prog_name="bitten", standalone_mode=False)
    except (KeyboardInterrupt, click.Abort):
        code = 130
    except Exception as error:
        from bitten.interfaces.fault import tell  # noqa: PLC0415 - only when it is needed

        code = tell(error.__cause__ if isinstance(error, _Unread) and error.__cause__ else error)
    sys.exit(code if isinstance(code, int) else 0)
