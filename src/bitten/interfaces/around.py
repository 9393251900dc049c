"""The sections of debug.md on what surrounded a failure: config and data, environment, what changed, files to read. Knows no file.

Each is cut to what a reader takes in, with a count; all of it lies beside debug.md in `capture/`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence

from bitten.core.failure import Failure, FileSeen, Resolved, Surroundings, ToRead
from bitten.core.ladder import Case
from bitten.core.reading import MOST, to_read

FILES, WROTE, VALUES, CHANGED, PROCESSES = 14, 4, 24, 12, 6
_TOLD = "capture/manifest.json"
_BESIDE = (("python", "executable"), ("processor", "capabilities"))
"""What shares a line."""
_CONFIGS = frozenset(("args", "cfg", "config", "conf", "hparams", "opt", "opts", "params"))
"""Names by which programs call the config that they resolved."""


def files(case: Case) -> Iterator[str]:
    around = case.failure.surroundings
    read = [each for each in around.files if each.role != "wrote"]
    yield from _cut([file(each) for each in read], FILES, _TOLD)
    yield from _cut([file(each) for each in around.files if each.role == "wrote"], WROTE, _TOLD)
    yield from (f"- {line}" for line in around.manifest)
    yield from _values([*_of_files(around.configs), *_of_frames(case.failure)])
    if len(around.processes) > 1:
        yield "\nProcesses:\n"
        yield from _cut([f"- `{line}`" for line in around.processes], PROCESSES, _TOLD)


def file(each: FileSeen) -> str:
    is_gone = each.size < 0 and each.count == 1 and not each.path.endswith("/")
    known = [f"{each.size:,} bytes" if each.size >= 0 else "not there when it was opened" if is_gone else "",
             f"{each.rows:,} lines" if each.rows >= 0 else "",
             f"{each.count:,} files read" if each.count > 1 else "", f"sha256 {each.digest[:12]}{'' if each.whole else ' of its first MiB'}"
             if each.digest else ""]
    told = ", ".join(word for word in known if word)
    return f"- {each.role}: `{each.path}`" + (f" ({told})" if told else "")


def _of_files(configs: Iterable[Resolved]) -> Iterator[str]:
    """Each once: a config that holds what another does only names it."""
    told: dict[tuple[tuple[str, str], ...], str] = {}
    for each in configs:
        values = tuple((name, str(value)) for name, value in each.values.items())
        if first := told.get(values):
            yield f"{each.source}: the same as {first}"
            continue
        told[values] = each.source.partition(",")[0]
        yield each.source
        yield from (f"    {name} = {value}" for name, value in values)
        if each.left_out:
            yield f"    … {each.left_out} more in the file"


def _of_frames(failure: Failure) -> Iterator[str]:
    """What the program itself held as its config, nearest to the failure; each name once."""
    told = {each.source.partition(" ")[0] for each in failure.surroundings.configs}  # those are told in full
    for frame in (frame for crash in failure.crashes for frame in reversed(crash.frames) if frame.mine):
        for name, value in frame.variables.items():
            if name in _CONFIGS and name not in told:
                told.add(name)
                yield f"{name}, a variable at {frame.file}:{frame.line} in {frame.function}"
                yield f"    {value}"


def _values(lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield "\nValues, as the files and the program had them:\n"
        yield "```"
        yield from (line.replace("```", "'''") for line in lines[:VALUES])
        if len(lines) > VALUES:
            yield f"… {len(lines) - VALUES} more lines: {_TOLD}"
        yield "```"


def environment(case: Case) -> Iterator[str]:
    told = dict(case.failure.surroundings.environment)
    if told.get("interpreter") == told.get("executable"):
        told.pop("interpreter", None)
    for name, more in _BESIDE:
        if told.get(name) and told.get(more):
            told[name] += f", {told.pop(more)}"
    yield from (f"- {name}: {value}" for name, value in told.items() if value)


def changed(case: Case) -> Iterator[str]:
    around = case.failure.surroundings
    if around.since:
        yield f"{around.since[0][:1].upper()}{around.since[0][1:]}. Since then:"
        yield from (f"- {line}" for line in around.since[1:])
        yield ""
    if around.head:
        yield f"HEAD is {around.head[:12]}; not committed:" if around.changed else f"HEAD is {around.head[:12]}; nothing uncommitted."
    yield from _cut([f"- `{path}`" for path in around.changed], CHANGED, "git status")


def reading(case: Case) -> Iterator[str]:
    """What capture ranked, with the places that hypotheses point to before all that is not in the stack."""
    known = case.failure.surroundings.to_read or to_read(case.failure.crashes, case.failure.surroundings)
    reasons = {each.path: each.because for each in known if each.because.startswith("in the stack")}
    pointing: dict[str, list[str]] = {}
    for hypothesis in case.hypotheses:
        for path in dict.fromkeys(part.split(":")[0] for part in hypothesis.scope):
            pointing.setdefault(path, []).append(hypothesis.id)
    for path, names in pointing.items():
        told = f"{', '.join(names)} {'points' if len(names) == 1 else 'point'} there"
        reasons[path] = "; ".join(filter(None, (reasons.get(path) or _because(known, path), told)))
    for each in known:
        reasons.setdefault(each.path, each.because)
    yield from (f"- `{path}`: {because}" for path, because in list(reasons.items())[:MOST])


def _because(known: Iterable[ToRead], path: str) -> str:
    return next((each.because for each in known if each.path == path), "")


def _cut(lines: Sequence[str], most: int, where: str) -> Iterator[str]:
    """One line too many is shown: its place would go to the count."""
    shown = lines if len(lines) <= most + 1 else lines[:most]
    yield from shown
    if len(lines) > len(shown):
        yield f"- … {len(lines) - len(shown)} more: {where}"


def kept(around: Surroundings) -> dict[str, str]:
    """All of it as JSON, by the name of the file in `capture/`."""
    listed = {
        "files": [{name: getattr(each, name) for name in each.__dataclass_fields__} for each in around.files],
        "values": [{"source": each.source, "values": dict(each.values), "left out": each.left_out} for each in around.configs],
        "remarks": list(around.manifest), "processes": list(around.processes),
    }
    where = {"environment": dict(around.environment), "packages": dict(around.packages), "head": around.head,
             "not committed": list(around.changed), "since the last good run": list(around.since)}
    return {f"{name}.json": json.dumps(told, ensure_ascii=False, indent=1) + "\n"
            for name, told in (("manifest", listed), ("environment", where))}
