# ruff: noqa: E501 - a small file, or a story of records, is easier read unbroken
"""Modules of the project that the stack's files import."""

from __future__ import annotations

from tests.adapters.project import write

from bitten.adapters.surroundings.neighbours import imported


def test_imports_of_every_kind_lead_to_files_of_the_project_and_no_further(tmp_path):
    write(tmp_path, {"train.py": "import os, torch, helper\nfrom src.models import net\nfrom src import data as d\n",
                     "helper.py": "import deeper\n", "deeper.py": "1", "src/__init__.py": "", "src/models/__init__.py": "from . import net\n",
                     "src/models/net.py": "from .. import data\nfrom .layers import Layer\n", "src/models/layers.py": "1", "src/data.py": "1",
                     "lib/extra.py": "", "bad.py": "def (\n"})
    assert imported(["train.py"], tmp_path, []) == {
        "helper.py": "train.py", "src/models/net.py": "train.py", "src/models/__init__.py": "train.py", "src/data.py": "train.py"}
    assert imported(["src/models/net.py", "bad.py", "gone.py"], tmp_path, []) == {
        "src/data.py": "src/models/net.py", "src/models/layers.py": "src/models/net.py"}


def test_the_interpreters_own_path_is_searched_inside_of_the_project_alone(tmp_path):
    write(tmp_path, {"p/a.py": "import extra, outside\n", "p/lib/extra.py": "1", "site/outside.py": "1"})
    assert imported(["a.py"], tmp_path / "p", [f"{tmp_path}/p/lib", f"{tmp_path}/site"]) == {"lib/extra.py": "a.py"}
