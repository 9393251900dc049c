"""Where the time of a step goes: waiting for a loader, or computing; and what torch.compile compiled again and again. Facts and hints.

Compilations are read at the end from Dynamo's own books, so no seam in it is touched: that a limit was reached is a finding, at the line
that Dynamo names. What a device still computes while the host goes on is not seen.
"""

from __future__ import annotations

import sys
from math import sqrt
from time import perf_counter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

hook: Any = sys.modules["_bitten_hook"]
bus: Any = hook.load("_bitten_probes.bus")
report: Any = hook.load("_bitten_probes.report")
frames: Any = hook.load("_bitten_frames")
patches: Any = hook.load("_bitten_patches")

FACTS = {
    "time.steps": {"says": "steps that were timed, without the first two", "unit": "steps", "threshold": "", "source": "", "misfires": ""},
    "time.step": {
        "says": "median time of a step",
        "unit": "s",
        "threshold": "",
        "source": "",
        "misfires": "on a device the host runs ahead",
    },
    "time.steps_a_second": {
        "says": "steps a second, overall",
        "unit": "1/s",
        "threshold": "",
        "source": "",
        "misfires": "evaluation counts too",
    },
    "time.wait_share": {
        "says": "share of the time between steps spent waiting for loaders",
        "unit": "share",
        "threshold": "0.5 (hint)",
        "source": "ours",
        "misfires": "tiny models",
    },
    "time.slow_steps": {
        "says": "steps that took longer than the mean and five standard deviations",
        "unit": "steps",
        "threshold": "10 (hint)",
        "source": "SageMaker Debugger",
        "misfires": "evaluation and checkpoints between steps",
    },
    "time.compilations": {
        "says": "how often Dynamo compiled a function again, the most of one function",
        "unit": "compilations",
        "threshold": "",
        "source": "",
        "misfires": "",
    },
    "time.recompile_limit": {
        "says": "the limit of compilations of one function, which was reached",
        "unit": "compilations",
        "threshold": "reached",
        "source": "torch._dynamo.config.recompile_limit",
        "misfires": "many instances of one class, each compiled by itself",
    },
    "time.recompile_reason": {"says": "the last guard that failed", "unit": "", "threshold": "", "source": "", "misfires": ""},
    "time.graph_breaks": {"says": "graph breaks that Dynamo counted", "unit": "breaks", "threshold": "", "source": "", "misfires": ""},
}

KEPT = 1000
"""Times of the last steps, for the median."""
SIGMAS = 5.0
SLOW = 10
WAIT = 0.5
SKIPPED = 2


class Clock:
    """Times so far, in seconds."""

    last = started = waited = 0.0
    steps = slow = 0
    mean = squares = 0.0
    times: list[float] = []  # noqa: RUF012 - of one process
    loader = ("", "")


def install() -> None:
    patches.on_import(
        "torch.utils.data.dataloader",
        lambda module: bus.wrap("time", module._BaseDataLoaderIter, "__next__", lambda args, kwargs: perf_counter(), _waited),
    )
    bus.listen("time", step_post=_step_post, batch=_batch, end=_end, forked=_forked)


def _forked() -> None:
    Clock.last = Clock.started = Clock.waited = Clock.mean = Clock.squares = 0.0
    Clock.steps = Clock.slow = 0
    Clock.times.clear()


def _waited(since: Any, args: Any, kwargs: Any, out: Any) -> None:
    if Clock.started:
        Clock.waited += perf_counter() - since


def _batch(iterator: Any, loader: Any, data: Any) -> None:
    if not Clock.loader[0] and loader is not None:
        Clock.loader = bus.birthplace(loader)


def _step_post(optimizer: Any, number: int) -> None:
    """Of the optimizer that leads: in a GAN, one round is one step."""
    if number < bus.Now.step:
        return
    now = perf_counter()
    if number >= SKIPPED:
        _add(now - Clock.last)
    elif number == SKIPPED - 1:
        Clock.started = now
    Clock.last = now


