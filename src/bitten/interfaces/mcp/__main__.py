"""`python -I -m bitten.interfaces.mcp [--root DIR]`: the server by its quickest way, past the command line. Reads no case."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from bitten.core.trouble import BadInput
from bitten.interfaces.ends import open_what_is_closed

from .server import serve


def root_in(words: Sequence[str]) -> str | None:
    """What `--root` names, empty where it is not given; None when these words ask for something else, such as help."""
    if not words:
        return ""
    name, _, value = words[0].partition("=")
    rest = words[1:] if value else words[2:]
    value = value or (words[1] if len(words) > 1 else "")
    return value if name == "--root" and value and not rest else None


def main(root: str = "") -> int:
    """Serve the project in `root`; else where Claude Code says that it is; else the one that we were started in."""
    open_what_is_closed()
    folder = root or os.environ.get("CLAUDE_PROJECT_DIR") or "."
    try:
        os.chdir(folder)
    except OSError as error:
        trouble = BadInput("no-such-folder", f"Can't serve {folder}: {error.strerror}.", way="bitten mcp --root DIR")
        os.write(2, f"✗ {trouble}\n  way out:  {trouble.way}\n  [{trouble.slug}]\n".encode("utf-8", "replace"))
        return trouble.exit_code
    return serve()


if __name__ == "__main__":
    asked = root_in(sys.argv[1:])
    sys.exit(main(asked) if asked is not None else "usage: python -I -m bitten.interfaces.mcp [--root DIR]")
