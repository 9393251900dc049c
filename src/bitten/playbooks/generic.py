"""What may explain any failure: what changed last, and the environment. Knows no failure class, so an intervention must decide.

`symptom.depends` is true when the control run shows the failure and the changed run is well, false when both show it.
"""
from __future__ import annotations

from collections.abc import Iterator

from bitten.playbook import Change, Seen, Suspect, playbook, suspect


@playbook("generic", wakes_on="")
def generic(seen: Seen) -> Iterator[Suspect]:
    around = seen.failure.surroundings
    if around.changed:
        yield _offered("the uncommitted change brought it", f"{_named(around.changed)} changed since the last commit",
                       Change(tree="HEAD"), "possible", around.changed)
    elif around.parent:
        yield _offered("the last commit brought it", f"nothing is uncommitted, and {around.head[:10]} came last", Change(tree="HEAD~1"))
    yield _offered("the environment brings it", "a variable may change what a library or the program does", Change(bare=True))


def _offered(claim: str, because: str, change: Change, likelihood: str = "unlikely", scope: tuple[str, ...] = ()) -> Suspect:
    return suspect(claim, because=because, change=change, likelihood=likelihood, prior_source="an estimate", scope=scope, generic=True,
                   supports_if="symptom.depends == true", refutes_if="symptom.depends == false",
                   looks_like=("a failure that comes and goes by itself: run it again",))


def _named(paths: tuple[str, ...]) -> str:
    return paths[0] if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more"
