"""The guest's back door (guest/native.c), built where a C compiler is: for Pythons whose flags or environment shut the front one."""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from bitten.adapters import places
from bitten.core.trouble import Unable
from bitten.guest import HOME

SOURCE = Path(HOME) / "native.c"
COMPILERS = ("cc", "gcc", "clang")
PATIENCE = 60
"""Seconds for a compiler."""


def env_for(base: Mapping[str, str]) -> dict[str, str]:
    """What to add to a command's environment, beside the invitation. What is preloaded already stays, and before ours.

    Raises: Unable `no-compiler`.
    """
    before = base.get("LD_PRELOAD")
    library = str(built())
    return {"BITTEN_DOOR": HOME, "LD_PRELOAD": f"{before}:{library}" if before else library}


def built() -> Path:
    """The library, built unless it lies there from an earlier run of the same source."""
    source = SOURCE.read_bytes()
    name = f"native-{hashlib.sha256(source).hexdigest()[:16]}-{platform.machine()}.so"
    library = _folder() / name
    if not library.exists():
        _build(library)
    return library


def _folder() -> Path:
    """The loader takes a blank or a colon for the end of a name."""
    return next((folder for folder in (places.cache(), places.scratch()) if not {" ", ":"} & set(str(folder))), places.memory())


def _build(library: Path) -> None:
    compiler = next((found for each in COMPILERS if (found := shutil.which(each))), None)
    if compiler is None:
        raise _unable("There is no C compiler here, and --native builds its helper on the spot.", f"Looked for {', '.join(COMPILERS)}.")
    new = library.with_name(f".{library.name}.{os.getpid()}")
    try:
        _called([compiler, "-shared", "-fPIC", "-O2", "-o", str(new), str(SOURCE), "-ldl"])
        _called(["true"], {**os.environ, "LD_PRELOAD": str(new)})
        new.replace(library)
    finally:
        new.unlink(missing_ok=True)


def _called(argv: list[str], env: Mapping[str, str] | None = None) -> None:
    """The loader only complains, on stderr, of a library that it can't preload."""
    try:
        done = subprocess.run(argv, capture_output=True, text=True, errors="replace", check=False, timeout=PATIENCE, env=env)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _unable("The native helper can't be built.", str(error)) from None
    if done.returncode or done.stderr:
        raise _unable("The native helper can't be built.", f"{argv[0]}: {done.stderr.strip()[-300:]}")


def _unable(what: str, why: str) -> Unable:
    return Unable("no-compiler", what, why, way="install gcc or clang, or go without: bitten run -- CMD")
