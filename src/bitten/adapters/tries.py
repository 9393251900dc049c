"""What a search has tried so far, on disk after each try, so that one that was killed goes on from there. Knows no outcome's meaning."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from bitten.adapters.folder import lay, write
from bitten.core.prediction import Json

NAME = "bisect.json"


class Tries:
    """Of the search that `about` describes: those of any other are not known, and their place is taken."""

    def __init__(self, root: Path, about: Sequence[Json]) -> None:
        self._file = lay(root) / NAME
        self._key = hashlib.sha256(json.dumps(about).encode()).hexdigest()
        self._tried: list[Mapping[str, Json]] = self._read()

    def known(self) -> Sequence[Mapping[str, Json]]:
        return tuple(self._tried)

    def keep(self, tried: Mapping[str, Json]) -> None:
        if tried not in self._tried:
            self._tried.append(tried)
            write(self._file, json.dumps({"search": self._key, "tried": self._tried}))

    def forget(self) -> None:
        self._file.unlink(missing_ok=True)

    def _read(self) -> list[Mapping[str, Json]]:
        with suppress(OSError, ValueError, TypeError, KeyError):  # none, or one that was spoilt: it is tried anew
            told = json.loads(self._file.read_text("utf-8"))
            return [dict(each) for each in told["tried"]] if told["search"] == self._key else []
        return []
