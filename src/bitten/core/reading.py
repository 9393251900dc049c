"""Which files to read first, and why: the stack, what changed, the configs, and what the stack's files import. Knows no file's content."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from .failure import Crash, FileSeen, Surroundings, ToRead

MOST = 12
_TEXT = frozenset(("py", "pyi", "yaml", "yml", "json", "toml", "ini", "cfg", "conf", "sh", "mk", "makefile", "ipynb", "cu", "cpp", "h",
                   "txt", "md", "lock"))
STACK = 6
"""Files of the stack that go before all else: one deeper in the calls says less than what changed."""


def to_read(
    crashes: Sequence[Crash], around: Surroundings, moved: Sequence[str] = (), neighbours: Mapping[str, str] = {}
) -> tuple[ToRead, ...]:
    """At most twelve. A file with several reasons has them all, and stands where its best one puts it.

    `moved` are files that changed since the last good run, `neighbours` those that a file of the stack imports, by that file.
    """
    reasons: dict[str, list[str]] = {}
    for path, because in (*_ranked(crashes, around, moved), *_imported(neighbours)):
        mine = reasons.setdefault(path, [])
        if because not in mine and not (mine and because.startswith("imported")):
            mine.append(because)
    return tuple(ToRead(path, "; ".join(why)) for path, why in list(reasons.items())[:MOST])


def _ranked(crashes: Sequence[Crash], around: Surroundings, moved: Sequence[str]) -> Iterator[tuple[str, str]]:
    stack = dict(_stack(crashes))
    near = list(stack.items())
    yield from near[:STACK]
    yield from ((path, "changed since the last good run") for path in moved if path in stack)
    yield from ((path, "not committed") for path in around.changed if path in stack)
    yield from ((path, "changed since the last good run") for path in moved if is_text(path))
    yield from _configs(around.files)
    yield from near[STACK:]
    yield from ((path, "not committed") for path in around.changed if is_text(path))


def _stack(crashes: Sequence[Crash]) -> Iterator[tuple[str, str]]:
    """Innermost first, of the root cause before the others; the first line of each file."""
    seen: set[str] = set()
    for crash in (crash for crash in crashes if crash.role != "consequence"):
        for frame in reversed(crash.frames):
            if frame.mine and frame.file not in seen:
                seen.add(frame.file)
                yield frame.file, f"in the stack, line {frame.line}"


def _configs(files: Sequence[FileSeen]) -> Iterator[tuple[str, str]]:
    yield from ((each.path, "config that was read") for each in files if each.role == "config")


def _imported(neighbours: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    yield from ((path, f"imported by {by}") for path, by in neighbours.items())


def is_text(path: str) -> bool:
    """What a person would read to understand a program; data, pictures and weights are none of it."""
    return path.rpartition("/")[2].rpartition(".")[2].lower() in _TEXT
