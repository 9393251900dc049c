"""Programs under the instruments, as a test sees them: written, run with the guest in, and what was told read back.

`probed` runs in a fork of a warm interpreter (torch is imported once a test process); `probed_alone` in a Python of its own, for what
must be seen from the first import on, for other interpreters, and for launchers.
"""

from __future__ import annotations

import atexit
import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from bitten.adapters.guest_told import guest_facts, guest_log
from bitten.adapters.runs import invitation
from tests.guest.visit import bare_environment, project

SERVER = Path(__file__).with_name("server.py")
_servers: dict[tuple[str, ...], subprocess.Popen[str]] = {}


@dataclass(frozen=True)
class Probed:
    """What a run showed. `told` are all sightings; `findings` those past a threshold, `hints` those with words and no threshold."""

    exit: int
    stdout: str
    stderr: str
    spool: Path
    root: Path

    @cached_property
    def told(self) -> tuple[Any, ...]:
        return guest_facts.read(self.spool, self.root, self.exit != 0).sightings

    @cached_property
    def log(self) -> guest_log.Log:
        return guest_log.load(self.spool)

    @property
    def troubles(self) -> list[str]:
        """Instruments that failed; a test of an instrument asserts that there are none."""
        return [f"{each['where']}: {each['err']}" for each in self.log.of("hookerr")]

    @property
    def findings(self) -> list[Any]:
        return [each for each in self.told if each.finding]

    @property
    def hints(self) -> list[Any]:
        return [each for each in self.told if not each.finding and "says" in each.facts]

    def of(self, probe: str) -> list[Any]:
        return [each for each in self.told if each.probe == probe]

    def fact(self, name: str) -> Any:
        """The value of a fact: of a finding before others; None where nobody measured it."""
        having = sorted((each for each in self.told if name in each.facts), key=lambda each: not each.finding)
        return having[0].facts[name] if having else None


def line_of(source: str, mark: str) -> int:
    """The number of the one line that has this mark in it."""
    found = [number for number, line in enumerate(source.splitlines(), 1) if mark in line]
    assert len(found) == 1, (mark, found)
    return found[0]


def probed(tmp_path: Path, source: str | dict[str, str], *names: str, argv: tuple[str, ...] = (), env: dict[str, str] | None = None,
           turns: tuple[str, ...] = (), stop_after: int | None = None,
           warm: tuple[str, ...] = ("torch", "numpy", "torch._dynamo")) -> Probed:  # fmt: skip
    """Run `main.py` (the source, or of several files) under these instruments in a warm fork.

    The first optimizer of a process imports torch._dynamo, which takes more than a second.
    """
    root, asked = _laid_out(tmp_path, source, names, argv, env, turns, stop_after)
    server = _server(warm)
    server.stdin.write(json.dumps(asked) + "\n")
    server.stdin.flush()
    return _read(int(server.stdout.readline()), asked, root)


def probed_alone(tmp_path: Path, source: str | dict[str, str], *names: str, argv: tuple[str, ...] = (), env: dict[str, str] | None = None,
                 turns: tuple[str, ...] = (), stop_after: int | None = None, launcher: tuple[str, ...] = (sys.executable,),
                 seconds: int = 120) -> Probed:
    """The same in a fresh interpreter, or by `launcher` (`python`, or `python -m torch.distributed.run …`)."""
    root, asked = _laid_out(tmp_path, source, names, argv, env, turns, stop_after)
    with Path(asked["out"]).open("w") as out, Path(asked["err"]).open("w") as err:
        whole = {**bare_environment(), "OMP_NUM_THREADS": "1", **asked["env"]}
        done = subprocess.run([*launcher, *asked["argv"]], cwd=root, env=whole, stdout=out, stderr=err, timeout=seconds, check=False)
    return _read(done.returncode, asked, root)


def _laid_out(tmp_path, source, names, argv, env, turns, stop_after):
    place = Path(tempfile.mkdtemp(dir=tmp_path))
    root = project(place, {"main.py": source} if isinstance(source, str) else source)
    spool, cache = place / "spool", tmp_path / "cache"
    spool.mkdir()
    cache.mkdir(exist_ok=True)
    whole = {**invitation.env_for(spool, cache, (), False, {}, names, turns, stop_after), **(env or {})}
    return root, {"cwd": str(root), "env": whole, "argv": ["main.py", *argv], "out": str(place / "out"), "err": str(place / "err")}


def _read(code: int, asked: dict[str, Any], root: Path) -> Probed:
    out, err = (Path(asked[name]).read_text("utf-8") for name in ("out", "err"))
    return Probed(code, out, err, Path(asked["env"]["BITTEN_SPOOL"]), root)


def _server(warm: tuple[str, ...]) -> subprocess.Popen[str]:
    if warm not in _servers:
        place = tempfile.mkdtemp(prefix="bitten-warm-")
        env = {**bare_environment(), "OMP_NUM_THREADS": "1", **invitation.env_for(Path(place), Path(place), (), False, {})}
        server = _servers[warm] = subprocess.Popen([sys.executable, str(SERVER), *warm], env=env, stdin=subprocess.PIPE,
                                                   stdout=subprocess.PIPE, text=True)
        atexit.register(_end, server, place)
        assert server.stdout.readline() == "ready\n"
    return _servers[warm]


def _end(server: subprocess.Popen[str], place: str) -> None:
    server.stdin.close()
    server.wait(timeout=20)
    server.stdout.close()
    for each in Path(place).iterdir():
        each.unlink()
    Path(place).rmdir()
