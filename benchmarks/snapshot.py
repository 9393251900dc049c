"""The state of a crash: 20 frames with heavy variables, described by our guest and by its peers, each in a fresh process.

`pip install -r benchmarks/requirements.txt`, then `python benchmarks/snapshot.py [--rounds N] [--frames N]`. A peer that is
not installed is left out, and said.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness import QUIET, interval, options, section, table, verdict

SECRET = "hunter2-9f8e7d6c5b4a"
BUDGET = 0.25
ELEMENTS = 9_600_000


def main() -> None:
    if len(sys.argv) == 4 and sys.argv[1] == "--one":
        print(json.dumps(one(PEERS[sys.argv[2]], int(sys.argv[3]))))
        return
    given = options(rounds=3, frames=20)
    found = {name: [told for _ in range(given.rounds) if (told := asked(name, given.frames))] for name in PEERS}
    missing = [name for name, told in found.items() if not told]
    ours = [each["seconds"] for each in found[OURS]]
    head = ["", "ms", "more memory, MiB", "output, KiB", "the program's own `__repr__` called", "shows a secret", "finds the NaN"]
    section(f"The snapshot of {given.frames} frames with heavy variables", {name: _version(name) for name in ("torch", "numpy", *PEERS)},
            table(head, [row(name, told) for name, told in found.items() if told]),
            *([f"Not installed, so left out: {', '.join(missing)}."] if missing else []),
            verdict(f"within its budget of {BUDGET * 1000:.0f} ms, by half again at most", interval(ours).high <= 1.5 * BUDGET))


def row(name: str, told: list[dict[str, Any]]) -> list[object]:
    times, memory = [each["seconds"] for each in told], min(each["memory"] for each in told)
    first = told[0]
    answers = ["yes" if first[question] else "no" for question in ("secret", "nan")]
    return [name, f"{interval(times).middle * 1000:.0f}", f"{memory / 2**20:.0f}", f"{first['size'] / 1024:.0f}", first["reprs"], *answers]


def asked(name: str, frames: int) -> dict[str, Any] | None:
    done = subprocess.run([sys.executable, __file__, "--one", name, str(frames)], env={**os.environ, **QUIET}, capture_output=True,
                          text=True, check=False)
    if "ModuleNotFoundError" in done.stderr:
        return None
    assert done.returncode == 0, done.stderr[-2000:]
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return told


def one(describe: Callable[[], Callable[[BaseException], str]], frames: int) -> dict[str, Any]:
    """One description, its imports done beforehand."""
    ready = describe()
    try:
        deep(frames, **heavy())
    except ValueError as error:
        before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.perf_counter()
        text = ready(error)
        seconds = time.perf_counter() - began
    more = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    return {"seconds": seconds, "memory": more, "size": len(text.encode()), "reprs": Broken.asked, "secret": SECRET in text,
            "nan": "nan" in text.lower().replace("nanosecond", "")}


class Broken:
    """Somebody's object, whose `__repr__` is not fit to be called."""

    asked = 0

    def __repr__(self) -> str:
        Broken.asked += 1
        raise RuntimeError("no words")


def heavy() -> dict[str, Any]:
    import numpy  # noqa: PLC0415 - in the measured process alone
    import torch  # noqa: PLC0415

    spoilt = torch.ones(ELEMENTS)
    spoilt[ELEMENTS // 3] = float("nan")
    return {"large": torch.zeros(25_000_000), "spoilt": spoilt, "table": numpy.zeros((100_000, 20)), "many": list(range(1_000_000)),
            "named": {f"name {n}": n for n in range(100_000)}, "words": "x" * 10_000_000, "model": torch.nn.Linear(768, 768),
            "broken": Broken(), "api_key": SECRET}


def deep(left: int, large: Any, spoilt: Any, table: Any, many: Any, named: Any, words: Any, model: Any, broken: Any, api_key: str) -> None:
    password = SECRET
    if left == 1:
        raise ValueError("the last of many frames")
    deep(left - 1, large, spoilt, table, many, named, words, model, broken, api_key)
    assert password


def ours() -> Callable[[BaseException], str]:
    from bitten.adapters.runs.invitation import env_for  # noqa: PLC0415 - each peer's imports are its own

    folder = Path(tempfile.mkdtemp())
    os.environ.update(env_for(folder, folder, [], False, {}))
    sys.path.insert(0, os.environ["PYTHONPATH"].split(os.pathsep)[0])
    import sitecustomize  # type: ignore[import-not-found]  # noqa: F401, PLC0415

    snap = sys.modules["_bitten_hook"].load("_bitten_snap")
    return lambda error: repr(snap.snapshot(error, error.__traceback__, BUDGET))


def stackprinter() -> Callable[[BaseException], str]:
    import stackprinter  # noqa: PLC0415

    return lambda error: str(stackprinter.format(error))


def rich() -> Callable[[BaseException], str]:
    import io  # noqa: PLC0415

    from rich.console import Console  # noqa: PLC0415
    from rich.traceback import Traceback  # noqa: PLC0415

    def describe(error: BaseException) -> str:
        out = io.StringIO()
        Console(file=out, width=120).print(Traceback.from_exception(type(error), error, error.__traceback__, show_locals=True))
        return out.getvalue()

    return describe


def sentry() -> Callable[[BaseException], str]:
    import sentry_sdk  # noqa: PLC0415
    from sentry_sdk.utils import event_from_exception  # noqa: PLC0415

    sent: list[str] = []

    def kept(event: Any, _hint: Any) -> None:
        sent.append(json.dumps(event, default=str))

    sentry_sdk.init(dsn="http://key@localhost/1", before_send=kept, default_integrations=False)

    def describe(error: BaseException) -> str:
        sentry_sdk.capture_event(*event_from_exception(error, client_options=sentry_sdk.get_client().options))
        return sent[0]

    return describe


def stack_data() -> Callable[[BaseException], str]:
    from stack_data.formatting import Formatter  # noqa: PLC0415

    formatter = Formatter(show_variables=True)
    return lambda error: "".join(formatter.format_exception(error))


OURS = "bitten's guest"
PEERS: dict[str, Callable[[], Callable[[BaseException], str]]] = {
    OURS: ours, "stackprinter": stackprinter, "rich": rich, "sentry_sdk": sentry, "stack_data": stack_data,
}


def _version(name: str) -> str:
    try:
        return importlib.metadata.version("bitten" if name == OURS else name)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


if __name__ == "__main__":
    main()
