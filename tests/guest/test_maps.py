"""Files that no Python call opened: mapped, held by a descriptor, or named by a variable when nothing caught the exception."""

from __future__ import annotations

import pytest

from tests.guest.visit import project, python, visit

PROGRAM = """
import mmap, os, pathlib, sys

def main():
    fd = os.open("shard.arrow", os.O_RDONLY)
    mapped = mmap.mmap(fd, 0, prot=mmap.PROT_READ)
    os.close(fd)
    held = os.open("table.lmdb", os.O_RDONLY)
    path, other, gone, text = "named.h5", pathlib.Path("other.h5"), "gone.h5", "no path / at all"
    raise ValueError("bad")

try:
    raise KeyError("caught")
except KeyError:
    import traceback
    traceback.format_exc()
main()
"""
FILES = {"program.py": PROGRAM, "shard.arrow": "1234", "table.lmdb": "12", "named.h5": "123", "other.h5": "1", "gone.h5x": "1"}


@pytest.mark.parametrize("version", ["", "3.8", "3.13"])
def test_what_c_readers_hold_is_told_with_its_size(tmp_path, version):
    exe = {"exe": python(version)} if version and python(version) else {}
    if version and not exe:
        pytest.skip(f"no Python {version} here")
    root = project(tmp_path, FILES)
    (record,) = visit(root, "program.py", **exe).log.of("held")
    told = {each[0].removeprefix(f"{root}/"): each[1:3] for each in record["files"]}
    assert told == {"shard.arrow": ["mapped", 4], "table.lmdb": ["open", 2], "named.h5": ["named", 3], "other.h5": ["named", 1]}


def test_a_worker_that_sends_its_exception_home_tells_what_it_held(tmp_path):
    program = """
import multiprocessing, os

def work(number):
    held = os.open("shard.arrow", os.O_RDONLY)
    raise ValueError("bad")

with multiprocessing.get_context("fork").Pool(1) as pool:
    pool.map(work, [1])
"""
    root = project(tmp_path, {**FILES, "program.py": program})
    told = [each for record in visit(root, "program.py").log.of("held") for each in record["files"]]
    assert [f"{root}/shard.arrow", "open", 4] in [each[:3] for each in told]


def test_of_an_exception_that_was_caught_nothing_is_told(tmp_path):
    root = project(tmp_path, {**FILES, "program.py": PROGRAM.replace("\nmain()", "")})
    assert list(visit(root, "program.py").log.of("held", "hookerr")) == []


def test_many_variables_and_a_hostile_path_are_no_hindrance(tmp_path):
    program = """
class Path:
    def __fspath__(self): raise SystemExit(9)
    __str__ = __repr__ = __fspath__

def main():
    evil, long = Path(), "x/" * 4000
    many = {str(at): 1 for at in range(100)}
    locals().update(many)
    raise ValueError("bad")
main()
"""
    done = visit(project(tmp_path, {"program.py": program}), "program.py")
    assert done.done.returncode == 1 and list(done.log.of("held", "hookerr")) == []
