"""Lists of data that the program read, or that stand beside its data (DVC): which files they name, and which of these are not there."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from bitten.adapters.surroundings.config_values import flat, is_env, load
from bitten.core.failure import FileSeen

BUDGET = 0.1
"""Seconds; what the configs hold has been parsed before."""
ENTRIES = 5000
SHOWN = 3
_DATA = re.compile(
    r"[^\s*?{}$<>|]+\.(?:csv|tsv|jsonl?|parquet|arrow|feather|npy|npz|pt|pth|bin|safetensors|h5|hdf5|lmdb|tar|zip|gz|zst|tfrecord"
    r"|jpe?g|png|tiff?|webp|wav|flac|mp3|mp4|txt|pkl|pickle|ckpt|onnx|gguf|model|spm|vocab)", re.I)
_OUTPUT = re.compile(r"(?:^|[._])(?:out|output|save|log|dest|dump|export|write|result|run_dir|work)", re.I)
"""Names of values that say where something will be written: what isn't there yet is no fault."""


def odd(files: Iterable[FileSeen], root: Path, cwd: Path) -> Iterator[str]:
    """What lists of data say that is not so, within the budget."""
    until = time.monotonic() + BUDGET
    known = list(files)
    for each in known:
        if time.monotonic() > until:
            return
        if each.role == "config" and each.path.endswith((".json", ".yaml", ".yml")) and not is_env(each.path):
            yield from _named(each.path, root, cwd, until)
        elif each.role == "data" and each.count == 1 and not each.path.endswith("/"):
            yield from _tracked(each, root)


def _named(path: str, root: Path, cwd: Path, until: float) -> Iterator[str]:
    """A value that looks like a file of data is one that the list names."""
    leaves = islice(flat(load(root / path)), ENTRIES)
    named = (name for key, value in leaves if not _OUTPUT.search(key) for name in _names(value))
    names = list(dict.fromkeys(islice(named, ENTRIES)))
    places = [(root / path).parent, cwd, root]
    missing = []
    for name in names:
        if time.monotonic() > until:
            yield f"{path} names {len(names)} files: there was no time to look for all of them"
            return
        if not any((place / name).exists() for place in places):
            missing.append(name)
    if missing:
        more = f" and {len(missing) - SHOWN} more" if len(missing) > SHOWN else ""
        yield f"{path} names {len(names)} file{'s' if len(names) > 1 else ''} of data; not there: {', '.join(missing[:SHOWN])}{more}"


def _names(value: object) -> Iterator[str]:
    for each in value if isinstance(value, list) else [value]:
        if isinstance(each, str) and len(each) < 300 and "://" not in each and _DATA.fullmatch(each):
            yield each


def _tracked(each: FileSeen, root: Path) -> Iterator[str]:
    """What DVC's own file beside the data, or a lock above it, says that the data should be."""
    file = root / each.path
    out = next(filter(None, (_out_of(place, root) for place in (file, *file.parents) if root in place.parents)), None)
    if out is None:
        return
    size = out.get("size") if str(out.get("path", "")).rpartition("/")[2] == file.name else None
    differs = isinstance(size, int) and each.size not in (-1, size)
    yield f"{each.path} is tracked by DVC{_version(out)}" + (f": it should have {size:,} bytes and has {each.size:,}" if differs else "")


def _out_of(place: Path, root: Path) -> Mapping[str, Any] | None:
    beside = _out(load(place.with_name(place.name + ".dvc")), place.name)
    folders = [folder for folder in place.parents if folder == root or root in folder.parents]
    return beside or next(filter(None, (_out(load(each / "dvc.lock"), place.relative_to(each).as_posix()) for each in folders)), None)


def _version(out: Mapping[str, Any]) -> str:
    known = next((f"{name} {str(out[name])[:12]}" for name in ("md5", "etag", "hash") if out.get(name)), "")
    return f" ({known})" if known else ""


def _out(document: Any, name: str) -> Mapping[str, Any] | None:
    """The entry of that name among the outputs of a .dvc file, or of the stages of a lock."""
    stages = document.get("stages") if isinstance(document, dict) else None
    holders = [document, *(stages.values() if isinstance(stages, dict) else ())]
    outs = [out for holder in holders if isinstance(holder, dict) for out in holder.get("outs") or () if isinstance(out, dict)]
    return next((out for out in outs if str(out.get("path", "")).rstrip("/") == name), None)
