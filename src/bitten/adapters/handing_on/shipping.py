"""A case, made into a parcel and back: its journal, its texts, and the source that failed, redacted both ways. Runs nothing.

Of the tree at failure go along: files of the stacks and of the hypotheses' scopes, and what differed from HEAD, as far as they are
text below 64 KiB. The rest is in the receiver's own clone, by the revision that the parcel names.
"""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from bitten import __version__
from bitten.adapters import places
from bitten.adapters.folder import CaseFolder, Redact, as_bytes, scrubbed, write
from bitten.adapters.handing_on.parcel import LARGEST, WHOLE, Parcel, is_safe, pack
from bitten.adapters.journal import START, FileJournal
from bitten.adapters.redact import masked_in
from bitten.core.case import IMPORTED
from bitten.core.failure import Failure
from bitten.core.ladder import Case
from bitten.core.noun import noun
from bitten.core.ports import Repo
from bitten.core.trouble import BadInput, Refused, Trouble, Unable

SOURCE = 64 << 10
MOST_SOURCE = 4 << 20
_LEFT = re.compile(r"(?:.*/)?(?:\..*|events\.(?:lock.*|torn-\d+))$")
"""Temporary files, locks and torn lines stay here."""
_MAPS = ("facts", "variables", "environment", "env")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_KEPT = ("capture/", "evidence/")
"""What nothing here draws anew."""
_NO_PARCEL = "ask for it again: bitten export"


@noun
class Shipment:
    """A parcel as it leaves: `masked` counts secrets by kind, `left_out` names what was too large or no text."""

    content: bytes
    masked: Mapping[str, int]
    left_out: tuple[str, ...]
    source: tuple[str, ...]


def shipped(folder: CaseFolder, case: Case, repo: Repo, redact: Redact) -> Shipment:
    """The case as a parcel: the same bytes each time."""
    left_out: list[str] = []
    files = {f"case/{name}": content for name, content in _texts(folder, left_out, redact)}
    journal = _envelopes((folder.path / "events.jsonl").read_bytes())
    files["case/events.jsonl"] = _chained({**each, "event": _redacted(each["event"], redact)} for each in journal)
    _lawful(files["case/events.jsonl"])
    source = dict(_source(case, repo, left_out, redact))
    files |= {f"tree/{name}": content for name, content in source.items()}
    kinds = Counter(each.kind for name, content in files.items() for each in masked_in(name, content.decode("utf-8", "replace")))
    told = {"bitten": __version__, "case": folder.path.name, "root": redact(repo.root), "head": case.failure.surroundings.head,
            "masked": dict(kinds), "left_out": [redact(name) for name in left_out]}
    return Shipment(pack(told, files), dict(sorted(kinds.items())), tuple(left_out), tuple(source))


def _texts(folder: CaseFolder, left_out: list[str], redact: Redact) -> Iterator[tuple[str, bytes]]:
    room = WHOLE - MOST_SOURCE - LARGEST
    for path in sorted(folder.path.rglob("*")):
        name = path.relative_to(folder.path).as_posix()
        if path.is_symlink() or not path.is_file() or _LEFT.match(name) or name == "events.jsonl":
            continue
        content = path.read_bytes() if path.stat().st_size <= min(LARGEST, room) else b"\0"
        content = _masked(content, redact) if b"\0" not in content and is_safe(f"case/{name}") else b"\0"
        if content == b"\0" or len(content) > LARGEST:
            left_out.append(name)
            continue
        room -= len(content)
        yield name, content


def _source(case: Case, repo: Repo, left_out: list[str], redact: Redact) -> Iterator[tuple[str, bytes]]:
    """Of the tree as it was at the failure."""
    if not case.failure.tree:
        return
    wanted = dict.fromkeys([*(frame.file for crash in case.failure.crashes for frame in crash.frames if frame.mine),
                            *(part.partition(":")[0] for each in case.hypotheses for part in each.scope), *_changed(case.failure, repo)])
    try:
        found = repo.files_at(case.failure.tree, wanted)
    except Trouble as why:  # `gc` of another day, or a store that was removed
        left_out.append(f"the source: {why.what}")
        return
    room = MOST_SOURCE
    for name, content in found.items():
        if content is None:
            continue
        if len(content) >= min(SOURCE, room) or b"\0" in content or not is_safe(f"tree/{name}"):
            left_out.append(f"tree/{name}")
            continue
        room -= len(content)
        yield name, _masked(content, redact)


def _changed(failure: Failure, repo: Repo) -> tuple[str, ...]:
    """What differed from HEAD, of a tree that is there and of a revision that is known."""
    head = failure.surroundings.head
    try:
        return repo.difference(head, failure.tree).files if head else ()
    except Trouble:
        return ()


