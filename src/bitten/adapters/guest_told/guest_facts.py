"""What the guest wrote, read back as the law's nouns: crashes with their root cause first, sightings, files. Starts and judges nothing."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bitten.adapters.folder import scrubbed
from bitten.adapters.guest_told.guest_crashes import Found, Reader, ordered, origin
from bitten.adapters.guest_told.guest_log import Log, Record, load
from bitten.adapters.redact import redact
from bitten.core import signature
from bitten.core.failure import Crash, FileSeen, Resolved, Sighting
from bitten.core.proof import Outcome, Phase

FILES = 60
BY_VARIABLE = ", a variable at "
"""What marks the source of a config that no file holds as it stands."""
COMPLAINTS = 8
NOBODY = "no Python checked in: the guest saw nothing of this run"


@dataclass(frozen=True)
class Story:
    """All that the guest saw of one run. `interpreter` is the Python that failed, or the first that checked in."""

    crashes: tuple[Crash, ...] = ()
    sightings: tuple[Sighting, ...] = ()
    files: tuple[FileSeen, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    outcomes: tuple[Outcome, ...] = ()
    net: tuple[str, ...] = ()
    denied: tuple[str, ...] = ()
    interpreter: str = ""
    notes: tuple[str, ...] = ()
    configs: tuple[Resolved, ...] = ()


def read(spool: Path, root: Path, ended_badly: bool | None = None) -> Story:
    """The story of one run. An exception that the program caught can be its root cause only if it ended badly;
    whoever doesn't say so leaves it to the guest, which sees sys.exit and os._exit, but no bare `raise SystemExit(3)`."""
    log = load(spool)
    reader = Reader(log, root)
    found = reader.found()
    exits = list(log.of("exit"))
    crashes = ordered(reader, found, bool(exits) if ended_badly is None else ended_badly, exits)
    failed = next((each.pid for each in found if crashes and _is(each, crashes[0])), None)
    return Story(
        crashes=crashes,
        sightings=tuple(_sightings(log, reader)),
        files=tuple(_files(log, reader)),
        environment=_environment(log, reader, failed),
        outcomes=tuple(_outcomes(log, reader, found)),
        net=tuple(dict.fromkeys(str(record["host"]) for record in log.of("net"))),
        denied=tuple(dict.fromkeys(str(record["p"]) for record in log.of("denied"))),
        interpreter=str(_hello(log, reader, failed).get("exe", "")),
        configs=tuple(_configs(reader, sorted(found, key=lambda each: not (crashes and _is(each, crashes[0]))))),
        notes=(*_notes(log), *_changed_since(log, reader), *_unexplained(log, crashes)),
    )


def _is(each: Found, crash: Crash) -> bool:
    return (each.crash.type, each.crash.message, each.crash.process) == (crash.type, crash.message, crash.process)


def _sightings(log: Log, reader: Reader) -> Iterator[Sighting]:
    """The last word of every process about every place."""
    last: dict[tuple[object, ...], tuple[Record, str]] = {}
    for record in log.of("exc", "sighting"):
        pid = int(record["pid"])
        process = reader.process(record.get("exc", {}), pid)
        for seen in record["sightings"] if record["k"] == "exc" else [record]:
            last[pid, seen["probe"], seen["place"], seen.get("key", "")] = (seen, process)
    for seen, process in last.values():
        facts = {str(name): scrubbed(value, redact, str(name)) for name, value in seen["facts"].items()}
        facts.update({name: reader.place(str(facts[name])) for name in ("at",) if name in facts})
        if isinstance(facts.get("also"), list):
            facts["also"] = [reader.place(str(each)) for each in facts["also"]]
        yield Sighting(seen["probe"], reader.place(seen["place"]), facts, int(seen["calls"]), bool(seen["finding"]), process)


def _configs(reader: Reader, found: list[Found]) -> Iterator[Resolved]:
    """As the program itself held them, of the first that tells any; the root cause comes first."""
    for pid, config in next(([(each.pid, config) for config in told] for each in found if (told := each.record["exc"].get("configs"))), ()):
        told = {redact(str(name)): str(scrubbed(value, redact, str(name).rpartition(".")[2])) for name, value in config["values"].items()}
        yield Resolved(f"{config['name']} ({config['type']}){BY_VARIABLE}{reader.where(config['at'], pid)}", told)


# ---------------------------------------------------------------------------------------------- config and data manifest


