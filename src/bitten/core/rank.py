"""The order of hypotheses, with the reason. Shown by likelihood, run by likelihood over cost; knows no playbook."""

from __future__ import annotations

from .case import Check, Hypothesis, Likelihood, Verdict
from .ladder import Case

_WORTH = {Likelihood.LIKELY: 4.0, Likelihood.POSSIBLE: 2.0, Likelihood.UNLIKELY: 1.0}
_RUNG = {Verdict.SUPPORTS: 0, None: 1, Verdict.UNCLEAR: 1, Verdict.REFUTES: 2}
SHOWN = 3
"""The recipe asks for two or three."""


def shown(case: Case, everything: bool = False) -> list[Hypothesis]:
    """Supported ones first, refuted and rejected ones last, each group by likelihood; at most three unless everything is asked."""
    order = sorted(case.hypotheses, key=lambda h: (case.rejected(h), _RUNG[case.verdict(h)], -_WORTH[h.likelihood], h.generic))
    return order if everything else order[:SHOWN]


def to_run(case: Case) -> list[Hypothesis]:
    """Open hypotheses, best likelihood for its cost first."""
    return sorted((h for h in case.hypotheses if is_undecided(case, h)), key=lambda h: (h.generic, -_WORTH[h.likelihood] / runs(h.check)))


def is_undecided(case: Case, hypothesis: Hypothesis) -> bool:
    return not case.rejected(hypothesis) and case.verdict(hypothesis) in (None, Verdict.UNCLEAR)


def runs(check: Check) -> float:
    """Cost of a check in runs of the command: an intervention needs its control run beside it; captured facts are nearly free."""
    if check.change is not None:
        return 2.0
    return 1.0 if check.probes or check.script else 0.01
