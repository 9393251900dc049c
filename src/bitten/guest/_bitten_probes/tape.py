"""Where marks of a recording are written: one JSON line each, in a file of this process, bounded. Knows no stage's meaning.

A mark says what a value was like (`fps`, `value`), what it was made of (`given`), and which random state it was drawn from (`random`).
"""

from __future__ import annotations

import hashlib
import os
import sys
from time import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]
fingerprint: Any = hook.load("_bitten_probes.fingerprint")
pieces: Any = hook.load("_bitten_probes.pieces")
frames: Any = hook.load("_bitten_frames")

LIMIT = 16 << 20
"""Bytes a process; up to twice as many for steps that are powers of two."""
HELD = 64 << 10
LEAVES = 24
ELEMENTS = 1 << 18
"""Of a larger tensor so many are in its statistics, evenly spaced."""


class Tape:
    written = number = 0
    held: list[str] = []  # noqa: RUF012 - one tape a process
    size = 0
    counts: dict[tuple[str, int, str], int] = {}  # noqa: RUF012 - as above
    step = 0
    greeted = False
    has_torch = False


def mark(stage: str, key: str, where: tuple[str, str] = ("", ""), *, fps: Any = None, value: Any = None, given: str = "",
         random: str = "", also: Any = (), kind: str = "", step: int | None = None) -> None:  # fmt: skip
    """`given` and `random` are left empty where they are not known; `kind` is for people."""
    step = Tape.step if step is None else step
    if Tape.written > LIMIT and (step & (step - 1) or Tape.written > 2 * LIMIT):
        return
    if not Tape.greeted:
        Tape.greeted = True
        _greet()
    counted = (stage, step, key)
    n = Tape.counts.get(counted, 0)
    if n or len(Tape.counts) < 200_000:
        Tape.counts[counted] = n + 1
    told: dict[str, Any] = {"stage": stage, "step": step, "key": key, "n": n, "t": round(time(), 6), "at": where[0], "place": where[1]}
    for name, each in (("fps", fps), ("value", value), ("given", given), ("random", random), ("also", list(also)), ("kind", kind)):
        if each not in (None, "", []):
            told[name] = each
    _write(told)


def _greet() -> None:
    hook.load("_bitten_probes.surroundings").tell()


def _write(told: dict[str, Any]) -> None:
    import json  # noqa: PLC0415 - loaded by every framework

    try:
        line = json.dumps(told, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    except ValueError:  # JSON has no Inf, and a line with one in it could not be read
        line = json.dumps(_finite(told), separators=(",", ":"), ensure_ascii=True)
    Tape.held.append(line)
    Tape.size += len(line) + 1
    Tape.written += len(line) + 1
    if Tape.size > HELD:
        flush()


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: str(each) if name == "value" and isinstance(each, float) else _finite(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not abs(value) < float("inf") else value


def flush() -> None:
    """In one write; a mark is on disk at the latest when its step ends."""
    if not Tape.held:
        return
    was = hook.set_busy(True)
    try:
        data = ("\n".join(Tape.held) + "\n").encode()
        Tape.held, Tape.size = [], 0
        fd = os.open(f"{hook.Where.spool}/recording-{os.getpid()}.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            os.write(fd, data)
        finally:
            os.close(fd)
    finally:
        hook.set_busy(was)


def forked() -> None:
    Tape.held, Tape.counts = [], {}
    Tape.size = Tape.written = Tape.step = 0
    Tape.greeted = False


# ---------------------------------------------------------------------------------------------- what values were like


def prints(value: Any) -> dict[str, Any] | None:
    """Fingerprints of a value by the paths of its leaves; None where it has none that can be read."""
    found: dict[str, Any] = {}
    for path, leaf in pieces.pieces(value):
        if len(found) >= LEAVES:
            break
        found[path] = pieces.print_of(leaf, ELEMENTS)
    return found or None


def digest(*values: Any) -> str:
    """Of all of them; empty where one can't be read."""
    found = hashlib.blake2b(digest_size=8)
    for value in values:
        part = pieces.brief(value, fingerprint.HASHED)
        if not part:
            return ""
        found.update(part.encode())
    return found.hexdigest()


def random_states() -> dict[str, str]:
    """Of each generator that everybody shares. Reads them; draws nothing."""
    found = {}
    torch, numpy, plain = (sys.modules.get(name) for name in ("torch", "numpy.random", "random"))
    if Tape.has_torch and torch is not None:
        found["torch"] = _short(memoryview(torch.get_rng_state().numpy()))
    if numpy is not None and hasattr(numpy, "get_state"):
        state = numpy.get_state()
        found["numpy"] = _short(memoryview(state[1]).cast("B"), repr(state[2:]).encode())
    if plain is not None and hasattr(plain, "getstate"):
        found["random"] = str(hash(plain.getstate()[1]))
    return found


def _short(*parts: Any) -> str:
    found = hashlib.blake2b(digest_size=8)
    for each in parts:
        found.update(each)
    return found.hexdigest()


def drawn(before: dict[str, str]) -> str:
    """What those generators were like that something has drawn from since; empty where nothing has."""
    after = random_states()
    return " ".join(f"{name} {state}" for name, state in before.items() if after.get(name, state) != state)


def random_state(generator: Any = None) -> str:
    """Of torch's own generator, or of this one."""
    torch = sys.modules["torch"]
    return _short(memoryview((generator if generator is not None else torch.default_generator).get_state().numpy()))
