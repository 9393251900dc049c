"""Compiling again and again, up to Dynamo's limit: more of the compiler than the short suite has time for."""

from __future__ import annotations

from tests.instruments.stage import line_of, probed
from tests.instruments.test_time import COMPILED, WARM


def test_a_function_that_is_compiled_up_to_the_limit_is_found_at_the_line_that_a_failed_guard_names_or_else_at_its_own(tmp_path):
    for sizes, mark in (("(3, 4, 5, 3, 6, 7, 8, 9, 10, 11, 12)", "# <- here"), ("range(3, 16)", "# <- function")):
        source = COMPILED.replace("SIZES", sizes)
        seen = probed(tmp_path, source, "time", warm=WARM)
        assert (seen.exit, seen.stdout, seen.troubles) == (0, "done\n", []), seen.stderr
        found = [(each.facts["at"], each.facts["time.recompile_limit"]) for each in seen.findings]
        assert found == [(f"main.py:{line_of(source, mark)}", 8)]
