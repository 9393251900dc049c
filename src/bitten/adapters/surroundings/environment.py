"""The failing interpreter's packages and builds, read off its folders: nothing of it is started or imported. Knows no case.

Names and versions come from `NAME-VERSION.dist-info`: 0.4 ms for a hundred packages, where `importlib.metadata` takes 60.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

_INFO = re.compile(r"(?P<name>[^-]+)-(?P<version>[^-]+?)(?:-py[\d.]+)?\.(?:dist|egg)-info")
_DEVELOPED = re.compile(r"__editable__\.(?P<name>.+?)-(?P<version>[^-]+)\.pth")
_SETTING = re.compile(r"^(\w+)(?:\s*:\s*[\w.\[\]| ]+)?\s*=\s*['\"]([^'\"]*)['\"]", re.M)
_BLAS = re.compile(r"[\"']?blas[\"']?\s*:\s*\{.*?[\"']name[\"']:\s*[\"']([\w.-]+)[\"'].*?(?:[\"']version[\"']:\s*[\"']([\w.]+)[\"'])", re.S)
EDITABLE = 8


@dataclass(frozen=True)
class Installed:
    """`versions` by plain name (see `plain`), `from_elsewhere` says of a package that it is editable, or from a repository."""

    versions: Mapping[str, str] = field(default_factory=dict)
    from_elsewhere: Mapping[str, str] = field(default_factory=dict)
    builds: Mapping[str, str] = field(default_factory=dict)


def plain(name: str) -> str:
    """As all package tools compare names."""
    return re.sub(r"[-_.]+", "-", name).lower()


def installed(path: Sequence[str]) -> Installed:
    """What an interpreter with this `sys.path` would import, the first of each name."""
    versions: dict[str, str] = {}
    elsewhere: dict[str, str] = {}
    folders = [folder for folder in dict.fromkeys(path) if folder and os.path.isdir(folder)]  # noqa: PTH112 - words: most are skipped
    for folder in folders:
        for name, version, info in _packages(folder):
            if versions.setdefault(name, version) == version and info and name not in elsewhere:
                _note(elsewhere, name, info)
    return Installed(dict(sorted(versions.items())), elsewhere, dict(_builds(folders)))


def _packages(folder: str) -> Iterator[tuple[str, str, str]]:
    """Name, version, and the folder that tells more of it."""
    with suppress(OSError):
        for entry in sorted(os.listdir(folder)):  # noqa: PTH208 - as above
            if entry.endswith("-info") and (found := _INFO.fullmatch(entry)):
                yield plain(found["name"]), found["version"], f"{folder}/{entry}"
            elif entry.startswith("__editable__.") and (found := _DEVELOPED.fullmatch(entry)):
                yield plain(found["name"]), found["version"], ""


def _note(elsewhere: dict[str, str], name: str, info: str) -> None:
    try:
        told = json.loads(Path(info, "direct_url.json").read_bytes())
    except (OSError, ValueError):  # it came from an index
        return
    url, commit = str(told.get("url", "")), str(told.get("vcs_info", {}).get("commit_id", ""))
    where = url.removeprefix("file://")
    elsewhere[name] = f"editable, {where}" if told.get("dir_info", {}).get("editable") else f"{where}@{commit[:12]}" if commit else where


def _builds(folders: Iterable[str]) -> Iterator[tuple[str, str]]:
    """torch's and numpy's own words, as they stand in their files."""
    for folder in folders:
        if torch := _text(f"{folder}/torch/version.py"):
            told = dict(_SETTING.findall(torch))
            cuda = next((f"{name.upper()} {told[name]}" for name in ("cuda", "hip", "xpu") if told.get(name)), "no CUDA")
            yield "torch build", f"{told.get('__version__', '?')}, {cuda}"
        if (numpy := _text(f"{folder}/numpy/__config__.py")) and (blas := _BLAS.search(numpy)):
            yield "blas", f"{blas[1]} {blas[2]} (numpy's)"


def _text(path: str) -> str:
    with suppress(OSError):
        return Path(path).read_text("utf-8", "replace")
    return ""


def rows(found: Installed) -> Iterator[tuple[str, str]]:
    """What a reader should know of it without reading the list."""
    yield from found.builds.items()
    if found.versions:
        yield "packages", f"{len(found.versions)} installed"
    if found.from_elsewhere:
        told = [f"{name} ({where})" for name, where in found.from_elsewhere.items()]
        more = f" and {len(told) - EDITABLE} more" if len(told) > EDITABLE else ""
        yield "not from an index", ", ".join(told[:EDITABLE]) + more
