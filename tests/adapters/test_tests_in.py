from bitten.adapters.tests_in import changed_tests

OLD = b'''\
import pytest
import unittest

ROWS = [1, 2]


def helper():
    return 1


def test_one():
    assert helper() == 1


@pytest.mark.parametrize("n", [1, 2])
def test_many(n):
    assert n


class TestLoader:
    def test_len(self):
        assert True


class LoaderCase(unittest.TestCase):
    def test_case(self):
        def test_inner():
            pass
'''


def test_of_a_new_file_every_test_is_new():
    assert changed_tests(None, OLD) == ("test_one", "test_many", "TestLoader::test_len", "LoaderCase::test_case")


def test_a_new_and_a_changed_test_are_named_and_the_others_not():
    new = OLD.replace(b"assert True", b"assert 1") + b"\n\ndef test_last_sample_included():\n    assert False\n"
    assert changed_tests(OLD, new) == ("TestLoader::test_len", "test_last_sample_included")


def test_another_parameter_changes_a_test():
    assert changed_tests(OLD, OLD.replace(b"[1, 2])\ndef", b"[1, 2, 3])\ndef")) == ("test_many",)


def test_a_changed_helper_or_table_alone_changes_no_test():
    assert changed_tests(OLD, OLD.replace(b"return 1", b"return 2").replace(b"ROWS = [1, 2]", b"ROWS = []")) == ()


def test_a_file_that_is_gone_or_cannot_be_parsed_has_no_tests():
    assert changed_tests(OLD, None) == ()
    assert changed_tests(OLD, b"def test_(:\n") == ()
