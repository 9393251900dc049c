"""The part of a page that a program writes: it stands between two marks, is put there anew, or is compared with what was just made.

It does not know what was made.
"""

from __future__ import annotations

import difflib
import sys
from pathlib import Path


def put(made: str, page: Path, marks: tuple[str, str], check: bool = False, again: str = "") -> int:
    """Writes `made` between the marks of `page`; or with `check` says on stderr what differs and what makes it `again`. An exit code."""
    begin, end = marks
    head, _, rest = page.read_text("utf-8").partition(begin)
    old, _, tail = rest.partition(end)
    new = f"\n\n{made}\n\n"
    if not check:
        page.write_text(f"{head}{begin}{new}{end}{tail}", "utf-8")
        return 0
    print(f"{page.name} is current" if old == new else f"{page.name} is stale: {again}", file=sys.stderr)
    print("\n".join(difflib.unified_diff(old.splitlines(), new.splitlines(), page.name, "made", lineterm="", n=0)), file=sys.stderr, end="")
    return int(old != new)
