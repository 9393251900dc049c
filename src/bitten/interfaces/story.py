"""The recipe's own story as data: what is typed, what is answered, what is edited. Who plays it is another matter."""

from __future__ import annotations

from dataclasses import dataclass

RUN = "2026-05-04-charngram"


@dataclass(frozen=True)
class Scene:
    """`says` is the recipe's sentence; `command` what is typed; `answers` pairs of a prompt's end and what is typed at it."""

    says: str
    command: str = ""
    answers: tuple[tuple[str, str], ...] = ()
    edits: bool = False


STORY = (
    Scene("Step 1 and 2: capture the failure; hypotheses come with their checks.", f"bitten run -- make train RUN={RUN}",
          (("What did you expect?", "training to start, loss to print every 100 steps"),)),
    Scene("Step 3: look at the evidence yourself, and name the value that decided.", "bitten confirm h1",
          (("decided it?", "{value}"), ("name others)", ""))),
    Scene("Step 4: a minimal fix, and a test that fails without it. Nothing else.", edits=True),
    Scene("Step 5: prove both.", "bitten verify"),
    Scene("Step 6: the lesson, and one commit of fix, test and lesson.", "bitten close", (("only local", ""),)),
    Scene("What it left.", "git show --stat --format=%s HEAD"),
)
