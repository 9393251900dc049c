"""One thing that was looked at: whether it is as it should be, and what to do where it is not. Looks at nothing itself."""

from __future__ import annotations

from bitten.core.noun import noun

OK, ADVISORY, BROKEN = "ok", "advisory", "broken"
"""`advisory`: bitten goes on, and promises less. `broken`: something that is relied on does not work."""


@noun
class Vital:
    """`about` is bitten, agent or plugin; `way` is what to type, where something is to be done."""

    about: str
    name: str
    state: str
    said: str
    way: str = ""
