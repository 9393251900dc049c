"""What happened: one command, run once, and all that it showed. Knows no hypothesis, and not how any of it was seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from .noun import noun
from .prediction import Facts, Prediction
from .trouble import gate


@noun
class Command:
    """What was typed, where, and the environment changes that it needs."""

    argv: tuple[str, ...]
    cwd: str
    env: Mapping[str, str] = field(default_factory=dict)


@noun
class Run:
    """One command, run once, never edited. `exit` is None when a signal or a hang ended it, or when nobody saw its end."""

    command: Command
    exit: int | None
    seconds: float
    signal: int | None = None
    hung: bool = False

    @property
    def ended_well(self) -> bool:
        return self.exit == 0


def ending(run: Run) -> str:
    """How a run ended, in words."""
    if run.hung:
        return "no end: it hung"
    if run.signal is None and run.exit is None:
        return "an end that nobody saw"
    return f"signal {run.signal}" if run.signal else f"exit {run.exit}"


@noun
class Frame:
    """One line of a stack, outermost first. `file` is relative to the project when `mine`, else as the interpreter names it."""

    file: str
    line: int
    function: str
    text: str = ""
    mine: bool = False
    variables: Mapping[str, str] = field(default_factory=dict)


@noun
class Crash:
    """One exception in one process. `role` is root, cause, context, or consequence of another process's."""

    type: str
    message: str
    frames: tuple[Frame, ...] = ()
    process: str = ""
    role: str = "root"
    handled: bool = False

    @property
    def site(self) -> Frame | None:
        """The innermost line of the person's own code."""
        return next((frame for frame in reversed(self.frames) if frame.mine), None)


@noun
class Sighting:
    """What a probe read at one place, over so many calls. A *finding* is a fact past its threshold."""

    probe: str
    place: str
    facts: Facts
    calls: int = 1
    finding: bool = False
    process: str = ""


@noun
class FileSeen:
    """A file the program opened: `role` is config, data or wrote. Size in bytes, modified in seconds since the epoch.

    One that a variable of the failing code names, and that nobody saw opened, has the role named.

    `digest` is the SHA-256 of the whole file, or of its first MiB where `whole` is false; empty where it was not read.
    `rows` counts the lines of a text that was read whole; -1 where nobody counted.
    """

    path: str
    role: str
    size: int = -1
    modified: float = 0.0
    count: int = 1
    digest: str = ""
    whole: bool = True
    rows: int = -1


@noun
class Resolved:
    """The values of one config by dotted name, as its source had them: a file that was read, or that the run wrote."""

    source: str
    values: Mapping[str, str] = field(default_factory=dict)
    left_out: int = 0


@noun
class ToRead:
    """A file worth reading, and why."""

    path: str
    because: str


@noun
class Process:
    """One process of the command's tree in a picture of it: a rank, a worker, or a helper.

    `state` is the kernel's letter and word, `cpu` seconds used so far, `rss` in bytes, `stack` outermost first;
    `waits` says what its innermost library call waits for, `collective` the last one it entered, where either is known.
    """

    pid: int
    name: str
    state: str = ""
    rank: int | None = None
    worker: int | None = None
    parent: int = 0
    cpu: float = 0.0
    rss: int = -1
    stack: tuple[Frame, ...] = ()
    waits: str = ""
    collective: str = ""

    @property
    def site(self) -> Frame | None:
        """The innermost line of the person's own code."""
        return next((frame for frame in reversed(self.stack) if frame.mine), None)


@noun
class Picture:
    """All processes at one moment. `odd` names in a sentence the one that is elsewhere than the rest; `at` is seconds after the start."""

    processes: tuple[Process, ...] = ()
    odd: str = ""
    at: float = 0.0
    notes: tuple[str, ...] = ()


@noun
class Surroundings:
    """Config and data manifest, environment, and what changed, as the program itself showed them.

    `changed` are paths that differ from the revision `head`; `parent` is the revision before it, where there is one.
    `ending` says what the end means (a signal, a limit, the memory), `since` what changed since the last good run of the
    same command, `packages` are the versions in the failing interpreter, `notes` what could not be seen. `configs` are the
    values behind the configs among `files`, `manifest` what is odd about data and lists of data, `processes` the command
    line of each Python that took part.
    """

    files: tuple[FileSeen, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    changed: tuple[str, ...] = ()
    head: str = ""
    parent: str = ""
    notes: tuple[str, ...] = ()
    ending: tuple[str, ...] = ()
    since: tuple[str, ...] = ()
    packages: Mapping[str, str] = field(default_factory=dict)
    to_read: tuple[ToRead, ...] = ()
    picture: Picture | None = None
    configs: tuple[Resolved, ...] = ()
    manifest: tuple[str, ...] = ()
    processes: tuple[str, ...] = ()


@noun
class Failure:
    """A run that ended badly, or one that missed an expectation, or left it unmeasured."""

    run: Run
    facts: Facts
    expected: tuple[Prediction, ...] = ()
    crashes: tuple[Crash, ...] = ()
    sightings: tuple[Sighting, ...] = ()
    surroundings: Surroundings = Surroundings()
    tree: str = ""

    def __post_init__(self) -> None:
        gate(not self.run.ended_well or bool(self.missed), "nothing-failed",
             "A case needs a failure, and this command passed.", way="bitten run --expect 'val_acc >= 0.8' -- CMD")

    @property
    def missed(self) -> tuple[Prediction, ...]:
        """Expectations that the facts don't bear out, the never measured ones among them."""
        return tuple(each for each in self.expected if each.holds(self.facts) is not True)

    @property
    def root(self) -> Crash | None:
        return next((crash for crash in self.crashes if crash.role == "root"), None)
