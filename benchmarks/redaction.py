"""Throughput of the redactor over logs of 50 MB, beside detect-secrets: `python benchmarks/redaction.py [--rounds N]`.

The peer is some hundred times slower, so it reads a part of the training log, line by line as it is made to; one that is not
installed is left out, and said (`pip install -r benchmarks/requirements.txt`).
"""

from __future__ import annotations

import importlib.metadata
import time
from collections.abc import Callable

from harness import interval, options, section, table, verdict

from bitten.adapters.redact import redact

SIZE = 50_000_000
PART = 100_000
"""Bytes of the training log that the peer reads."""
GOAL = 20.0
"""MB/s: two and a half seconds for a log of 50 MB."""
KINDS: dict[str, Callable[[int], str]] = {
    "training log": lambda n: f"step {n} | loss {2.3 / (1 + n):.6f} | lr 3.0e-04 | norm 0.4321 | dt 123.45ms | acc: 0.5\n",
    "log of tokens": lambda n: f"step={n} loss=0.{n} n_tokens={n * 512} tokens/s=15234.7 lr=0.001\n",
    "progress bar": lambda n: f"\rEpoch 3/10: {n % 100:3d}%|{'█' * (n % 10):<10}| {n}/99999 [01:23<00:00, 18.72it/s, loss=0.1{n}]",
    "coloured log": lambda n: f"\x1b[32m2024-05-04 10:15:30\x1b[0m \x1b[1mINFO\x1b[0m step {n} loss=\x1b[36m0.{n}\x1b[0m\n",
    "a secret each line": lambda n: f"GET /run/{n} Authorization: Bearer {'aB3' * 8}{n:08d}\n",
}


def main() -> None:
    given = options(rounds=3)
    ours = {kind: [_pace(redact, _log(kind, SIZE)) for _ in range(given.rounds if kind == "training log" else 1)] for kind in KINDS}
    rows = [[f"bitten, {kind}", f"{len(_log(kind, SIZE).encode()) / 1e6:.0f}", f"{interval(paces):.1f}"] for kind, paces in ours.items()]
    peer = _peer()
    if peer:
        part = _log("training log", PART)
        rows.append(["detect-secrets, training log", f"{len(part.encode()) / 1e6:.1f}",
                     f"{interval([_pace(peer, part) for _ in range(given.rounds)]):.2f}"])
    section("Redaction", {"detect-secrets": importlib.metadata.version("detect-secrets")} if peer else {},
            table(["", "MB read", "MB/s of CPU time [95 %]"], rows), *([] if peer else ["Not installed, so left out: detect-secrets."]),
            verdict(f"at least {GOAL:.0f} MB/s on a training log", interval(ours["training log"]).low >= GOAL))


def _log(kind: str, size: int) -> str:
    part = "".join(map(KINDS[kind], range(20_000)))
    return (part * (size // len(part) + 1))[:size]


def _pace(read: Callable[[str], object], text: str) -> float:
    """Megabytes a second."""
    began = time.process_time()
    read(text)
    return len(text.encode()) / 1e6 / (time.process_time() - began)


def _peer() -> Callable[[str], object] | None:
    """Its own scan of single lines, all plugins of its defaults on."""
    try:
        from detect_secrets.core.scan import scan_line  # noqa: PLC0415 - a peer may be missing
        from detect_secrets.settings import default_settings  # noqa: PLC0415 - as above
    except ModuleNotFoundError:
        return None

    def scan(text: str) -> None:
        with default_settings():
            for line in text.splitlines():
                list(scan_line(line))

    return scan


if __name__ == "__main__":
    main()