def _files(log: Log, reader: Reader) -> list[FileSeen]:
    """Configs one by one, data counted by folder, what was written; a config that wasn't there is none."""
    configs = {record["p"]: FileSeen(reader.place(record["p"]), "config", record["size"], record["mtime"])
               for record in log.of("config") if "size" in record and _is_worth_naming(record["p"], reader)}
    wrote = (_written(path, reader) for path in dict.fromkeys(record["p"] for record in log.of("wrote")))
    return [*list(configs.values())[: FILES // 2], *list(_data(log, reader))[: FILES // 4], *filter(None, wrote)][:FILES]


def _is_worth_naming(path: str, reader: Reader) -> bool:
    """A launcher's temporary file, such as a kernel's connection, is gone by now."""
    return reader.place(path) != path or Path(path).exists()


def _changed_since(log: Log, reader: Reader) -> Iterator[str]:
    """Configs that are no longer what the program read: a re-run will read another one."""
    for record in {record["p"]: record for record in log.of("config") if "size" in record}.values():
        try:
            now = Path(record["p"]).stat()
        except OSError:
            if reader.place(record["p"]) != record["p"]:  # a launcher's temporary file is meant to go
                yield f"{reader.place(record['p'])} was removed after it was read"
            continue
        if (now.st_size, now.st_mtime) != (record["size"], record["mtime"]):
            yield f"{reader.place(record['p'])} changed after it was read"


def _written(path: str, reader: Reader) -> FileSeen | None:
    try:
        now = Path(path).stat()
    except OSError:  # moved to its last name, which is told of too, or removed again
        return None
    return FileSeen(reader.place(path), "wrote", now.st_size, now.st_mtime)


def _data(log: Log, reader: Reader) -> Iterator[FileSeen]:
    """A folder with the number of files opened below it, by all processes together; a single file by its own name."""
    counts: dict[str, dict[int, int]] = {}
    first: dict[str, Record] = {}
    names: dict[str, set[str]] = {}
    for record in log.of("data"):
        folder = str(record["p"]).rpartition("/")[0]
        mine = counts.setdefault(folder, {})
        mine[record["pid"]] = max(mine.get(record["pid"], 0), int(record["n"]))
        first.setdefault(folder, record)
        names.setdefault(folder, set()).add(record["p"])
    for folder, each in counts.items():
        size, modified = first[folder].get("size", -1), first[folder].get("mtime", 0.0)
        if set(each.values()) == {1} and names[folder] == {first[folder]["p"]}:
            yield FileSeen(reader.place(first[folder]["p"]), "data", size, modified)
        else:
            yield FileSeen(reader.place(folder + "/"), "data", -1, modified, sum(each.values()))


# ---------------------------------------------------------------------------------------------- where it ran


def _hello(log: Log, reader: Reader, pid: int | None) -> Record:
    """The introduction of the process that failed, or of the one that it was forked from; else the first."""
    hellos = {int(record["pid"]): record for record in log.of("hello")}
    own = next((hellos[each] for each in reader.ancestors(pid) if each in hellos), None)
    return own or next(iter(hellos.values()), {})


def _environment(log: Log, reader: Reader, pid: int | None) -> dict[str, str]:
    hello = _hello(log, reader, pid)
    if not hello:
        return {}
    modules = list(log.of("modules"))
    fullest = max(modules, key=lambda record: len(record["names"]), default={})
    best = next((record for record in modules if record["pid"] == hello["pid"]), fullest)  # a forked worker has its own seed and threads
    versions = {**best.get("names", {}), **best.get("torch", {})}
    told = {"command": _command(hello), "python": ".".join(map(str, hello["v"])), "executable": hello["exe"], **versions, **hello["env"]}
    return {name: redact(str(value)) for name, value in told.items() if value != ""}


def _command(hello: Record) -> str:
    """What this Python was called with, its own path shortened to its name."""
    argv = [str(word) for word in hello.get("argv") or ()]
    return shlex.join([Path(argv[0]).name, *argv[1:]]) if argv else ""


# ---------------------------------------------------------------------------------------------- tests

_PHASES = ("collect", "setup", "call", "teardown")


def _outcomes(log: Log, reader: Reader, found: list[Found]) -> Iterator[Outcome]:
    """One outcome a test: that of its first phase that did not pass, else of its call."""
    tests: dict[str, list[Record]] = {}
    for record in log.of("test"):
        tests.setdefault(record["test"], []).append(record)
    for test, phases in tests.items():
        phases.sort(key=lambda record: _PHASES.index(record["phase"]))
        decided = next((record for record in phases if record["result"] != "passed"), None)
        told = decided or next((record for record in phases if record["phase"] == "call"), phases[0])
        yield Outcome(test, Phase(told["phase"]), told["result"], told["error"], redact(told["message"]), _signature(told, reader, found))


def _signature(record: Record, reader: Reader, found: list[Found]) -> str:
    """That of what the test raised; of what the worker raised, when a DataLoader's worker sent it."""
    exc = record.get("exc")
    if not exc:
        return ""
    sent = origin(found, exc, float(record["t"]))
    return signature.of_crash(sent.crash if sent else reader.crash(exc, int(record["pid"])))


# ---------------------------------------------------------------------------------------------- the guest's own trouble


def _lost(log: Log) -> Iterator[str]:
    """A Python that became another one by exec, of which nothing was heard."""
    last = {int(record["pid"]): record for record in log.records}
    for pid, record in last.items():
        if record["k"] == "exec" and Path(record["p"]).name.startswith("python"):
            yield f"pid {pid} became another Python by exec, which the guest could not enter:  bitten run --native -- CMD  may let it in"


def _unexplained(log: Log, crashes: tuple[Crash, ...]) -> Iterator[str]:
    """A program that left by a number alone may have swallowed the reason."""
    numbers = {str(record["code"]) for record in log.of("exit") if "words" not in record and type(record["code"]) is int}
    able = any(tuple(record["v"]) >= (3, 12) for record in log.of("hello"))
    if able and len(crashes) == 1 and crashes[0].type == "SystemExit" and crashes[0].message in numbers:
        yield "nothing says why it left; exceptions that it swallowed are told by  bitten run --trace-handled -- CMD"


def _notes(log: Log) -> Iterator[str]:
    if not any(log.of("hello")):
        yield NOBODY
    yield from _lost(log)
    if log.torn:
        yield f"{log.torn} line{'s' if log.torn > 1 else ''} of the guest's log could not be read"
    troubles = dict.fromkeys(f"the guest had trouble in {record['where']}: {record['err']}" for record in log.of("hookerr"))
    yield from dict.fromkeys(redact(str(record["text"])) for record in log.of("note"))
    yield from (redact(trouble) for trouble in list(troubles)[:COMPLAINTS])
