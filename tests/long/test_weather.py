"""Strange places and programs at their full size: what tests/weather makes small."""

from __future__ import annotations

import pytest

from tests.stories import Project
from tests.weather.test_places import CROWDS, FAILS, crowd, in_a_crowd
from tests.weather.test_programs import flood


def test_three_gigabytes_of_output(tmp_path):
    flood(Project(tmp_path, FAILS), 3 << 30)


@pytest.mark.parametrize("kind", CROWDS)
def test_a_hundred_thousand_files(tmp_path, kind):
    project = Project(tmp_path, FAILS)
    crowd(project, 100_000)
    if kind == "tracked":
        project.commit("a crowd")
    assert in_a_crowd(project) < 60