def _masked(content: bytes, redact: Redact) -> bytes:
    return as_bytes(redact(content.decode("utf-8", "surrogateescape")))


# ---------------------------------------------------------------------------------------------- the journal on its way


def _envelopes(content: bytes) -> Iterator[dict[str, Any]]:
    return map(json.loads, filter(None, content.split(b"\n")))


def _chained(envelopes: Iterable[dict[str, Any]]) -> bytes:
    """Lines, each with the digest of the one before it as it now is."""
    lines: list[bytes] = []
    for each in envelopes:
        told = {**each, "prev": hashlib.sha256(lines[-1]).hexdigest() if lines else START}
        lines.append(json.dumps(told, separators=(",", ":")).encode("ascii"))
    return b"".join(line + b"\n" for line in lines)


def _redacted(value: Any, redact: Redact, key: str = "") -> Any:
    """Names of fields say nothing of a value, names of facts and variables do."""
    if key in _MAPS or isinstance(value, str):
        return scrubbed(value, redact)
    if isinstance(value, dict):
        return {name: _redacted(each, redact, name) for name, each in value.items()}
    return [_redacted(each, redact) for each in value] if isinstance(value, list) else value


def _lawful(content: bytes) -> Failure:
    """What it is about. Raises: Unable, as the journal says it."""
    with tempfile.TemporaryDirectory(prefix="parcel-", dir=places.memory()) as place:
        (Path(place) / "events.jsonl").write_bytes(content)
        return FileJournal(Path(place), Path(place)).load().failure


# ---------------------------------------------------------------------------------------------- what arrives


@noun
class Arrival:
    """A case as it arrives: a lawful `journal`, `texts` for its folder, and in `source` how the code was."""

    failure: Failure
    journal: str
    texts: Mapping[str, str]
    source: Mapping[str, str]

    def differing(self, repo: Repo) -> list[str]:
        """Files whose text is another one here."""
        return [name for name, text in self.source.items() if _here(Path(repo.root) / name) not in (text, None)]


def _here(file: Path) -> str | None:
    try:
        return file.read_bytes().decode("utf-8", "surrogateescape") if file.is_file() and not file.is_symlink() else ""
    except OSError:
        return None


def arrived(parcel: Parcel, file: str, root: str, redact: Redact) -> Arrival:
    """Raises: BadInput `parcel-damaged`, when its journal is none, or no lawful one."""
    theirs, told = str(parcel.told.get("root") or ""), parcel.told
    came = f"{IMPORTED}{Path(file).name}: {str(told.get('case'))[:80]}, by bitten {str(told.get('bitten'))[:20]}"
    try:
        journal = parcel.files["case/events.jsonl"]
        _lawful(journal)
        first, *rest = (each for each in _envelopes(journal) if each["kind"] != "Visit")  # the sender's hours are not the receiver's
        note = {**first, "at": time.time(), "who": "bitten", "channel": "import", "kind": "Note",
                "event": {"about": "linked", "text": came}}
        kept = _chained(_moved(_redacted(each, redact), theirs, root) for each in (first, note, *rest))
        failure = _lawful(kept)
    except (KeyError, ValueError, TypeError, RecursionError, Unable, Refused) as why:
        raise BadInput("parcel-damaged", f"The journal in {file} can't be used.", f"{why}", _NO_PARCEL) from why
    texts, source = ({name.removeprefix(f"{part}/"): _clean(redact(content.decode("utf-8", "surrogateescape")))
                      for name, content in parcel.files.items() if name.startswith(f"{part}/")} for part in ("case", "tree"))
    return Arrival(failure, kept.decode("ascii"), texts, source)


def _moved(value: Any, theirs: str, root: str, key: str = "") -> Any:
    """Commands start in the same folder of the receiver's tree; what drives a terminal is no text."""
    if isinstance(value, str):
        inside = key == "cwd" and theirs and (value == theirs or value.startswith(f"{theirs}/"))
        return root + value[len(theirs):] if inside else _clean(value)
    if isinstance(value, dict):
        return {_clean(name): _moved(each, theirs, root, name) for name, each in value.items()}
    return [_moved(each, theirs, root, key) for each in value] if isinstance(value, list) else value


def _clean(text: str) -> str:
    return _CONTROL.sub("�", text)


def lay(folder: CaseFolder, arrival: Arrival, redact: Redact) -> None:
    """The journal comes last, whole or not at all: should a kill come before, the case was never begun."""
    texts = {name: text for name, text in arrival.texts.items() if name.startswith(_KEPT) or name == "verification.json"}
    for name, text in (*texts.items(), *((f"tree/{name}", text) for name, text in arrival.source.items())):
        (folder.path / name).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write(folder.path / name, text)
    write(folder.path / "events.jsonl", arrival.journal)
    folder.write_run_sh(arrival.failure.run.command, redact)
