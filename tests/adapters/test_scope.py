import pytest

from bitten.adapters.scope import function_at, touched

LOADER = b'''\
import math

LIMIT = 3


class DataLoader:
    """Batches."""

    size = 2

    def __init__(self, items):
        self.items = items

    def __iter__(self):
        for start in range(0, len(self.items), self.size):
            yield self.items[start:start + self.size - 1]  # one short


def helper():
    def inner():
        return 1

    return inner()
'''


@pytest.mark.parametrize(("old", "new", "names"), [
    (b"self.size - 1]", b"self.size]", [":DataLoader.__iter__"]),
    (b"  # one short", b"", [":DataLoader.__iter__"]),
    (b"size = 2", b"size = 4", [":DataLoader"]),
    (b"class DataLoader:", b"class DataLoader(list):", [":DataLoader"]),
    (b"LIMIT = 3", b"LIMIT = 4", [""]),
    (b"import math", b"import math, os", [""]),
    (b"return 1", b"return 2", [":helper.inner"]),
    (b"    return inner()", b"    return inner() + 1", [":helper"]),
    (b"def helper():", b"def other():", [":helper", ":helper.inner", ":other", ":other.inner"]),
    (b"def helper():", b"def new():\n    pass\n\n\ndef helper():", [":new"]),
    (b"    def __iter__", b"    def __len__(self):\n        return 1\n\n    def __iter__", [":DataLoader.__len__"]),
    (b"    def __iter__", b"\n\n    def __iter__", [""]),
    (b"def helper():", b"@cache\ndef helper():", [":helper"]),
    (b"def helper():", b"# why\ndef helper():", [":helper"]),
])
def test_a_change_counts_to_the_innermost_definition_that_holds_it(old, new, names):
    assert LOADER.count(old) == 1
    assert touched("src/data.py", LOADER, LOADER.replace(old, new)) == tuple(f"src/data.py{name}" for name in names)


@pytest.mark.parametrize(("path", "old", "new"), [
    ("a.py", None, b"def f(): pass\n"),
    ("a.py", b"def f(): pass\n", None),
    ("a.py", b"def f(): pass\n", b"def f( pass\n"),
    ("a.py", b"def f(): pass\n", b"\xff\xfe"),
    ("a.yaml", b"a: 1\n", b"a: 2\n"),
    ("a.py", b"def f(): pass\ndef g(): pass\n", b"def g(): pass\ndef f(): pass\n"),
    ("a.py", b"x = 1\n", b"x = 1\r\n"),
])
def test_what_no_function_holds_counts_to_the_file(path, old, new):
    assert touched(path, old, new) == (path,)


def test_blank_lines_between_definitions_belong_to_nobody():
    spaced = LOADER.replace(b"LIMIT", b"\n\nLIMIT").replace(b"    size", b"\n    size").replace(b"return 1", b"return 2")
    assert touched("src/data.py", LOADER, spaced) == ("src/data.py:helper.inner",)


def test_equal_content_touches_nothing():
    assert touched("a.py", LOADER, LOADER) == ()


def test_each_definition_under_one_name_is_compared():
    pair = b"class A:\n    @property\n    def x(self): return 1\n    @x.setter\n    def x(self, to): self.y = to\n"
    assert touched("a.py", pair, pair.replace(b"= to", b"= to + 1")) == ("a.py:A.x",)


def test_crlf_and_a_byte_order_mark_are_no_hindrance():
    source = b"\xef\xbb\xbf" + LOADER.replace(b"\n", b"\r\n")
    assert touched("a.py", source, source.replace(b"self.size - 1]", b"self.size]")) == ("a.py:DataLoader.__iter__",)


@pytest.mark.parametrize(("line", "name"), [(1, ""), (6, ":DataLoader"), (16, ":DataLoader.__iter__"), (21, ":helper.inner"),
                                            (23, ":helper"), (99, "")])
def test_the_function_at_a_line_is_the_innermost(line, name):
    assert function_at("src/data.py", LOADER, line) == f"src/data.py{name}"


def test_a_decorator_belongs_to_its_function_and_a_broken_file_to_itself():
    assert function_at("a.py", b"@cache\ndef f():\n    pass\n", 1) == "a.py:f"
    assert function_at("a.py", b"def f(:\n", 1) == "a.py"
