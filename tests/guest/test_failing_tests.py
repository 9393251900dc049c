"""Failing tests of pytest, xdist and unittest: each once, from where it failed, and none that was meant to fail."""

from __future__ import annotations

import pytest

from tests.guest.test_invariance import same
from tests.guest.visit import project, python, visit

TESTS = '''
import unittest
import pytest

def load(n):
    raise ValueError(f"bad {n}")

def test_raises():
    load(-1)

def test_asserts():
    n = 3
    assert n == 4

def test_gives_up():
    pytest.fail("no data")

class Old(unittest.TestCase):
    def test_equal(self):
        self.assertEqual(5, 6)

    @unittest.expectedFailure
    def test_meant_to_fail(self):
        load(7)

@pytest.mark.xfail
def test_known():
    load(8)

def test_skipped():
    pytest.skip("no data")
'''
UNIT = '''
import unittest

def load(n):
    raise ValueError(f"bad {n}")

class Old(unittest.TestCase):
    def test_error(self):
        load(3)

    def test_failure(self):
        self.assertEqual(5, 6)

    def test_parts(self):
        for n in range(2):
            with self.subTest(n=n):
                self.assertEqual(n, 7)

    @unittest.expectedFailure
    def test_meant_to_fail(self):
        load(9)

if __name__ == "__main__":
    unittest.main()
'''
PYTEST = ("-m", "pytest", "-q", "-p", "no:cacheprovider")


def roots(done):
    return sorted((crash.type, crash.message.splitlines()[0], crash.site.function) for crash in done.story.crashes if crash.role == "root")


def test_each_failing_test_is_a_root_and_none_that_was_meant_to_fail(tmp_path):
    done = visit(project(tmp_path, {"test_it.py": TESTS}), *PYTEST)
    assert roots(done) == [("AssertionError", "5 != 6", "Old.test_equal"), ("AssertionError", "assert 3 == 4", "test_asserts"),
                           ("Failed", "no data", "test_gives_up"), ("ValueError", "bad -1", "load")]
    assert not any(crash.type.endswith(("Skipped", "XFailed")) for crash in done.story.crashes)


def test_workers_of_xdist_fail_by_their_name(tmp_path):
    pytest.importorskip("xdist")
    done = visit(project(tmp_path, {"test_it.py": TESTS}), *PYTEST, "-n", "2")
    assert len(roots(done)) == 4
    assert all(crash.process.startswith("xdist worker gw") for crash in done.story.crashes)


def test_a_module_that_cannot_be_collected_is_a_root_without_the_wrapping(tmp_path):
    done = visit(project(tmp_path, {"test_a.py": "import no_such_thing\n", "test_b.py": "def f(:\n"}), *PYTEST)
    assert roots(done) == [("ModuleNotFoundError", "No module named 'no_such_thing'", "<module>"),
                           ("SyntaxError", "invalid syntax (test_b.py, line 1)", "<module>")]
    assert all(crash.role == "root" for crash in done.story.crashes)


@pytest.mark.parametrize("version", ["3.8", "3.11", "3.13"])
def test_unittest_tells_a_failure_from_one_that_was_expected(tmp_path, version):
    exe = python(version)
    if exe is None:
        pytest.skip(f"Python {version} is not installed here")
    done = visit(project(tmp_path, {"a.py": UNIT}), "a.py", exe=exe)
    assert roots(done) == [("AssertionError", "0 != 7", "Old.test_parts"), ("AssertionError", "1 != 7", "Old.test_parts"),
                           ("AssertionError", "5 != 6", "Old.test_failure"), ("ValueError", "bad 3", "load")]
    assert all(crash.role == "root" for crash in done.story.crashes)


def test_unittest_prints_the_same(tmp_path):
    calm = UNIT.replace("unittest.main()", "import io\n    out = io.StringIO()\n"
                                           "    unittest.main(testRunner=unittest.TextTestRunner(out), exit=False)\n"
                                           "    print(out.getvalue().partition('Ran ')[0])\n    raise SystemExit(1)")
    same(project(tmp_path, {"a.py": calm}), python("3.11") or "python3", ["a.py"], {})
