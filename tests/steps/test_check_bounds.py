"""What a check gathers is kept within bounds: the journal does not hold what a folder holds already."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace

from tests import nouns

from bitten.core.case import Check, Hypothesis, Script, Verdict
from bitten.core.ladder import fold
from bitten.core.ports import Observed
from bitten.core.prediction import parse
from bitten.steps.check import Bench, check


def test_evidence_keeps_of_what_was_printed_only_its_end_and_what_was_predicted():
    printed = "rows=7 short\n" + "a line of a long log\n" * 100_000
    seen = Observed(nouns.FINE, {"exit": 0, "stdout": printed})
    copy = SimpleNamespace(run=lambda *args, **kwargs: seen)
    bench = Bench(SimpleNamespace(copy=lambda allowed: nullcontext(copy)), None, SimpleNamespace(keep=lambda *args: "evidence/h1-1"))
    wanted = Hypothesis("h1", "it is short", "-", Check(parse('stdout ~ "rows=7"'), parse('stdout ~ "rows=8"'), script=Script(("x",))), "-")
    (found,) = check(fold([nouns.failure(), wanted]), [wanted], bench)
    assert found.verdict is Verdict.SUPPORTS
    assert len(found.facts["stdout"]) < 5000
