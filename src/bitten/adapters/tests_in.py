"""Which tests of a file are new or changed. Knows pytest's usual names, not a project's own settings for them.

Limit: a test that changes only through what it uses (a helper, a fixture, a table at module level) is not a changed test.
"""

from __future__ import annotations

from .scope import Name, Units, units


def changed_tests(old: bytes | None, new: bytes | None) -> tuple[str, ...]:
    """`test_x` or `TestC::test_x`, in the order of the file, for each whose own code, decorators included, is new or differs."""
    before, after = units(old) or Units(), units(new) or Units()
    return tuple("::".join(name) for name in after.code if _is_test(name, after) and after.code[name] != before.code.get(name))


def _is_test(name: Name, file: Units) -> bool:
    """A function of that name that a class may hold, but no other function."""
    return name in file.functions and name[-1].startswith("test") and name[:-1] not in file.functions
