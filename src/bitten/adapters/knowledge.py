"""The playbooks that are at hand, as folders and modules on disk. Knows nothing of what they know; a broken one is named and skipped."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Iterator
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from bitten import playbooks
from bitten.core.case import Hypothesis
from bitten.core.failure import Failure
from bitten.playbook import Playbook

OURS = Path(playbooks.__file__).parent
GROUP = "bitten.playbooks"
_ORDER = ("likely", "possible", "unlikely")


class Playbooks:
    """Implements `ports.Knowledge`: our own folders, those of the entry point group `bitten.playbooks`, and the extra ones.

    Each of `extra_folders` holds playbook folders. Nothing is read before it is asked for.
    """

    def __init__(self, extra_folders: Iterable[Path] = ()) -> None:
        self._extra = tuple(extra_folders)
        self._troubles: dict[str, str] = {}

    @cached_property
    def folders(self) -> dict[str, Path]:
        """The playbooks' folders by name: ours first, and the first of a name."""
        found: dict[str, Path] = {}
        for folder in (each for shelf in (OURS, *self._installed(), *self._extra) for each in _folders(shelf)):
            if folder.name in found:
                self._troubles[str(folder)] = f"there is another playbook of this name: {found[folder.name]}"
            found.setdefault(folder.name, folder)
        return found

    @cached_property
    def playbooks(self) -> tuple[Playbook, ...]:
        """All that can be loaded, the generic one last."""
        return tuple(filter(None, map(self._load, (*(folder / "playbook.py" for folder in self.folders.values()), OURS / "generic.py"))))

    def suspects(self, failure: Failure) -> list[Hypothesis]:
        """What the playbooks suspect: by likelihood, within it in the playbooks' order, the generic ones last. Ids are the caller's."""
        suspects = [each for playbook in self.playbooks for each in self._asked(playbook, failure)]
        return sorted(suspects, key=lambda each: (each.generic, _ORDER.index(each.likelihood.value)))

    def probe_paths(self) -> tuple[Path, ...]:
        return tuple(probe for folder in self.folders.values() if (probe := folder / "probe.py").is_file())

    def troubles(self) -> tuple[str, ...]:
        _ = self.playbooks
        return tuple(f"playbook {name} is skipped: {why}" for name, why in self._troubles.items())

    def _installed(self) -> Iterator[Path]:
        for point in entry_points(group=GROUP):
            yield from self._shelves(point)

    def _shelves(self, point: EntryPoint) -> list[Path]:
        """The folders of the package that an entry point names; its own code runs, as it does whenever it is imported."""
        try:
            return [Path(each) for each in point.load().__path__]
        except Exception as error:  # a stranger's code may fail in any way, and must not stop a diagnosis
            self._troubles[point.name] = _said(error)
            return []

    def _load(self, path: Path) -> Playbook | None:
        name = path.parent.name if path.name == "playbook.py" else path.stem
        try:
            return load(path.parent) if path.name == "playbook.py" else _playbook_in(path, name)
        except Exception as error:  # as above
            self._troubles[name] = _said(error)
            return None

    def _asked(self, playbook: Playbook, failure: Failure) -> tuple[Hypothesis, ...]:
        try:
            return playbook.suspects(failure)
        except Exception as error:  # as above
            self._troubles[playbook.name] = _said(error)
            return ()


def load(folder: Path) -> Playbook:
    """The playbook of a folder. Raises: ValueError when it defines none, or one of another name; else what its own code raises."""
    return _playbook_in(folder / "playbook.py", folder.name)


def _folders(shelf: Path) -> list[Path]:
    """The playbook folders on a shelf, by name; a shelf may be a playbook folder itself."""
    if (shelf / "playbook.py").is_file():
        return [shelf]
    return sorted(path.parent for path in shelf.glob("*/playbook.py"))


def _playbook_in(path: Path, name: str) -> Playbook:
    """The one playbook that a file defines. Raises: ValueError when it has none, or another name than its folder."""
    spec = importlib.util.spec_from_file_location(f"bitten_playbook_{name}", path)
    if spec is None or spec.loader is None:
        raise ValueError(f"{path} can't be read")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found = [value for value in vars(module).values() if isinstance(value, Playbook)]
    if [each.probe for each in found] != [name]:
        raise ValueError(f"{path} should define one playbook, {name.replace('_', '-')!r}; it has {[each.name for each in found]}")
    return found[0]


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
