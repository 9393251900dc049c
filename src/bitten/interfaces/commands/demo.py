"""`bitten demo`: the recipe's own story, with you at the keyboard. It types nothing that you could not type yourself."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import click

from bitten.core.trouble import BadInput
from bitten.interfaces.story import STORY, Scene
from bitten.interfaces.wiring import Terminal, lay_out, mend


@click.command()
@click.argument("folder", default="bitten-demo", type=click.Path(path_type=Path))
def demo(folder: Path) -> None:
    """Lay out the bundled example in FOLDER and go through the story, command by command.

    It needs torch and pytest in the Python that `python` means in this shell.

    \b
    bitten demo
    bitten demo /tmp/my-demo
    """
    if Terminal().channel != "terminal":
        raise BadInput(
            "demo-needs-a-terminal", "The demo is played at a keyboard.", "A pipe can't confirm a cause.", "make demo plays it by itself"
        )
    project = lay_out(folder.resolve())
    click.echo(f"The example is in {project}, a git repository of its own.\n")
    for scene in STORY:
        click.echo(click.style(f"# {scene.says}", dim=True))
        _edit(project) if scene.edits else _play(project, scene)


def _play(project: Path, scene: Scene) -> None:
    click.prompt(click.style(f"$ {scene.command}", bold=True), default="", show_default=False, prompt_suffix="   (Enter runs it)")
    subprocess.run(shlex.split(scene.command), cwd=project, check=False)
    click.echo()


def _edit(project: Path) -> None:
    """By hand in another window, or the prepared edit."""
    if click.confirm("Edit the files in another window now? (no: take the prepared edit)", default=False):
        click.pause("Press any key when the edit is done …")
        return
    click.echo(mend(project))
