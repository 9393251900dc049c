"""What the guest tells of a failing call, so that it can be made anew."""

from __future__ import annotations

import textwrap

import pytest

from tests.guest.visit import project, python, visit

HOSTILE = """
    class Hostile:
        def __init__(self):
            self.width = 3
        def __getattr__(self, name):
            print("asked for", name)
            raise SystemExit(9)
        def __repr__(self):
            print("asked for words")
            raise SystemExit(9)
        __str__ = __len__ = __iter__ = __bool__ = __eq__ = __hash__ = __repr__

    class Dict(dict):
        def items(self):
            print("asked for items")
            raise SystemExit(9)

    def work(it, held, cyclic, count):
        return held["missing"] + it.width

    loop = []
    loop.append(loop)
    work(Hostile(), Dict(a=1), loop, 10 ** 5000)
"""


def border(gone):
    return next(gone.log.of("boundary"))


def test_no_code_of_the_program_is_called(tmp_path):
    gone = visit(project(tmp_path, {"main.py": textwrap.dedent(HOSTILE)}), "main.py")
    assert gone.done.stdout == ""
    assert gone.done.returncode == 1
    told = border(gone)["frames"][-1]["vars"]
    assert told["held"][:1] == ["d"]
    assert told["it"][5] == {"width": ["v", 3]}
    assert not list(gone.log.of("hookerr"))


@pytest.mark.parametrize("version", ["3.8", "3.9", "3.13"])
def test_it_is_told_on_every_python(tmp_path, version):
    exe = python(version)
    if exe is None:
        pytest.skip(f"no Python {version} here")
    main = "def add(a, b):\n    return a + b\n\nadd(1, 'x')\n"
    frame = border(visit(project(tmp_path, {"main.py": main}), "main.py", exe=exe))["frames"][-1]
    assert frame["vars"] == {"a": ["v", 1], "b": ["v", "x"]}
    assert (frame["fn"], frame["args"], frame["top"]) == ("add", ["a", "b"], 1)


def test_it_is_bounded_in_size(tmp_path):
    main = "row = list(range(1000))\nrows = [{str(i): row for i in range(100)} for _ in range(1000)]\nname = 'x' * 10 ** 7\n\n" \
           "def pick(rows, name):\n    return rows[5000], name\n\npick(rows, name)\n"
    gone = visit(project(tmp_path, {"main.py": main}), "main.py")
    assert len(repr(border(gone))) < 200_000


def test_a_tensor_is_told_by_its_shape_its_range_and_what_is_missing(tmp_path):
    main = """
        import torch

        def look(x, ids, wide):
            return x[ids].view(7, 7) + wide

        x = torch.ones(30, 40)
        x[2, 3] = float("nan")
        look(x, torch.arange(30), torch.zeros(3, 4).t())
    """
    told = border(visit(project(tmp_path, {"main.py": textwrap.dedent(main)}), "main.py"))["frames"][-1]["vars"]
    assert (told["x"][1]["shape"], told["x"][1]["nan"]) == ([30, 40], 1)
    assert (told["ids"][1]["dtype"], told["ids"][1]["min"], told["ids"][1]["max"]) == ("int64", "0", "29")
    assert told["wide"][1]["stride"] == [1, 4]
