"""Every benchmark, one after the other: `python benchmarks/all.py [NAME …] [--write]`, which is `make bench`.

`--write` puts what each prints between its own marks in RESULTS.md; the words around them are a person's.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
NAMES = ("startup", "training", "probes", "crash", "finish", "command", "mcp", "driver", "quick-lane", "output", "native", "snapshot",
         "redaction")

ASKED = ("reproducer", "attacks", "faults", "silent")
"""Only when named: the first and the last need a folder of projects that is not in this repository (`--folder=FOLDER`, or as it is named);
the others take minutes."""
IN_FOLDER = {"faults": "faults/matrix.py"}


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", choices=[[], *NAMES, *ASKED], metavar="NAME")
    parser.add_argument("--write", action="store_true")
    given, options = parser.parse_known_args()
    failed = 0
    for name in given.names or NAMES:
        program = HERE / IN_FOLDER.get(name, f"{name.replace('-', '_')}.py")
        done = subprocess.run([sys.executable, str(program), *options], stdout=subprocess.PIPE, text=True, check=False)
        print(done.stdout, flush=True)
        failed += done.returncode != 0
        if given.write and done.returncode == 0:
            _write(name, done.stdout)
    return failed


def _write(name: str, told: str) -> None:
    page = HERE / "RESULTS.md"
    begin, end = f"<!-- {name} -->\n", f"<!-- /{name} -->\n"
    before, _, rest = page.read_text("utf-8").partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        raise SystemExit(f"{page.name} has no place for {name}")
    page.write_text(f"{before}{begin}{told.rstrip()}\n{end}{after}", "utf-8")


if __name__ == "__main__":
    sys.exit(main())
