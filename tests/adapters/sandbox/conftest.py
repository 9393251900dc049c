"""A project with a repository, ignored data and a virtual environment, a home and a folder elsewhere, and rooms of both ways."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from bitten.adapters.sandbox import Ended, Room, open_room

Snapshot = Mapping[str, tuple[int, int, int, bytes]]


@dataclass(frozen=True)
class World:
    """What a run must leave as it was (`project`, `home`, `elsewhere`), what it may write (`shared`), and our own `base`."""

    project: Path
    home: Path
    elsewhere: Path
    shared: Path
    base: Path

    def snapshot(self) -> Snapshot:
        paths = (path for top in (self.project, self.home, self.elsewhere) for path in (top, *top.rglob("*")))
        return {str(path): _seen(path) for path in paths}


@dataclass
class Rooms:
    world: World
    stack: ExitStack = field(default_factory=ExitStack)

    def open(self, *, net: bool = False, write: tuple[str, ...] = ()) -> Room:
        return self.stack.enter_context(open_room(self.world.project, self.world.base, [self.world.shared], write, net))


def _seen(path: Path) -> tuple[int, int, int, bytes]:
    stat = path.lstat()
    content = str(path.readlink()).encode() if path.is_symlink() else path.read_bytes() if path.is_file() else b""
    return stat.st_mode, stat.st_ino, stat.st_mtime_ns, content


@pytest.fixture
def base() -> Iterator[Path]:
    """Where rooms lie in life: a folder with few neighbours, for each of them costs a layer."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        yield Path(folder)


@pytest.fixture
def world(tmp_path: Path, base: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    made = World(*(tmp_path / name for name in ("project", "home", "elsewhere", "shared")), base)
    for folder in (made.project, made.home / ".cache" / "hub", made.elsewhere, made.shared):
        folder.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(made.home))
    monkeypatch.delenv("BITTEN_SANDBOX", raising=False)
    (made.home / ".gitconfig").write_text("[user]\nname = A Person\nemail = person@example.org\n", encoding="utf-8")
    (made.elsewhere / "last.pt").write_bytes(b"weights")
    _fill(made.project)
    return made


def _fill(project: Path) -> None:
    files = {"train.py": "lr = 1\n", "src/data.py": "size = 2\n", ".gitignore": "data/\n.venv/\n", "data/corpus.txt": "to be\n",
             ".venv/pyvenv.cfg": "home = /usr/bin\n", ".venv/lib/package.py": "version = 3\n"}
    for name, text in files.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text, encoding="utf-8")
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "Begin"]):
        subprocess.run(["git", *words], cwd=project, check=True)
    (project / "train.py").write_text("lr = 2\n", encoding="utf-8")


@pytest.fixture
def rooms(world: World) -> Iterator[Rooms]:
    made = Rooms(world)
    with made.stack:
        yield made


@pytest.fixture
def room(rooms: Rooms) -> Room:
    """A room by namespaces, or none."""
    made = rooms.open()
    if not made.how.startswith("namespaces"):
        pytest.skip(made.how)
    return made


@pytest.fixture(params=["namespaces", "clone"])
def any_room(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Room:
    """Each way in turn."""
    request.getfixturevalue("world")
    if request.param == "clone":
        monkeypatch.setenv("BITTEN_SANDBOX", "clone")
    made: Room = request.getfixturevalue("rooms").open()
    if not made.how.startswith(("namespaces", "a clone") if request.param == "clone" else "namespaces"):
        pytest.skip(made.how)
    return made


Shell = Callable[..., Ended]


@pytest.fixture
def shell(world: World) -> Shell:
    """Run a script in a room, in the project."""

    def run(room: Room, script: str, timeout: float | None = 60, **env: str) -> Ended:
        paths = {"PROJECT": str(world.project), "ELSEWHERE": str(world.elsewhere), "SHARED": str(world.shared)}
        return room.run(["sh", "-c", script], str(world.project), {**os.environ, **paths, **env}, timeout)

    return run
