"""What the steps ask of the outside, as Protocols. Nothing here says how; the adapters and the test doubles do."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from .case import Hypothesis
from .failure import Command, Crash, Failure, Run, Sighting, Surroundings
from .ladder import Case, Event
from .noun import noun
from .prediction import Facts, Json
from .proof import Outcome
from .recording import Recording


@noun
class Observed:
    """All that one run showed: `facts` are exit, signal, seconds, stdout, stderr and the metrics it printed.

    `refused` names each path or host that the copy kept from the run, so that its verdict can't be trusted; `output` is
    the redacted terminal output; `interpreter` the Python that failed, or the first that checked in; `interrupted` says
    that the person typed ^C; `recording` is there where that instrument was armed.
    """

    run: Run
    facts: Facts
    crashes: tuple[Crash, ...] = ()
    sightings: tuple[Sighting, ...] = ()
    surroundings: Surroundings = Surroundings()
    outcomes: tuple[Outcome, ...] = ()
    refused: tuple[str, ...] = ()
    output: str = ""
    interpreter: str = ""
    interrupted: bool = False
    recording: Recording | None = None


@noun
class Allowed:
    """What a person lets a copy do: paths that its runs may really write, and the network."""

    write: tuple[str, ...] = ()
    net: bool = False


Heard = Callable[[str, Facts], bool]
"""Told what the guest announces while a run goes on: armed, met (a framework), live, bad (a step), stop; and now and then `tick`.

True ends the run."""


def unheard(kind: str, facts: Facts) -> bool:
    """For runs that nobody watches as they go."""
    return False


class Copy(Protocol):
    """A throw-away copy of the tree, at the same path where the system allows. Gone when its context ends."""

    @property
    def how(self) -> str:
        """How the copy was made, and what this way can't promise."""
        ...

    def run(
        self, command: Command, *, watch: bool = False, bare: bool = False, timeout: float | None = None,
        instruments: Sequence[str] = (), turns: Sequence[str] = (), stop_after: int | None = None, heard: Heard = unheard,
    ) -> Observed:  # fmt: skip
        """Run a command in the copy; the whole tree of processes ends with it.

        `watch`: every probe reads healthy calls too. `bare`: all environment variables are dropped but the few that
        programs need to start. `instruments` watch by name; `turns` change a condition inside the program, such as `lr=0.5`.
        `stop_after` so many steps after the first bad one the guest announces `stop`; `heard` may then end the run.
        """
        ...

    def test(self, path: str, names: Sequence[str], like: Command, *, timeout: float | None = None) -> Observed:
        """Run tests of one file by name, and read each one's outcome and phase.

        `like` is the interpreter with the folder and environment of the failing command: where that folder holds the test,
        it is run from there, as a person would.
        """
        ...

    def write(self, files: Mapping[str, bytes | None]) -> None:
        """Put files into the copy, by path from the root; None removes one."""
        ...

    def apply(self, patch: str) -> None:
        """Apply a unified diff to the copy alone. Raises: BadInput `patch-does-not-apply`."""
        ...


class Sandbox(Protocol):
    @property
    def limits(self) -> Sequence[str]:
        """What the copies made so far can't promise, each once; nothing where all were of the strong kind."""
        ...

    def copy(self, allowed: Allowed = Allowed()) -> AbstractContextManager[Copy]: ...


@noun
class Difference:
    """From one tree to another: the unified diff, and what it touches, as `FILE` or `FILE:NAME` where a function holds it."""

    patch: str
    touches: tuple[str, ...]
    files: tuple[str, ...]


class Repo(Protocol):
    """The person's tree, read and photographed; nothing of it is changed but by `commit`."""

    @property
    def root(self) -> str: ...

    @property
    def is_git(self) -> bool: ...

    def snapshot(self) -> str:
        """The id of the tree as it stands, kept in our private store."""
        ...

    def difference(self, old: str, new: str, without: Collection[str] = ()) -> Difference:
        """What changed between two trees or revisions, paths in `without` left out."""
        ...

    def files_at(self, tree: str, paths: Iterable[str]) -> Mapping[str, bytes | None]:
        """The content of files in a kept tree; None where there was none. `tree` may be a revision of the person's own."""
        ...

    def paths(self) -> tuple[str, ...]:
        """Every file of the tree that is not ignored, by path from the root."""
        ...

    def changed_since(self, revision: str) -> tuple[str, ...]:
        """Paths that differ between a revision and the work tree."""
        ...

    def revision(self, name: str) -> str | None:
        """The id of a revision, or None where there is none."""
        ...

    def new_tests(self, path: str, old: str, new: str) -> tuple[str, ...]:
        """Names of test functions in a file that are new or changed between two trees."""
        ...

    def would_commit(self, patch: str, files: Mapping[str, bytes]) -> str:
        """The tree that a commit of these on HEAD would have. Raises: Refused `fix-entangled` when the patch does not apply there."""
        ...

    def finished(self, trailers: Sequence[str]) -> str:
        """The commit whose message has all these lines, of the latest few; the index is brought up to it. Empty where there is none."""
        ...

    def commit(self, patch: str, files: Mapping[str, bytes], message: str) -> str:
        """Commit a patch and files on HEAD, in a temporary index; the person's index and work in progress stay as they were."""
        ...


