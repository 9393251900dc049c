"""One function instead of a whole run: a program for a copy that loads a file and calls it. Its recording is what is compared.

Names of an archive or a JSON object are handed over by name, what `torch.save` kept as a tuple in its order, all else as the one argument.
"""

from __future__ import annotations

from dataclasses import replace

from bitten.steps.compare import Side

FILE = "bitten_call.py"
KINDS = (".npy", ".npz", ".pt", ".pth", ".json", ".csv")
PROGRAM = '''"""Calls one function on what a file holds; written by `bitten compare --call`, in a throw-away copy."""

import importlib
import json
import sys

try:
    import numpy
except ImportError:
    numpy = None


def main(target, file):
    module, _, name = target.partition(":")
    sys.path.insert(0, "")
    value = held(file)
    function = importlib.import_module(module)
    for part in name.split("."):
        function = getattr(function, part)
    if isinstance(value, dict):
        return function(**value)
    return function(*value) if isinstance(value, tuple) else function(value)


def held(file):
    kind = file.rpartition(".")[2]
    if kind in ("pt", "pth"):
        import torch

        return torch.load(file, map_location="cpu", weights_only=True)
    if kind == "npz":
        return dict(numpy.load(file))
    if kind == "npy":
        return numpy.load(file)
    if kind == "json":
        return json.load(open(file, encoding="utf-8"))
    import pandas

    return pandas.read_csv(file)


if __name__ == "__main__":
    main(*sys.argv[1:3])
'''


def calling(side: Side, target: str, file: str) -> Side:
    """`side.command` is the interpreter; `target` is `package.module:name`."""
    argv = (*side.command.argv, FILE, target, file)
    return replace(side, command=replace(side.command, argv=argv), files={**side.files, FILE: PROGRAM.encode()})
