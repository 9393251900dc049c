"""What only a GPU can show of the instruments, in one go of at most eight minutes: `make gpu-check`.

Their cost where a host read waits for the device; that a recording names the device; half precision under a scaler; and that a context
which a device-side assert has poisoned makes nobody wait. Without a GPU it says that nothing was checked, and is content. `--rehearse`
runs what can be run on the CPU, to try the script itself.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "benchmarks"))
import probes  # noqa: E402  it lies with the benchmarks
from harness import interval, workplace  # noqa: E402  as above

MINUTES = 8
PATIENCE = 30
"""Seconds more than the program alone that a probed one may take to die of a poisoned context; its start is half of them."""

HEAD = """
import sys, torch
from torch import nn
device = sys.argv[1]
torch.manual_seed(0)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.enter, self.leave = nn.Linear(16, 16), nn.Linear(16, 4)

    def forward(self, x):
        h = self.enter(x)
        return self.leave(torch.relu(h) + h * h)

model = Net().to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
"""

HALF = HEAD + """
scaler = torch.amp.GradScaler(device, init_scale=2.0 ** (24 if "planned" in sys.argv else 10))
for step in range(20):
    x, y = torch.randn(8, 16, device=device), torch.randn(8, 4, device=device)
    if step >= 7 and "overflow" in sys.argv:
        x[3] *= 1000
    optimizer.zero_grad()
    with torch.autocast(device, dtype=torch.float16):
        loss = nn.functional.mse_loss(model(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    print(step, loss.item(), scaler.get_scale())
"""

POISONED = HEAD + """
for step in range(20):
    x, y = torch.randn(8, 16, device=device), torch.full((8,), 9 if step == 7 else 1, device=device)
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    print(step, loss.item())
"""


def overhead(device: str) -> Iterator[str]:
    """Seconds of the wall, as the device works beside the host. Told and not judged: there is no goal for a GPU yet."""
    names = dict.fromkeys(("plain", "plain again", *probes.GOALS), "")
    for workload in probes.STEPS:
        runs = {name: probes.Runs() for name in names}
        for start in range(3):
            probes.one_start(workload, names, 8, start, runs, device)
        told = ", ".join(f"{name} {interval(run.ratios):.2f}" for name, run in runs.items() if name != "plain")
        print(f"{workload}: {told}", flush=True)
        yield from (f"{workload}: the losses differ under {name}" for name, run in runs.items() if not run.same)
        yield from (f"{workload}: {each}" for run in runs.values() for each in run.troubles)


def probed(project: Path, source: str, *argv: str) -> dict[str, Any]:
    (project / "train.py").write_text(source)
    command = [sys.executable, "-m", "bitten", "probe", "all", "--json", "--to-the-end", "--", sys.executable, "train.py", *argv]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, timeout=180, check=False)
    nothing = {"findings": [], "facts": {}, "recording": "", "exit": done.stderr[-300:]}
    return json.loads(done.stdout) if done.stdout.startswith("{") else nothing


def metadata(device: str, project: Path) -> Iterator[str]:
    """The name of the device stands in what a run leaves."""
    report = probed(project, HALF, device)
    name = torch.cuda.get_device_name() if device == "cuda" else torch.backends.cpu.get_cpu_capability()
    kept = Path(report["recording"])
    texts = (file.read_text("utf-8", "replace") for file in (kept.rglob("*") if kept.is_dir() else [kept]) if file.is_file())
    if not any(name in text for text in texts):
        yield f"{name} is nowhere in the recording {report['recording']}"


def half_precision(device: str, project: Path) -> Iterator[str]:
    planned = probed(project, HALF, device, "planned")
    if planned["findings"] or not planned["facts"].get("nan.scaler_skips"):
        yield f"planned skips: {len(planned['findings'])} findings, {planned['facts'].get('nan.scaler_skips')} skips told"
    facts = next((each["facts"] for each in probed(project, HALF, device, "overflow")["findings"] if each["probe"] == "nan"), {})
    if (facts.get("nan.kind"), facts.get("nan.op"), facts.get("nan.overflow")) != ("scaler skips", "mul", True):
        yield f"an overflow under a scaler: told as {facts.get('says')}"


def poisoned(device: str, project: Path) -> Iterator[str]:
    """The guest must neither wait for the device nor hide the program's own error."""
    (project / "train.py").write_text(POISONED)
    began = time.monotonic()
    alone = subprocess.run([sys.executable, "train.py", device], cwd=project, capture_output=True, text=True, timeout=120, check=False)
    between = time.monotonic()
    report = probed(project, POISONED, device)
    took, longer = between - began, time.monotonic() - between
    print(f"poisoned: alone {took:.1f} s, probed {longer:.1f} s", flush=True)
    if report["exit"] != alone.returncode:
        yield f"poisoned: exit {report['exit']} and not {alone.returncode}"
    if longer > took + PATIENCE:
        yield f"poisoned: {longer:.0f} s and not {took:.0f}"


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rehearse", action="store_true")
    given = parser.parse_args()
    if not torch.cuda.is_available() and not given.rehearse:
        print("no GPU here: nothing checked")
        return 0
    device, began, wrong = "cpu" if given.rehearse else "cuda", time.monotonic(), list[str]()
    checks: tuple[Callable[..., Iterator[str]], ...] = (metadata, half_precision, poisoned)
    with workplace() as project:
        for check in checks:
            wrong += check(device, project)
        print(f"{'wrong' if wrong else 'right'} so far, after {time.monotonic() - began:.0f} s", flush=True)
        wrong += overhead(device)
    print("\n".join([*wrong, f"{len(wrong)} wrong, {time.monotonic() - began:.0f} s"]))
    return int(bool(wrong) or time.monotonic() - began > 60 * MINUTES)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main())
