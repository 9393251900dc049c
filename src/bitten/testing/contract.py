"""What every agent behind the port `Agent` has to hold to, as assertions that a third party calls from their own test."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bitten.core.ports import Agent, Answer, Brief, Limits, Spent
from bitten.core.prediction import Json
from bitten.core.trouble import BadInput

MakeAgent = Callable[[Sequence[Mapping[str, Any]], Path], Agent]
"""Of a script in the words of `bitten.testing.agents` (of those says, reads, proposes, writes, runs, sleeps, ends), and of its folder."""

PROPOSAL: dict[str, Json] = {"hypotheses": [
    {"claim": "the last row is lost", "because": "seven came out of eight", "likelihood": "likely", "look": "python count.py",
     "supports_if": "rows < 8", "refutes_if": "rows == 8", "scope": ["source.py:rows"]},
    {"claim": "a row is filtered out", "because": "one of them is empty", "likelihood": "possible", "look": "captured",
     "supports_if": "empty > 0", "refutes_if": "empty == 0", "scope": ["source.py"]},
]}
FILES = {"source.py": "def rows():\n    return 7\n", "other.py": "x = 1\n", "notes/readme.txt": "read me\n"}


class Heard:
    """A listener that keeps what it hears. `refusals` proposals are sent back; `at_words` is raised at the first words."""

    def __init__(self, refusals: int = 0, at_words: BaseException | None = None) -> None:
        self.words, self.proposals = "", list[Mapping[str, Json]]()
        self.takings: list[Spent] = []
        self._refusals, self._at_words = refusals, at_words

    def says(self, words: str) -> None:
        self.words += words
        if self._at_words is not None:
            raise self._at_words

    def spent(self, spent: Spent) -> None:
        self.takings.append(spent)

    def proposes(self, proposal: Mapping[str, Json]) -> str:
        self.proposals.append(proposal)
        if len(self.proposals) <= self._refusals:
            raise BadInput("bad-proposal", "The second one can't be wrong.", way="give it a refutation that could come out")
        return f"proposal number {len(self.proposals)} was accepted"


class Trial:
    """A folder with an agent in it."""

    def __init__(self, make: MakeAgent, folder: Path) -> None:
        self.make, self.folder = make, folder
        folder.mkdir(parents=True)
        for name, text in FILES.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(text, "utf-8")

    def ask(self, *steps: Mapping[str, Any], heard: Heard, phase: str = "diagnose", may_write: Sequence[str] = (),
            **limits: float) -> Answer:
        allowed = Limits(limits.get("seconds", 60.0), int(limits.get("turns", 20)), limits.get("dollars", 5.0))
        brief = Brief(phase, "Look at source.py, and say what is wrong.", str(self.folder), tuple(may_write), allowed)
        return self.make(steps, self.folder).ask(brief, heard)

    def files(self) -> dict[str, str]:
        return {str(path.relative_to(self.folder)): hashlib.sha256(path.read_bytes()).hexdigest()
                for path in sorted(self.folder.rglob("*")) if path.is_file()}


def agent_contract(make: MakeAgent, folder: Path) -> None:
    """All of `RULES`, each in a fresh folder below. Raises: AssertionError, with the rule that was broken."""
    for rule in RULES:
        rule(Trial(make, folder / rule.__name__))


def proposals_reach_the_listener_and_its_words_come_back(trial: Trial) -> None:
    heard = Heard()
    answer = trial.ask({"reads": "source.py"}, {"proposes": PROPOSAL}, {"says": "I was told: $told"}, {"ends": "That is all."}, heard=heard)
    assert heard.proposals == [PROPOSAL], "the proposal reaches the listener as it was made"
    assert "I was told: " in heard.words and "proposal number 1 was accepted" in heard.words, "what the listener says is told to the model"
    assert answer.ended == "done", f"a session that was not cut ended as {answer.ended}"
    assert "That is all." in answer.said, "the last words are in the answer"
    assert answer.session, "the session has an id"


def a_refused_proposal_may_be_repeated(trial: Trial) -> None:
    heard = Heard(refusals=1)
    trial.ask({"proposes": PROPOSAL}, {"says": "I was told: $told"}, {"proposes": PROPOSAL}, {"ends": "I was told: $told"}, heard=heard)
    assert len(heard.proposals) == 2, "after a refusal it may propose again"
    assert "can't be wrong" in heard.words and "could come out" in heard.words, "the refusal's words, and its way out, go back to the model"
    assert "proposal number 2 was accepted" in heard.words


def nothing_changes_before_a_fix_is_asked_for(trial: Trial) -> None:
    before, heard = trial.files(), Heard()
    answer = trial.ask({"writes": ["source.py", "x"]}, {"writes": ["new.py", "x"]}, {"runs": "echo x > made-by-a-shell"}, {"ends": ""},
                       heard=heard)
    assert trial.files() == before, "in diagnose no file changes, and none appears"
    assert answer.gated, "every call was seen by the gate"


def a_fix_writes_what_it_may_and_nothing_else(trial: Trial) -> None:
    before, heard = trial.files(), Heard()
    steps: list[Mapping[str, Any]] = [
        {"reads": "source.py"}, {"writes": ["source.py", "mended\n"]}, {"reads": "other.py"}, {"writes": ["other.py", "touched\n"]},
        {"writes": ["tests/test_it.py", "def test(): pass\n"]}, {"writes": ["tests/test_more.py", "x"]},
        {"writes": ["notes/../other2.py", "x"]}, {"runs": "echo x > made-by-a-shell"}, {"ends": "done"}]
    answer = trial.ask(*steps, heard=heard, phase="fix", may_write=("source.py", "tests/test_it.py"))
    after = trial.files()
    assert (trial.folder / "source.py").read_text("utf-8") == "mended\n", "what is in scope is written"
    assert {name for name in after if after[name] != before.get(name)} == {"source.py", "tests/test_it.py"}, "and nothing else is"
    assert answer.gated and answer.denied, "each refused call is named"


def each_limit_ends_it_by_its_name(trial: Trial) -> None:
    endless: Sequence[Mapping[str, Any]] = [{"reads": name} for name in FILES] * 20
    assert trial.ask(*endless, heard=Heard(), turns=3).ended == "turns"
    assert trial.ask(*endless, heard=Heard(), dollars=0.000001).ended == "dollars"
    began = time.monotonic()
    assert trial.ask({"sleeps": 120}, {"ends": ""}, heard=Heard(), seconds=4.0).ended == "seconds"
    assert time.monotonic() - began < 60, "it is cut when its time is up, and not when it likes"


def what_was_taken_is_told_as_it_goes(trial: Trial) -> None:
    heard = Heard()
    answer = trial.ask({"reads": "source.py"}, {"reads": "other.py"}, {"ends": ""}, heard=heard)
    turns = [each.turns for each in heard.takings]
    assert turns and turns == sorted(turns) and answer.spent.turns >= turns[-1] >= 1


def an_exception_of_the_listener_ends_it_and_leaves_no_process(trial: Trial) -> None:
    for error in (KeyboardInterrupt(), RuntimeError("the listener broke")):
        before = _children()
        try:
            trial.ask({"says": "hello"}, {"sleeps": 120}, {"ends": ""}, heard=Heard(at_words=error))
        except type(error):
            pass
        else:
            raise AssertionError(f"{type(error).__name__} of the listener is raised by ask")
        until = time.monotonic() + 20
        while _children() - before and time.monotonic() < until:
            time.sleep(0.05)
        assert not _children() - before, "no process of the agent outlives its session"


RULES: tuple[Callable[[Trial], None], ...] = (
    proposals_reach_the_listener_and_its_words_come_back, a_refused_proposal_may_be_repeated, nothing_changes_before_a_fix_is_asked_for,
    a_fix_writes_what_it_may_and_nothing_else, each_limit_ends_it_by_its_name, what_was_taken_is_told_as_it_goes,
    an_exception_of_the_listener_ends_it_and_leaves_no_process,
)
"""Each by itself, for a parametrised test: `rule(Trial(make_agent, folder))`."""


def _children() -> set[int]:
    import psutil  # type: ignore[import-untyped]  # noqa: PLC0415 - whoever imports bitten.testing for something else does without

    found = set()
    for each in psutil.Process().children(recursive=True):
        try:
            if each.status() != psutil.STATUS_ZOMBIE:
                found.add(each.pid)
        except psutil.NoSuchProcess:
            continue
    return found
