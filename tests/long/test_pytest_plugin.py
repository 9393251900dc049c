"""`pytest --bitten` below xdist, where a test passes alone, and where a file can't be read."""

from __future__ import annotations

from tests.test_pytest_plugin import project, run, said

__all__ = ["project"]


def test_a_test_that_fails_only_among_others_and_a_file_that_cannot_be_read_are_told(project):
    alone = "import os\n\n\ndef pytest_collection_modifyitems(items):\n    if len(items) == 1:\n        os.environ['ALONE'] = '1'\n"
    project.write("tests/conftest.py", alone)
    done = run(project, "--bitten", "tests", "--deselect", "tests/test_rows.py::test_load")
    assert done.returncode == 1 and said(done) == [
        "bitten: it passes when it is run alone, so there is no case · tests/test_rows.py::test_alone"]
    project.write("tests/test_rows.py", "import nothing_of_this_name\n")
    done = run(project, "--bitten")
    assert done.returncode == 2 and "case 1 · " in said(done)[0]
    assert "ModuleNotFoundError" in project.bitten("show").stdout


def test_it_works_below_xdist_and_is_not_started_by_its_own_runs(project):
    project.write("pytest.ini", "[pytest]\naddopts = -p no:cacheprovider --bitten\n")
    done = run(project, "-n", "1", "tests/test_rows.py::test_load")
    assert done.returncode == 1 and len(said(done)) == 1 and "case 1 · " in said(done)[0], done.stdout
    assert len(list((project.root / ".bitten").glob("[0-9]*-*"))) == 1
