"""Probes, asked in this process as the guest asks them: at a crash, and at every call of a seam. Quick, since torch is imported once."""

import inspect
import runpy
import sys
from contextlib import contextmanager
from pathlib import Path

from bitten import playbooks

FOLDERS = Path(playbooks.__file__).parent


class Probe:
    def __init__(self, name):
        self.names = runpy.run_path(str(FOLDERS / name / "probe.py"))
        self.seams = self.names["SEAMS"]

    def sighting(self, call, frames):
        facts = self.names["read"](call, frames)
        return None if facts is None else (facts.pop("at", None) or default_place(frames), facts)

    def at_crash(self, program):
        """The sighting of a program that raises: the innermost frame of a seam, else what `look` finds."""
        try:
            program()
        except Exception as error:
            frames = frames_of(error)
        else:
            raise AssertionError("the program did not raise")
        return next(filter(None, (*map(self._from, self._at_seams(frames)), *self._looked(frames))), None)

    def _at_seams(self, frames):
        for at, frame in enumerate(frames):
            seam = f"{frame.f_globals.get('__name__')}:{frame.f_code.co_qualname}"
            if seam in self.seams:
                yield {**frame.f_locals, "seam": seam}, frames[at + 1:]

    def _looked(self, frames):
        for at, frame in enumerate(frames):
            call = self.names["look"](dict(frame.f_locals)) if "look" in self.names else None
            if call:
                yield self.sighting(call, frames[at:])

    def _from(self, found):
        return self.sighting(*found)

    @contextmanager
    def watching(self, monkeypatch):
        """Every call of a seam is read before it is made. Gives the facts by place, merged."""
        seen, merge = {}, self.names.get("merge", lambda old, new: old if self.names["finding"](old) else new)

        def watched(seam, call):
            def wrapper(*args, **kwargs):
                try:
                    bound = inspect.signature(call).bind(*args, **kwargs)
                    bound.apply_defaults()
                    given = dict(bound.arguments)
                except (TypeError, ValueError):
                    given = {"args": args, "kwargs": kwargs}
                found = self.sighting({**given, "seam": seam}, outward(sys._getframe(1)))
                if found:
                    place, facts = found
                    seen[place] = merge(seen[place], facts) if place in seen else facts
                return call(*args, **kwargs)
            return wrapper

        with monkeypatch.context() as patch:
            patch.setenv("BITTEN_WATCH", "1")
            for seam in self.seams:
                module, _, path = seam.partition(":")
                owner, (*outer, name) = sys.modules.get(module), path.split(".")
                if owner is None or "core" in module.split("."):  # numpy 1 had it there; numpy 2 warns
                    continue
                for part in outer:
                    owner = getattr(owner, part)
                patch.setattr(owner, name, watched(seam, getattr(owner, name)))
            yield seen


def frames_of(error):
    links, link = [], error.__traceback__
    while link:
        links.append(link.tb_frame)
        link = link.tb_next
    return [*reversed(links), *outward(links[0].f_back)]


def outward(frame):
    found = []
    while frame:
        found.append(frame)
        frame = frame.f_back
    return found


def default_place(frames):
    not_mine = ("site-packages", "/lib/python", __file__)
    frame = next(frame for frame in frames if not any(part in frame.f_code.co_filename for part in not_mine))
    return f"{frame.f_code.co_filename}:{frame.f_code.co_qualname}"


def told(sighting, *names):
    """Facts by their short names."""
    return tuple(sighting[1][name] for name in names)
