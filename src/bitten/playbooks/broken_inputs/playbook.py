"""The data holds NaN or Inf. Generic: it is offered for every failure, and only for a message of NaN is it more than unlikely."""
from __future__ import annotations

import re
from collections.abc import Iterator

from bitten.playbook import Prediction, Seen, Suspect, playbook, suspect

SPEAKS_OF_NAN = re.compile(r"\bnan\b|\binf(?:inite|inity)?\b|non-?finite|not finite", re.I)


@playbook("broken-inputs", wakes_on="")
def broken_inputs(seen: Seen) -> Iterator[Suspect]:
    bad, rows = seen.fact("inputs.nonfinite_rows", 0), seen.fact("inputs.rows", 0)
    spoken = bool(seen.root and SPEAKS_OF_NAN.search(seen.root.message)) or any(_is_of_nan(seen, each) for each in seen.failure.missed)
    yield suspect(
        f"the data holds NaN or Inf: {bad} of {rows} rows that the model was given" if bad else "the data holds NaN or Inf",
        because="what goes in broken comes out broken; look at the data first",
        kind="nan/data", likelihood="possible" if spoken else "unlikely", prior_source="an estimate", probe=True,
        supports_if="inputs.nonfinite_rows >= 1", refutes_if="inputs.nonfinite_rows == 0",
        looks_like=("a NaN that the model or the loss makes", "a learning rate too high"),
        cure="find the rows where they are read, and mend or drop them there", scope=(seen.place,) if seen.place else (),
        generic=not spoken,
    )


def _is_of_nan(seen: Seen, missed: Prediction) -> bool:
    """An expectation of finiteness, or a number that came out as none."""
    return "finite" in str(missed) or seen.failure.facts.get(missed.fact) in ("nan", "inf", "-inf")
