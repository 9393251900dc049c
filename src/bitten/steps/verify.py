"""Step 5: proof. The test is red on the base and green on the fix, the command passes, the confirmed cause is gone.

What speaks against the test or the scope only refuses; what speaks against the fix or the cause goes back to step 2.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from bitten.core.case import Confirmation, Evidence, Withdrawal
from bitten.core.failure import Command
from bitten.core.intervening import instruments_for
from bitten.core.ladder import Case, Event, advance
from bitten.core.ports import Observed, Person
from bitten.core.proof import Fix, Outcome, Rerun, TestRun, Verification, green_is_real, red_is_real
from bitten.core.trouble import Refused, gate
from bitten.steps import check as checking
from bitten.steps.check import Bench
from bitten.steps.fix import confirmed, made

SPEAKS_AGAINST_THE_FIX = frozenset({"test-red-on-fix", "command-still-fails", "cause-still-there", "check-measured-nothing-on-fix",
                                    "check-measured-elsewhere"})


def verify(case: Case, bench: Bench, person: Person) -> Iterator[Event]:
    """The fix, then its verification; or the fix, then its withdrawal with what was learnt.

    Raises: Refused, with the slug of the gate that stayed shut. The withdrawal is yielded before.
    """
    if not _fixed(case):
        fix = made(case, bench.repo)
        case = advance(case, fix)
        yield fix
    proof = _Proof(case, bench, person)
    try:
        yield proof.verification()
    except Refused as refused:
        yield Withdrawal(refused.slug, str(refused), proof.learnt(), refused.slug in SPEAKS_AGAINST_THE_FIX)
        raise


def _fixed(case: Case) -> bool:
    return len(case.links) > 1


class _Proof:
    """The four runs that a verification is made of, cheapest refusal first."""

    def __init__(self, case: Case, bench: Bench, person: Person) -> None:
        self.case, self.bench, self.person = case, bench, person
        fix = case.links[1]
        assert isinstance(fix, Fix)
        self.fix = fix
        self.seen: dict[str, Observed] = {}

    @property
    def confirmation(self) -> Confirmation:
        return confirmed(self.case)

    def verification(self) -> Verification:
        red = self._red()
        red_is_real(red, self.fix)
        green = self._green()
        green_is_real(green, red)
        return Verification(self.fix, red, green, self._rerun(), self._again())

    def learnt(self) -> Mapping[str, object]:
        """How each run of this proof ended, as facts for the next round."""
        return {f"{name}.exit": seen.run.exit for name, seen in self.seen.items()}

    def _red(self) -> TestRun:
        """The new test on the base: the tree at confirmation, with the test's file as the fix has it."""
        test = self.fix.scope.test
        changed = self.bench.repo.difference(self.confirmation.tree, self.fix.tree).files
        base = dict(self.bench.repo.files_at(self.confirmation.tree, changed))
        return self._test("red", {**base, **self.bench.repo.files_at(self.fix.tree, [test])})

    def _green(self) -> TestRun:
        return self._test("green", {})

    def _test(self, colour: str, files: Mapping[str, bytes | None]) -> TestRun:
        test = self.fix.scope.test
        names = self.bench.repo.new_tests(test, self.confirmation.tree, self.fix.tree)
        gate(bool(names), "test-not-found", f"No new or changed test was found in {test}.",
             way=f"add one to {test}, or name another file:  bitten fix --test PATH")
        with (
            self.person.progress(f"{colour}: {test} on the {'base' if files else 'fix'}"),
            self.bench.sandbox.copy(self.bench.allowed) as copy,
        ):
            copy.write(files)
            seen = copy.test(test, names, in_its_python(self.case), timeout=self.bench.timeout)
        self._keep(colour, seen)
        gate(bool(seen.outcomes) or seen.run.hung, "test-did-not-run", f"The new test did not run: {test}.", _last_words(seen),
             f"make this work in your environment, then try again:  {interpreter(self.case)} -m pytest {test}")
        return TestRun(seen.run, tuple(_final(seen.outcomes)))

    def _rerun(self) -> Rerun:
        failure = self.case.failure
        with self.person.progress("the original command on the fix"), self.bench.sandbox.copy(self.bench.allowed) as copy:
            seen = copy.run(failure.run.command, timeout=self.bench.timeout,
                            instruments=instruments_for(self.case.expected, self.bench.instruments))
        self._keep("rerun", seen)
        gate(
            not seen.refused,
            "rerun-kept-from",
            "The copy kept the command from something.",
            " ".join(seen.refused),
            "bitten verify --allow-net",
        )
        rerun = Rerun(
            seen.run,
            {name: value for name, value in seen.facts.items() if name not in ("stdout", "stderr") or _asked(self.case.expected, name)},
            self.case.expected,
        )
        gate(rerun.passes, "command-still-fails", "The original command still fails with the fix.", _ending(seen, rerun), "bitten diagnose")
        return rerun

    def _again(self) -> Evidence:
        """The confirming check, run again on the fix."""
        confirmed_by = self.confirmation.evidence
        with self.person.progress(f"the check of {confirmed_by.hypothesis.id} on the fix"):
            return next(checking.check(self.case, [confirmed_by.hypothesis], self.bench, on_base=False, place=confirmed_by.place))

    def _keep(self, name: str, seen: Observed) -> None:
        self.seen[name] = seen
        self.bench.room.keep(f"verify-{name}", seen)


def _asked(expected: tuple[object, ...], fact: str) -> bool:
    return any(getattr(each, "fact", "") == fact for each in expected)


def _ending(seen: Observed, rerun: Rerun) -> str:
    if seen.crashes:
        return f"{seen.crashes[0].type}: {seen.crashes[0].message}"
    return f"Expected {rerun.missed[0]}." if rerun.missed else f"It ended with exit {seen.run.exit}."


def _last_words(seen: Observed) -> str:
    return next((line.strip() for line in reversed(seen.output.splitlines()) if line.strip()), f"It ended with exit {seen.run.exit}.")


def in_its_python(case: Case) -> Command:
    """The interpreter of the failing program, called where the failing command was."""
    return replace(case.failure.run.command, argv=(interpreter(case),))


def interpreter(case: Case) -> str:
    """The Python that ran the failing program; whatever is called so where none was seen."""
    return str(case.failure.surroundings.environment.get("interpreter", "python"))


def _final(outcomes: tuple[Outcome, ...]) -> Iterator[Outcome]:
    """One outcome a test: the first phase that did not pass, else its call."""
    by_test: dict[str, Outcome] = {}
    for each in outcomes:
        held = by_test.get(each.test)
        if held is None or held.result == "passed":
            by_test[each.test] = each
    return iter([replace(each) for each in by_test.values()])
