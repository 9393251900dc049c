"""Recordings of real programs, and the first difference between two of them. The whole mutator plays in the long suite."""

from __future__ import annotations

import json
import random
import subprocess
import sys

import pytest

from bitten.adapters import recordings
from bitten.core.comparing import compare
from bitten.core.trouble import BadInput
from tests.instruments.mutator import HARMFUL, WARM, applied, files, healthy
from tests.instruments.stage import line_of, probed, probed_alone

FEW = ("normalisation", "mode")
UNSEEDED = """
import numpy as np
import torch
torch.manual_seed(0)

def noisy(x):
    return x + np.random.default_rng().normal(size=x.shape)  # <- unseeded

def clean(x):
    return x * 2

net = torch.nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.from_numpy(clean(noisy(np.ones((8, 3))))).float()
for _ in range(3):
    opt.zero_grad()
    net(x).sum().backward()
    opt.step()
print(net.weight.sum().item())
"""
LONG = """
import torch
from torch.utils.data import DataLoader, Dataset
torch.manual_seed(0)

class Squares(Dataset):
    def __len__(self):
        return 4000
    def __getitem__(self, at):
        return torch.full((4,), float(at)), torch.tensor([float(at) ** 2])

net = torch.nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), lr=1e-9)
for x, y in DataLoader(Squares(), batch_size=2, num_workers=WORKERS):
    opt.zero_grad()
    torch.nn.functional.mse_loss(net(x), y).backward()
    opt.step()
print(f"{net.weight.sum().item():.6f}", torch.rand(1).item())
"""
NUMPY = """
import numpy as np

def scale(x):
    return (x - x.mean()) / x.std()  # <- scale

def score(x, y):
    return float(np.mean((x > 0) == y))

values = np.arange(12.0)
print(f"score={score(scale(values), values > 5):.3f}")
"""


def recorded(tmp_path, source, warm=("torch", "numpy")):
    seen = probed(tmp_path, source, "recording", warm=warm)
    assert (seen.exit, seen.troubles, seen.stderr) == (0, [], "")
    return recordings.read(seen.spool, seen.root, str)


def test_a_few_refactors_are_named_with_their_stage_and_line_and_a_harmless_one_is_not(tmp_path):
    draws = random.Random(4)
    plain = recorded(tmp_path, files("images"))
    for kind in FEW:
        mutation = next(each for each in HARMFUL if each.kind == kind and each.project == "images")
        first = compare(plain, recorded(tmp_path, applied(mutation, draws)[0])).first
        assert first is not None and first.stage in mutation.stages and first.key.startswith(mutation.key), (kind, first)
        line = line_of(files("images")[mutation.file], mutation.mark)
        assert f"{mutation.file}:{line}" in (first.one.at, *first.one.also), (kind, first)
    assert compare(plain, recorded(tmp_path, healthy("images", draws), WARM["images"])).verdict == "same"


def test_the_first_value_that_no_seed_decides_is_named(tmp_path):
    first = compare(recorded(tmp_path, UNSEEDED), recorded(tmp_path, UNSEEDED)).first
    assert (first.stage, first.key) == ("preprocessing", "noisy")
    assert first.one.at == f"main.py:{line_of(UNSEEDED, '# <- unseeded')}"
    assert first.one.given == first.other.given


def test_a_program_of_numpy_alone_is_recorded_from_its_own_python(tmp_path):
    plain, changed = (probed_alone(tmp_path, each, "recording") for each in (NUMPY, NUMPY.replace("x.std()", "x.max()")))
    assert (plain.stdout, plain.troubles, changed.troubles) == ("score=1.000\n", [], [])
    first = compare(*(recordings.read(each.spool, each.root, str) for each in (plain, changed))).first
    assert (first.stage, first.key, first.one.at) == ("preprocessing", "scale", f"main.py:{line_of(NUMPY, '# <- scale')}")


PRIVATE = """
from dataclasses import dataclass
import torch

class Odd:
    def __repr__(self):
        print("shown")
        return "odd"

@dataclass
class Batch:
    __slots__ = ("x",)
    x: object

class Net(torch.nn.Linear):
    def forward(self, given):
        return super().forward(given.x)

def means(table):
    return {"ann@example.org": table.mean(), "Ann Smith": table.sum(), 19700101: table.max(), "total": table.std()}

def odd(table):
    return {Odd(): table}, {Odd(), "word"}

net = Net(3, 1)
opt = torch.optim.SGD([{"params": net.parameters(), "limit": float("inf")}], lr=0.1)
x = torch.ones(8, 3)
means(x), odd(x)
for _ in range(3):
    opt.zero_grad()
    net(Batch(x)).sum().backward()
    opt.step()
sparse = torch.nn.Embedding(4, 2, sparse=True)
sparse(torch.arange(3)).sum().backward()
torch.optim.SGD(sparse.parameters(), lr=0.1).step()
print("done")
"""


