"""Run one program, fault and all, as its user would: `python benchmarks/faults/programs.py NAME`. `truth.py` says what is wrong with each.

The functions and classes are called by what they are for, not by what is wrong with them; only a comment at the guilty line says that.
"""

from __future__ import annotations

import sys

import inputs
import loops
import operations
import torch

PROGRAMS = {**inputs.PROGRAMS, **operations.PROGRAMS, **loops.PROGRAMS}


def main(name: str) -> None:
    torch.manual_seed(0)
    torch.set_num_threads(1)
    PROGRAMS[name]()


if __name__ == "__main__":
    main(sys.argv[1])
