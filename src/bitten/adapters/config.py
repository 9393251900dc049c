"""Settings: `[tool.bitten]` in pyproject.toml, or `.bitten.toml` beside it, which wins. An unknown name is an error."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bitten.core.trouble import BadInput


@dataclass(frozen=True)
class Settings:
    """`budget`: minutes of a person's time before a reset. `ask_after`: seconds of a run above which a re-run is asked for.

    `lessons`: the file that "Things that have bitten us" stands in. `timeout`: seconds for one run in a copy; 0 means
    five times the failing run, one minute at least. `keep_mib`: what the cases of a project may take on disk. `hang_after`: how long a
    command may print nothing and use no CPU until it is ended as hung, in seconds or as "5m"; 0 means ten minutes in CI, else never.
    `reproducer`: whether `run` looks for a program of ten lines that fails alike. `agent_seconds`, `agent_turns`, `agent_dollars`: what one
    session of an agent may take, unless `--seconds`, `--turns` or `--dollars` say otherwise. `agent_model`: its model; empty for its own.
    """

    budget: float = 60.0
    ask_after: float = 30.0
    lessons: str = "CLAUDE.md"
    timeout: float = 0.0
    keep_mib: float = 1024.0
    hang_after: float | str = 0.0
    reproducer: bool = True
    agent_seconds: float = 600.0
    agent_turns: int = 30
    agent_dollars: float = 2.0
    agent_model: str = ""


def settings(root: Path) -> Settings:
    """Raises: BadInput `bad-settings`, naming the file and the word."""
    own = _table(root / ".bitten.toml")
    table = own if own is not None else _in_pyproject(root / "pyproject.toml")
    return _checked(table) if table else Settings()


def _checked(table: dict[str, Any]) -> Settings:
    import msgspec  # noqa: PLC0415 - most projects have no settings

    try:
        table = {name.replace("-", "_"): value for name, value in table.items()}
        known = set(Settings.__dataclass_fields__)
        unknown = set(table) - known
        if unknown:
            raise BadInput(
                "bad-settings", f"Unknown setting {sorted(unknown)[0]!r}.", f"Known: {', '.join(sorted(known))}.", "edit [tool.bitten]"
            )
        return msgspec.convert(table, Settings, strict=True)
    except msgspec.ValidationError as error:
        raise BadInput("bad-settings", f"A setting has the wrong type: {error}.", way="edit [tool.bitten]") from None


def _in_pyproject(file: Path) -> dict[str, Any]:
    """Parsed only where our name stands in it: most projects have no settings, and each command would wait for it."""
    try:
        if b"bitten" not in file.read_bytes():
            return {}
        return dict((_table(file) or {}).get("tool", {}).get("bitten", {}))
    except (BadInput, OSError):  # the project's file is the project's affair: a broken one must not stop a capture
        return {}


def _table(file: Path) -> dict[str, Any] | None:
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise _unreadable(file, error) from None
    return _parsed(file, text)


def _parsed(file: Path, text: str) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib  # noqa: PLC0415 - as above
    else:
        import tomli as tomllib  # noqa: PLC0415 - as above
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _unreadable(file, error) from None


def _unreadable(file: Path, error: Exception) -> BadInput:
    return BadInput("bad-settings", f"Can't read {file.name}: {error}.", way=f"mend {file.name}")