def test_a_recording_has_no_keys_that_may_be_data_and_asks_no_object_of_the_program_what_it_is_called(tmp_path):
    seen = probed(tmp_path, PRIVATE, "recording", warm=("torch", "numpy"))
    assert (seen.exit, seen.troubles, seen.stdout, list(seen.log.of("note"))) == (0, [], "done\n", [])
    raw = b"".join(each.read_bytes() for each in seen.spool.glob("recording-*.jsonl"))
    assert b"total" in raw
    assert not [each for each in (b"ann@", b"Smith", b"19700101") if each in raw]
    marks = recordings.read(seen.spool, seen.root, str).marks
    assert len(marks) == raw.count(b"\n") and "inf" in [each.value for each in marks]


def test_a_recording_is_kept_and_read_again_and_what_is_none_is_refused(tmp_path):
    found = recorded(tmp_path, UNSEEDED)
    for name in ("one.jsonl", "one.jsonl.gz"):
        recordings.save(found, tmp_path / name)
        assert recordings.load(tmp_path / name).marks == found.marks
    assert not any(each.dtype == "text" and each.hash == "" for mark in found.marks for each in mark.fps.values())
    (tmp_path / "none").write_text("[1, 2]\n")
    for path in (tmp_path / "none", tmp_path / "gone", tmp_path / "cache"):
        with pytest.raises(BadInput, match=r"recording|read"):
            recordings.load(path)


# ---------------------------------------------------------------------------------------------- the command


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    root = tmp_path_factory.mktemp("project")
    (root / "main.py").write_text(NUMPY)
    for argv in (("init", "-q"), ("add", "-A"), ("-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-q", "-m", "one")):
        subprocess.run(["git", *argv], cwd=root, check=True)
    (root / "main.py").write_text(NUMPY.replace("x.std()", "x.max()"))
    return root


def bitten(root, *argv):
    words = [sys.executable, "-m", "bitten", "compare", *argv]
    return subprocess.run(words, cwd=root, capture_output=True, text=True, timeout=120, check=False)


def test_two_revisions_are_run_in_copies_and_the_difference_is_named_with_both_values(project):
    done = bitten(project, "--rev", "HEAD", "--", sys.executable, "main.py")
    assert done.returncode == 1, done.stderr
    line = line_of(NUMPY, "# <- scale")
    assert "they part first at preprocessing: scale" in done.stdout
    assert done.stdout.count(f"main.py:{line}") == 2 and "the same came in" in done.stdout
    kept = sorted((project / ".bitten" / "probes").glob("compare-*"))
    told = json.loads(bitten(project, *map(str, kept), "--json").stdout)
    assert (told["verdict"], told["first"]["key"], told["first"]["one"]["at"]) == ("differs", "scale", f"main.py:{line}")
    assert bitten(project, str(kept[0]), str(kept[0])).returncode == 0


def test_the_same_tree_twice_and_two_commands_are_compared(project):
    assert bitten(project, "--twice", "--", sys.executable, "main.py").stdout.startswith("✓ same: ")
    done = bitten(project, "--", sys.executable, "main.py", ":::", sys.executable, "-c", "print('no framework')")
    assert done.returncode == 4 and "[compare-nothing-recorded]" in done.stderr


def test_one_function_is_compared_on_a_file_and_found_by_its_name(project):
    (project / "values.json").write_text('{"x": [1, 2], "y": [true, false]}')
    code = "import numpy\nnumpy.save('values.npy', numpy.arange(4.0))\n"
    subprocess.run([sys.executable, "-c", code], cwd=project, check=True)
    done = bitten(project, "--call", "scale", "--on", "values.npy", "--rev", "HEAD", "--", sys.executable)
    assert done.returncode == 1 and "preprocessing: scale" in done.stdout, done.stderr
    for argv, slug in ((("--call", "absent", "--on", "values.npy", "--rev", "HEAD"), "compare-which-function"),
                       (("--call", "main:scale", "--rev", "HEAD"), "compare-call-without-file"), (("one",), "compare-needs-two"),
                       (("--rev", "nowhere", "--", "true"), "no-such-tree")):  # fmt: skip
        refused = bitten(project, *argv)
        assert refused.returncode == 2 and f"[{slug}]" in refused.stderr, refused.stderr