def _add(took: float) -> None:
    """Mean and variance by Welford's recurrence; a slow step is judged by those before it."""
    if Clock.steps > 20 and took > Clock.mean + SIGMAS * sqrt(Clock.squares / Clock.steps):
        Clock.slow += 1
    Clock.steps += 1
    before = took - Clock.mean
    Clock.mean += before / Clock.steps
    Clock.squares += before * (took - Clock.mean)
    if len(Clock.times) < KEPT:
        Clock.times.append(took)
    else:
        Clock.times[Clock.steps % KEPT] = took


# ---------------------------------------------------------------------------------------------- at the end


def _end() -> None:
    if Clock.steps:
        _tell_steps()
    if "torch._dynamo" in sys.modules:
        _tell_compilations(sys.modules["torch._dynamo"])


def _tell_steps() -> None:
    whole = Clock.last - Clock.started
    share = Clock.waited / whole if whole else 0.0
    told = {
        "time.steps": Clock.steps,
        "time.step": sorted(Clock.times)[len(Clock.times) // 2],
        "time.wait_share": round(share, 4),
        "time.steps_a_second": Clock.steps / whole if whole else 0.0,
        "time.slow_steps": Clock.slow,
    }
    report.fact("time", "summary", told)
    if share > WAIT:
        report.hint("time", "wait", f"{100 * share:.0f} % of the time between steps was spent waiting for data", told, Clock.loader)
    if Clock.slow >= SLOW:
        report.hint(
            "time", "slow", f"{Clock.slow} of {Clock.steps} steps took longer than the mean and {SIGMAS:g} standard deviations", told
        )


def _tell_compilations(dynamo: Any) -> None:
    utils, config = sys.modules.get("torch._dynamo.utils"), sys.modules.get("torch._dynamo.config")
    failures = {code: [str(each) for each in reasons] for code, reasons in list(getattr(utils, "guard_failures", {}).items())[:200]}
    if not failures:
        return
    limit = int(getattr(config, "recompile_limit", 0) or getattr(config, "cache_size_limit", 8))
    breaks = sum(getattr(utils, "counters", {}).get("graph_break", {}).values())
    versions = {code: _last_version(reasons) for code, reasons in failures.items()}
    told = {"time.compilations": min(limit, max(versions.values()) + 2), "time.graph_breaks": breaks}
    report.fact("time", "compiled", told)
    for code, last in versions.items():
        if last >= limit - 1:
            _tell_limit(code, failures[code], limit, told)


def _last_version(reasons: list[str]) -> int:
    """A reason begins with `which compiled function/which version of it`: the last version that failed, when another was asked for."""
    import re  # noqa: PLC0415 - loaded by torch

    found = [re.match(r"\d+/(\d+)", each) for each in reasons]
    return max((int(each.group(1)) for each in found if each is not None), default=0)


def _tell_limit(code: Any, reasons: list[str], limit: int, told: dict[str, Any]) -> None:
    """The reason that names a line of the program's own says why it had to be compiled again; the others, which sizes differed."""
    placed = next(((each, place) for each in reversed(reasons) for place in (_place(each),) if place[0]), None)
    file = frames.absolute(code.co_filename)
    function = (f"{file}:{code.co_firstlineno}", f"{file}:{code.co_name}")
    reason, place = placed if placed is not None else (reasons[-1], ("", "") if frames.is_library(file) else function)
    short = reason.splitlines()[0].partition(": ")[2].partition("  #")[0].strip()[:200]
    report.finding(
        "time",
        f"limit {function[0]}",
        f"`{code.co_name}` was compiled until Dynamo's limit of {limit} was reached, and runs "
        f"uncompiled since; compiled again, as: {short}",
        {**told, "time.recompile_limit": limit, "time.recompile_reason": short, "also": [function[0]]},
        place,
    )


def _place(reason: str) -> tuple[str, str]:
    """The innermost line of the program's own in the stack that a reason may come with."""
    import re  # noqa: PLC0415 - as above

    for file, number, function in reversed(re.findall(r'File "([^"]+)", line (\d+), in (\w+)', reason)):
        if not frames.is_library(file):
            return f"{frames.absolute(file)}:{number}", f"{frames.absolute(file)}:{function}"
    return "", ""
