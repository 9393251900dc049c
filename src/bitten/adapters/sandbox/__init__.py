"""Rooms where runs can do no harm: `open_room` makes one, by namespaces where the system allows, else as a clone with links.

`BITTEN_SANDBOX=clone` in the environment asks for the second way. Nothing here knows what a run is for.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from bitten.adapters.held import held_folder, sweep
from bitten.core.trouble import BadInput

from .clone import cloned_room
from .ended import Ended, never
from .launch import WallError
from .refusals import refusals
from .room import Room
from .walls import walled_room

__all__ = ["Ended", "Room", "never", "open_room", "refusals", "sweep"]


@contextmanager
def open_room(root: Path, base: Path, shared: Sequence[Path], write: Sequence[str] = (), net: bool = False) -> Iterator[Room]:
    """A room for the project at `root`. Layers go below `base`, which is ours alone and outside the project.

    `shared` and `write` are paths that its runs really write; `net` leaves the network open.
    Raises: BadInput `allow-write-missing`.
    """
    root, base = root.resolve(), base.resolve()
    opened = [str(path.resolve()) for path in (*shared, *(_existing(root / path) for path in write))]
    with ExitStack() as stack:
        folder = stack.enter_context(held_folder(base))
        yield _make(stack, root, folder, opened, net)


def _make(stack: ExitStack, root: Path, folder: Path, opened: Sequence[str], net: bool) -> Room:
    if os.environ.get("BITTEN_SANDBOX") == "clone":
        return stack.enter_context(cloned_room(root, folder, opened, net, "BITTEN_SANDBOX asks for it"))
    try:
        return stack.enter_context(walled_room(root, folder, opened, net))
    except WallError as reason:
        return stack.enter_context(cloned_room(root, folder, opened, net, f"namespaces can't serve here ({reason})"))


def _existing(path: Path) -> Path:
    if not path.exists():
        raise BadInput("allow-write-missing", f"{path} does not exist, so writing to it can't be allowed.", way=f"mkdir -p {path}")
    return path
