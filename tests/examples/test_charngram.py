"""The bundled example fails as the recipe says and heals by one line; nothing here knows how a case is made of it."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
RUN = "2026-05-04-charngram"
SYMPTOM = "RuntimeError: stack expects each tensor to be equal size, but got [128, 768] at entry 0 and [127, 768] at entry 1"


@dataclass(frozen=True)
class Project:
    """A copy of the example, and what its training command left there."""

    root: Path
    training: subprocess.CompletedProcess[str]
    left: frozenset[str]

    def make(self, *words: str) -> subprocess.CompletedProcess[str]:
        return make(self.root, *words)


def make(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "MAKE", "MFLAGS", "PYTHON"))}
    env |= {"HOME": str(root.parent), "PYTHON": sys.executable}
    return subprocess.run(["make", *words], cwd=root, env=env, capture_output=True, text=True, timeout=120, check=False)


def files(root: Path) -> frozenset[str]:
    return frozenset(path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())


def copy(to: Path) -> Path:
    return shutil.copytree(EXAMPLES / "charngram", to, ignore=shutil.ignore_patterns("runs", "__pycache__", ".*_cache"))


def trained(root: Path) -> Project:
    before = files(root)
    training = make(root, "train", f"RUN={RUN}")
    return Project(root, training, files(root) - before)


def mend(root: Path) -> None:
    patch = EXAMPLES / "charngram_fix" / "fix.patch"
    env = os.environ | {"GIT_CEILING_DIRECTORIES": str(root.parent)}  # or git would look for a repository around the copy
    subprocess.run(["git", "apply", "-p1", str(patch)], cwd=root, env=env, check=True)


def add_test(root: Path) -> None:
    text = (EXAMPLES / "charngram_fix" / "test_last_sample_included.py.txt").read_text(encoding="utf-8")
    with (root / "tests/unit/test_data.py").open("a", encoding="utf-8") as file:
        file.write(text)


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return trained(copy(tmp_path_factory.mktemp("broken") / "charngram"))


@pytest.fixture(scope="module")
def mended(tmp_path_factory: pytest.TempPathFactory) -> Project:
    root = copy(tmp_path_factory.mktemp("mended") / "charngram")
    mend(root)
    add_test(root)
    return trained(root)


def test_training_dies_at_the_end_of_the_first_epoch_with_the_recipes_words(broken: Project) -> None:
    assert broken.training.returncode == 2
    assert re.search(r"make: \*\*\* \[.*train\] Error 1", broken.training.stderr)
    assert SYMPTOM in broken.training.stderr.splitlines()
    assert [line.split()[0] for line in broken.training.stdout.splitlines()[1:]] == ["step=100", "step=200"]


def test_the_symptom_shows_in_the_loaders_one_worker_process(broken: Project) -> None:
    assert "Caught RuntimeError in DataLoader worker process 0." in broken.training.stderr
    assert re.search(r'src/data\.py", line \d+, in collate', broken.training.stderr)


def test_the_examples_own_tests_pass_in_spite_of_the_bug(tmp_path: Path) -> None:
    tests = make(copy(tmp_path / "charngram"), "test")
    assert tests.returncode == 0, tests.stdout + tests.stderr


def test_the_new_test_fails_on_the_bug_by_its_assertion(tmp_path: Path) -> None:
    root = copy(tmp_path / "charngram")
    add_test(root)
    tests = make(root, "test")
    assert tests.returncode == 2
    assert "1 failed, 4 passed" in tests.stdout
    assert re.search(r"test_last_sample_included - assert 383 == 384$", tests.stdout, re.MULTILINE)


def test_the_fix_changes_one_line_of_the_loader() -> None:
    patch = (EXAMPLES / "charngram_fix" / "fix.patch").read_text(encoding="utf-8")
    changed = [line for line in patch.splitlines() if re.match(r"[-+](?![-+])", line)]
    assert len(changed) == 2
    assert all("stop = min(start + self.window, len(self.table)" in line for line in changed)


def test_mended_it_trains_to_the_end_and_keeps_a_checkpoint(mended: Project) -> None:
    assert mended.training.returncode == 0, mended.training.stderr
    assert mended.training.stderr == ""
    metrics = dict(re.findall(r"^(val_\w+)=(\S+)$", mended.training.stdout, re.MULTILINE))
    assert float(metrics["val_acc"]) > 0.8
    assert 0 < float(metrics["val_loss"]) < 1
    assert mended.left == {f"runs/{RUN}/model.pt"}


def test_mended_all_tests_pass(mended: Project) -> None:
    tests = mended.make("test")
    assert tests.returncode == 0
    assert "5 passed" in tests.stdout


def test_the_fix_changes_no_number_of_the_steps_before_the_crash(broken: Project, mended: Project) -> None:
    steps = [line for line in broken.training.stdout.splitlines() if line.startswith("step=")]
    assert steps
    assert steps == [line for line in mended.training.stdout.splitlines() if line.startswith("step=")][: len(steps)]


def test_a_failing_run_leaves_no_file_behind(broken: Project) -> None:
    assert broken.left == frozenset()


def test_the_generator_writes_the_committed_corpus_again(tmp_path: Path) -> None:
    root = copy(tmp_path / "charngram")
    before = {path.name: path.read_bytes() for path in (root / "data").iterdir()}
    assert make(root, "corpus").returncode == 0
    assert {path.name: path.read_bytes() for path in (root / "data").iterdir()} == before


def test_the_corpus_gives_whole_windows_in_whole_batches_to_both_splits() -> None:
    root = EXAMPLES / "charngram"
    config = json.loads((root / "config.json").read_text(encoding="utf-8"))
    manifest = json.loads((root / config["manifest"]).read_text(encoding="utf-8"))
    windows, rest = divmod(manifest["bytes"] - 1, config["window"])
    assert rest == 0
    assert windows % config["batch_size"] == config["held_out_windows"] % config["batch_size"] == 0


def test_the_manifest_describes_the_corpus() -> None:
    data = EXAMPLES / "charngram" / "data"
    manifest = json.loads((data / "manifest.json").read_text(encoding="utf-8"))
    text = (data / manifest["file"]).read_bytes()
    assert (len(text), text.count(b"\n"), hashlib.sha256(text).hexdigest()) == (manifest["bytes"], manifest["lines"], manifest["sha256"])


def test_the_example_is_a_strangers_project(tmp_path: Path) -> None:
    root = copy(tmp_path / "charngram")
    texts = {name: (root / name).read_text(encoding="utf-8") for name in files(root)}
    assert [name for name, text in texts.items() if "bitten" in text.replace("## Things that have bitten us", "")] == []
