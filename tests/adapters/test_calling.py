"""Functions are found by their name in source, a method only where its class is."""

from __future__ import annotations

from pathlib import Path

from bitten.adapters.calling import functions

ONE = """
class Loader:
    def load(self): ...
    async def close(self): ...


def load(path): ...
"""


def test_a_function_is_found_beside_a_method_of_its_name_and_a_method_by_its_class(tmp_path: Path) -> None:
    for path, text in (("src/pkg/__init__.py", ONE), ("tool.py", ONE.replace("Loader", "Other")), ("note.txt", ONE)):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    paths = ["src/pkg/__init__.py", "tool.py", "note.txt", "gone.py"]
    assert list(functions(tmp_path, paths, "load")) == ["pkg:load", "tool:load"]
    assert list(functions(tmp_path, paths, "Loader.load")) == ["pkg:Loader.load"]
    assert list(functions(tmp_path, paths, "Loader.close")) == ["pkg:Loader.close"]
    assert list(functions(tmp_path, paths, "close")) == []