@noun
class Commit:
    """One commit as a person reads it; `files` are what it changed against its first parent."""

    id: str
    short: str
    subject: str
    author: str = ""
    date: str = ""
    body: str = ""
    files: tuple[str, ...] = ()


class History(Protocol):
    """The person's commits, only read."""

    def between(self, goods: Sequence[str], bad: str, first_parent: bool) -> Mapping[str, tuple[str, ...]]:
        """The commits that `bad` has and none of `goods`, each with its parents. Raises: BadInput `bisect-good-is-no-ancestor`."""
        ...

    def files(self, commit: str) -> Mapping[str, bytes | None]:
        """What turns a copy of the work tree into the tree of a commit: contents by path; None removes one."""
        ...

    def told(self, commit: str) -> Commit: ...


class Knowledge(Protocol):
    """The playbooks: what they suspect, and the probes their checks name."""

    def suspects(self, failure: Failure) -> Iterable[Hypothesis]: ...

    def troubles(self) -> tuple[str, ...]:
        """Playbooks that could not be used, and why."""
        ...


class Person(Protocol):
    """Whoever sits at the terminal. `channel` names how they speak; a pipe is no person."""

    @property
    def name(self) -> str: ...

    @property
    def channel(self) -> str: ...

    def ask(self, question: str, default: str = "") -> str: ...

    def show(self, text: str) -> None: ...

    def progress(self, text: str) -> AbstractContextManager[None]: ...


class Journal(Protocol):
    """Append-only; an event that was appended is on disk when `append` returns."""

    def append(self, event: Event, who: str, channel: str) -> None: ...

    def load(self) -> Case: ...


class Clock(Protocol):
    def now(self) -> float: ...


class EvidenceRoom(Protocol):
    """Where the raw output of checks is kept, redacted."""

    def keep(self, name: str, observed: Observed, extra: Mapping[str, str] = {}) -> str:
        """Write one run's output, facts and recording; returns the folder's name."""
        ...


@noun
class Limits:
    """What one session of an agent may take: wall-clock seconds, turns of the model, and US dollars by the vendor's list price."""

    seconds: float = 600.0
    turns: int = 30
    dollars: float = 2.0


@noun
class Spent:
    """What a session has taken so far. `dollars` is an estimate by list price; None where none is known for the model."""

    turns: int = 0
    seconds: float = 0.0
    dollars: float | None = None


@noun
class Brief:
    """What an agent is asked. It works in `folder`, a redacted copy; it may write the paths `may_write` from there, and nothing else.

    `phase` is diagnose, check or fix; `prompt` is sent word for word.
    """

    phase: str
    prompt: str
    folder: str
    may_write: tuple[str, ...] = ()
    limits: Limits = Limits()


@noun
class Answer:
    """How a session ended: `ended` is done, turns, seconds or dollars (the limit that it met). `said` are its last words.

    `session` is the agent's own id; `denied` names each call that our gate refused; `gated` says that every call was seen by it.
    """

    ended: str
    said: str = ""
    spent: Spent = Spent()
    session: str = ""
    denied: tuple[str, ...] = ()
    gated: bool = False


class Listener(Protocol):
    """Who follows a session as it goes."""

    def says(self, words: str) -> None:
        """Words of the model, as they come; may be part of a sentence."""
        ...

    def spent(self, spent: Spent) -> None: ...

    def proposes(self, proposal: Mapping[str, Json]) -> str:
        """A proposal in the form of `core.proposal.SCHEMA`; what is returned is told to the model.

        Raises: Trouble, whose words go back to the model as an error: it may propose again.
        """
        ...


class Agent(Protocol):
    """A model behind a driver. Held by `bitten.testing.agent_contract`."""

    @property
    def name(self) -> str: ...

    def ask(self, brief: Brief, listener: Listener) -> Answer:
        """One fresh session, from the prompt to its end; nothing of it lives on when this returns or raises.

        Raises: Unable, with a slug, when the agent is missing, of a wrong version, without a key, or can't be reached.
        """
        ...
