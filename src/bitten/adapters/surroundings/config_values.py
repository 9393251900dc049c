"""What stands in a config file, by dotted name: YAML, JSON, TOML and INI, bounded and without secrets. Runs nothing that a file names.

Limit: what a program makes of a value (an interpolation, a default, an override on the command line) is not known here;
a config that the run itself wrote is, and is read the same way.
"""

from __future__ import annotations

import json
import re
import stat
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

from bitten.adapters.folder import Redact, scrubbed
from bitten.core.failure import FileSeen, Resolved
from bitten.guest._bitten_redact import hides, kind_of, placeholder

LARGEST = {".json": 2 << 20}
"""Bytes that are parsed; of all other forms an eighth, since they take longer."""
BUDGET = 0.25
"""Seconds, the import of a parser among them."""
VALUES = 120
LONGEST = 120
SOURCES = 8
WRITTEN = 3
"""Resolved configs that the run wrote: a sweep writes one for each of its jobs."""
_RESOLVED = re.compile(r"(?:^|/)(?:hparams|overrides|[\w.-]*(?:config|args|arguments|params))\.(?:ya?ml|json|toml|ini|cfg)$")
_PAIR = re.compile(r"^\s*([\w.@/-]+)\s*[=:]\s*(.+?)\s*$", re.M)


def resolved(files: Iterable[FileSeen], root: Path, redact: Redact) -> tuple[Resolved, ...]:
    """The values of the configs that were read, then of those that the run wrote. A `.env` stays shut."""
    known = list(files)
    wrote = [each for each in known if each.role == "wrote" and _RESOLVED.search(each.path)]
    chosen = [*(each for each in known if each.role == "config"), *wrote[:WRITTEN]]
    until = time.monotonic() + BUDGET
    parsed = ((each, load(root / each.path)) for each in chosen if not is_env(each.path) and time.monotonic() < until)
    return tuple(_resolved(each, value, redact) for each, value in islice(((e, v) for e, v in parsed if v is not None), SOURCES))


def is_env(path: str) -> bool:
    name = path.rpartition("/")[2]
    return name.startswith(".env") or name.endswith(".env")


def _resolved(each: FileSeen, value: object, redact: Redact) -> Resolved:
    source = redact(each.path if each.role == "config" else f"{each.path} (written by this run)")
    leaves = list(islice(flat(value), 20 * VALUES))
    return Resolved(source, dict(_pairs(leaves[:VALUES], redact)), max(0, len(leaves) - VALUES))


def _pairs(leaves: Sequence[tuple[str, object]], redact: Redact) -> Iterator[tuple[str, str]]:
    for name, value in leaves:
        key = name.rpartition(".")[2] or name
        text = value if isinstance(value, str) else _plain(value)
        told = placeholder(kind_of(key) or "secret", len(text)) if hides(key, text) else scrubbed(text, redact, key)
        yield redact(name)[:LONGEST], (repr(told) if isinstance(value, str) else str(told))[:LONGEST]


def _plain(value: object) -> str:
    try:
        return repr(value[:20] if isinstance(value, list) else value)
    except ValueError:  # a number of more digits than Python writes
        return "a very long number"


def flat(value: object, name: str = "", depth: int = 0) -> Iterator[tuple[str, object]]:
    """The leaves, one at a time: a bomb of aliases is as long as it is read. A list of plain values is one leaf."""
    if isinstance(value, dict) and value and depth < 12:
        for key, each in value.items():
            yield from flat(each, f"{name}.{key}" if name else str(key), depth + 1)
    elif isinstance(value, list) and any(isinstance(each, dict | list) for each in value[:50]) and depth < 12:
        for at, each in enumerate(value):
            yield from flat(each, f"{name}[{at}]", depth + 1)
    else:
        yield name or "value", value


def load(path: Path) -> Any:
    """The parsed content; None where it is too large, gone, or none of what we read."""
    try:
        found = path.stat()
        small = found.st_size <= LARGEST.get(path.suffix.lower(), 256 * 1024)
        return _loaded(path, found.st_mtime_ns, found.st_size) if stat.S_ISREG(found.st_mode) and small else None
    except (OSError, ValueError, RecursionError):
        return None


@lru_cache(maxsize=64)
def _loaded(path: Path, _modified: int, _size: int) -> Any:
    return _parsed(path.read_text("utf-8-sig"), path.suffix.lower())


def _parsed(text: str, suffix: str) -> Any:
    """Raises: ValueError."""
    if suffix == ".json":
        return json.loads(text)
    if suffix in (".yaml", ".yml", ".dvc", ".lock"):
        return _yaml(text)
    if suffix == ".toml":
        return _toml(text)
    return _ini(text)


def _yaml(text: str) -> Any:
    """A tag of the program's own is read as what it stands before."""
    import yaml  # type: ignore[import-untyped]  # noqa: PLC0415 - only where a YAML file was read

    class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]  # a safe one: it makes plain values alone
        pass

    Loader.add_multi_constructor("", _untagged)
    try:
        return yaml.load(text, Loader)
    except (yaml.YAMLError, TypeError) as why:
        raise ValueError(str(why)) from None


def _untagged(loader: Any, _tag: str, node: Any) -> Any:
    make = {"scalar": loader.construct_scalar, "sequence": loader.construct_sequence, "mapping": loader.construct_mapping}[node.id]
    return make(node) if node.id == "scalar" else make(node, deep=True)


def _toml(text: str) -> Any:
    if sys.version_info >= (3, 11):
        import tomllib  # noqa: PLC0415 - as above
    else:
        import tomli as tomllib  # noqa: PLC0415 - as above
    return tomllib.loads(text)


def _ini(text: str) -> Any:
    """Sections and pairs; without sections, as in gin or a properties file, the pairs."""
    import configparser  # noqa: PLC0415 - as above

    parser = configparser.RawConfigParser(strict=False, allow_no_value=True)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    try:
        parser.read_string(text)
    except configparser.Error:
        return dict(_PAIR.findall(text)) or None
    return {name: dict(parser.items(name)) for name in parser.sections()} or None
