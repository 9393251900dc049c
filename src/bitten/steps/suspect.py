"""Step 2, the person's own: a claim with a check that decides it, in one line. Reads no file itself."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Sequence

from bitten.core.case import Change, Check, Hypothesis, Likelihood, Script
from bitten.core.intervening import turns_from
from bitten.core.ladder import Case
from bitten.core.ports import Person
from bitten.core.prediction import Prediction, parse
from bitten.core.trouble import BadInput


def suspect(case: Case, claim: str, look: str, supports_if: str, refutes_if: str, scope: Sequence[str], person: Person,
            read: Callable[[str], str], probes: Collection[str] = ()) -> Hypothesis:
    """The hypothesis as typed; `read` gives the text of a file named in it. `probes`, where given, are all that there are.

    Raises: BadInput `bad-prediction`, `bad-look`, `bad-turn`, `no-such-probe`; Refused `check-decides-nothing`.
    """
    check = check_from(look, parse(supports_if), parse(refutes_if), read)
    unknown = [name for name in check.probes if probes and name not in probes]
    if unknown:
        raise BadInput("no-such-probe", f"There is no probe {unknown[0]!r}.", f"There are: {', '.join(sorted(probes))}.",
                       f"--check probe:{min(probes)}")
    return Hypothesis(f"h{len(case.hypotheses) + 1}", claim, "", check, f"person:{person.name}", Likelihood.POSSIBLE, scope=tuple(scope))


def check_from(look: str, supports_if: Prediction, refutes_if: Prediction, read: Callable[[str], str]) -> Check:  # noqa: PLR0911 - one line a form
    """`captured`, `probe:NAME,…`, `turn:NAME=VALUE,…`, `env:NAME=VALUE`, `tree:REVISION`, `bare`, `patch:FILE`, or a command."""
    kind, _, rest = look.partition(":")
    match kind, rest:
        case "captured", "":
            return Check(supports_if, refutes_if)
        case "bare", "":
            return Check(supports_if, refutes_if, change=Change(bare=True))
        case "probe", names if names:
            return Check(supports_if, refutes_if, probes=tuple(names.replace("-", "_").split(",")))
        case "turn", turns if turns:
            return Check(supports_if, refutes_if, change=Change(turns=turns_from(turns)))
        case "env", pair if "=" in pair:
            name, _, value = pair.partition("=")
            return Check(supports_if, refutes_if, change=Change(env={name: value}))
        case "tree", revision if revision:
            return Check(supports_if, refutes_if, change=Change(tree=revision))
        case "patch", file if file:
            return Check(supports_if, refutes_if, script=Script(patch=read(file)))
    return Check(supports_if, refutes_if, script=Script(argv=_words(look)))


def _words(look: str) -> tuple[str, ...]:
    try:
        words = tuple(shlex.split(look))
    except ValueError as error:
        raise BadInput(
            "bad-look", f"Can't read --check {look!r}: {error}.", way='bitten suspect "CLAIM" --check "python count.py" …'
        ) from None
    if not words:
        raise BadInput("bad-look", "--check names nothing to look at.", way='bitten suspect "CLAIM" --check "python count.py" …')
    return words
