"""Our hand inside a room: writes and removes files there, as a run of its own. Reads JSON, path to base64 or null, from stdin."""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path


def put(path: Path, content: bytes | None) -> None:
    """A link gives way to a file: in a clone it would lead to the real one."""
    if content is None or path.is_symlink():
        path.unlink(missing_ok=True)
    if content is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


if __name__ == "__main__":
    for name, text in json.load(sys.stdin).items():
        put(Path(name), None if text is None else base64.b64decode(text))
