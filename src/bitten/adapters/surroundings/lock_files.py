"""Whether an interpreter has what the project's lock files say. Reads them as text: a lock of a thousand packages takes a second to parse.

Limit: a package that a lock names for another system, or for an extra, is not told from one that is missing, so only a
requirements file's packages without a condition can be missing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from bitten.adapters.surroundings.environment import plain

_LOCKS = ("uv.lock", "poetry.lock", "pdm.lock", "pylock.toml", "Pipfile.lock", "requirements.lock", "environment.yml", "environment.yaml")
SHOWN = 6
LARGEST = 16 << 20
_LOCKED = re.compile(r"^\[\[package\]\]\s*\nname = \"([^\"]+)\"\s*\nversion = \"([^\"]+)\"", re.M)
_PINNED = re.compile(r"^[ \t]*([A-Za-z0-9][\w.-]*)(?:\[[^\]]*\])?\s*===?\s*([\w.!+-]+)\s*(;|\\|#|--hash|$)", re.M)
_CONDA = re.compile(r"^[ \t]*-\s+\"?([A-Za-z0-9][\w.-]*)\s*={1,2}\s*([\d][\w.]*)(?:=[\w.]+)?\"?\s*$", re.M)
_PYTHON_ONLY_BY_CONDA = frozenset(("python", "pip", "cudatoolkit", "cuda", "pytorch-cuda", "mkl"))

Pins = Mapping[str, tuple[str, ...]]
"""The versions that a lock allows of each package: a lock for several systems may have two."""


def agreement(root: Path, versions: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """One line a lock file: how many packages it pins, and which of them differ."""
    for path in _locks(root):
        pins, strict = _pins(path)
        if pins and versions:
            yield path.name, _told(pins, strict, versions)


def _locks(root: Path) -> list[Path]:
    found = [root / name for name in _LOCKS] + sorted(root.glob("requirements*.txt"))
    return [path for path in found if path.is_file()][:6]


def _pins(path: Path) -> tuple[Pins, frozenset[str]]:
    """What is pinned, and which of it must be there."""
    text = ""
    with suppress(OSError):
        text = path.read_text("utf-8", "replace") if path.stat().st_size <= LARGEST else ""
    if path.name == "Pipfile.lock":
        return _pipfile(text), frozenset()
    if path.suffix in (".yml", ".yaml"):
        return _gathered((name, version) for name, version in _CONDA.findall(text) if name not in _PYTHON_ONLY_BY_CONDA), frozenset()
    if path.suffix == ".txt" or path.name == "requirements.lock":
        found = _PINNED.findall(text)
        return _gathered((name, version) for name, version, _ in found), frozenset(plain(name) for name, _, then in found if then != ";")
    return _gathered(_LOCKED.findall(text)), frozenset()


def _pipfile(text: str) -> Pins:
    try:
        sections = json.loads(text)
    except ValueError:
        return {}
    pairs = ((name, each.get("version", "")) for part in ("default", "develop") for name, each in sections.get(part, {}).items())
    return _gathered((name, version.removeprefix("==")) for name, version in pairs if version.startswith("=="))


def _gathered(pairs: Iterator[tuple[str, str]] | list[tuple[str, str]]) -> Pins:
    found: dict[str, tuple[str, ...]] = {}
    for name, version in pairs:
        found[plain(name)] = (*found.get(plain(name), ()), version)
    return found


def _told(pins: Pins, strict: frozenset[str], versions: Mapping[str, str]) -> str:
    differs = [f"{name} {versions[name]} (locked {' or '.join(locked)})" for name, locked in pins.items()
               if name in versions and not any(_same(versions[name], each) for each in locked)]
    missing = sorted(name for name in strict if name in pins and name not in versions)
    if not differs and not missing:
        return f"agrees: {sum(1 for name in pins if name in versions)} of its {len(pins)} packages are here, as pinned"
    parts = [_some(differs, "differ"), _some(missing, "missing")]
    return f"of its {len(pins)} packages " + "; ".join(part for part in parts if part)


def _some(names: list[str], what: str) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return f"{len(names)} {what}: {', '.join(names[:SHOWN])}{more}" if names else ""


def _same(version: str, pinned: str) -> bool:
    """A pin without a build (`2.3.0`) allows one with it (`2.3.0+cpu`); `1.2` is `1.2.0`."""
    here = version if "+" in pinned else version.partition("+")[0]
    return _short(here) == _short(pinned)


def _short(version: str) -> str:
    return re.sub(r"(\.0)+$", "", version.lower())
