"""The machine that a command ran on: processor, memory, accelerator and driver, as the system's own files say. Starts no program."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_FLAGS = ("sse4_2", "avx", "avx2", "fma", "f16c", "avx512f", "avx512_vnni", "avx512_bf16", "amx_tile", "amx_bf16", "asimd", "sve", "bf16")
"""Capabilities that numeric libraries choose their kernels by."""
_DRIVER = re.compile(r"Kernel Module(?: for \w+)?\s+([\d.]+)")


def rows(proc: Path = Path("/proc")) -> Iterator[tuple[str, str]]:
    yield "system", f"{platform.system()} {platform.release()}, {platform.machine()}"
    yield from _processor(_read(proc / "cpuinfo"))
    memory = dict(re.findall(r"^(\w+):\s+(\d+) kB", _read(proc / "meminfo"), re.M))
    if "MemTotal" in memory:
        yield "memory", f"{_gib(memory['MemTotal'])} GiB"
    if driver := _DRIVER.search(_read(proc / "driver" / "nvidia" / "version")):
        yield "nvidia driver", driver[1]
        models = [_read(path / "information") for path in sorted((proc / "driver" / "nvidia" / "gpus").glob("*"))]
        names = [found[1].strip() for text in models if (found := re.search(r"Model:\s*(.+)", text))]
        yield "gpus", ", ".join(f"{names.count(name)} × {name}" for name in dict.fromkeys(names)) or "none that the driver lists"


def _processor(text: str) -> Iterator[tuple[str, str]]:
    model = re.search(r"^model name\s*:\s*(.+)", text, re.M)
    flags = re.search(r"^(?:flags|Features)\s*:\s*(.+)", text, re.M)
    able = set(flags[1].split()) if flags else set()
    yield "processor", f"{model[1].strip() if model else platform.machine()}, {_cores()}"
    if able:
        yield "capabilities", " ".join(flag for flag in _FLAGS if flag in able) or "none of those that numeric libraries ask for"


def _cores() -> str:
    """This process's, which a command of ours shares; a quota of a container is not seen."""
    mine, all_of_them = len(os.sched_getaffinity(0)), os.cpu_count() or 0
    return f"{mine} cores" if mine == all_of_them else f"{mine} of {all_of_them} cores"


def _gib(kib: str) -> str:
    return f"{int(kib) / 2**20:.1f}"


def _read(path: Path) -> str:
    with suppress(OSError):
        return path.read_text("utf-8", "replace")
    return ""
