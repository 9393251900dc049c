"""The reproducer, found for real programs that failed in a real interpreter."""

from __future__ import annotations

import ast
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from tests.guest.visit import Visit, project, visit

from bitten.adapters.reproducing import reproducer, trial
from bitten.adapters.reproducing.trial import told
from bitten.adapters.reproducing.trial_script import Shrinker, alike, shown
from bitten.adapters.sandbox.launch import WallError
from bitten.core.case import Reproducer
from bitten.core.failure import Command, Failure, Run, Surroundings


@pytest.fixture(autouse=True)
def places(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def failed(tmp_path: Path, files: dict[str, str]) -> Visit:
    return visit(project(tmp_path, {name: textwrap.dedent(text) for name, text in files.items()}), "main.py")


def found(gone: Visit, seconds: float = 60.0) -> Reproducer:
    story = gone.story
    around = Surroundings(environment={"interpreter": story.interpreter})
    failure = Failure(Run(Command((sys.executable, "main.py"), str(gone.root)), 1, 1.0), {}, (), story.crashes, surroundings=around)
    return reproducer(failure, gone.spool, gone.root, seconds)


def fails_alike(code: str, folder: Path, words: str) -> None:
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False)
    assert words in done.stderr, done.stderr


PLAIN = {
    "a key that a dict lacks": ("""
        LABELS = {"cat": 0, "dog": 1}
        def code(row):
            return LABELS[row["kind"]]
        print([code({"kind": kind}) for kind in ("cat", "Dog")])
        """, "KeyError"),
    "kinds that can't be added": ("""
        def total(rate, steps):
            return rate + steps
        total("1e-3", 10)
        """, "TypeError"),
    "an attribute of an object": ("""
        class Config:
            def __init__(self):
                self.rate = "0.1"

        def scale(cfg, x):
            return cfg.rate * x
        scale(Config(), 2.0)
        """, "TypeError"),
    "a text that is no JSON": ("""
        import json
        def read(line):
            return json.loads(line)
        read('{"a": 1,}')
        """, "json.decoder.JSONDecodeError"),
    "a condition that raises": ("""
        def split(rows, size):
            if len(rows) % size:
                raise ValueError("%d rows over" % (len(rows) % size))
        split(list(range(7)), 4)
        """, "ValueError"),
    "a module that is missing": ("""
        import os
        import no_such_module_at_all
        """, "ModuleNotFoundError"),
    "a function that no worker can be sent": ("""
        import multiprocessing as mp

        def make():
            return lambda x: x

        if __name__ == "__main__":
            mp.get_context("spawn").Process(target=make()).start()
        """, "local object 'make.<locals>.<lambda>'"),
}


@pytest.mark.parametrize(("program", "words"), PLAIN.values(), ids=PLAIN.keys())
def test_a_failure_of_plain_values_is_shown_in_a_few_lines(tmp_path, program, words):
    gone = failed(tmp_path, {"main.py": program})
    got = found(gone)
    assert got.verified, got
    assert got.lines <= 10
    assert words in got.shows
    fails_alike(got.code, tmp_path, words)


def test_a_line_that_is_no_python_is_shown_alone(tmp_path):
    gone = failed(tmp_path, {"main.py": "import broken\n", "broken.py": "def f():\n    return 1\n\n\ndef g(:\n    return 2\n"})
    got = found(gone)
    assert got.verified
    assert got.code.strip() == "def g(:"


def test_a_class_of_the_persons_is_imported_where_its_module_only_defines(tmp_path):
    net = """
        class Net:
            def __init__(self, width):
                self.width = width
                self.seen = 0

            def step(self, rows):
                self.seen += 1
                self.seen += 0
                return rows[self.width]
    """
    main = """
        from net import Net

        def main():
            net = Net(3)
            net.step([1, 2])

        main()
    """
    gone = failed(tmp_path, {"net.py": net, "main.py": main})
    got = found(gone)
    assert got.verified
    assert got.lines <= 10
    assert "IndexError" in got.shows


def test_the_command_itself_is_never_run_again_nor_anything_written(tmp_path):
    main = """
        def main():
            with open("ran.txt", "a") as file:
                file.write("once\\n")
            steps(["a"])

        def steps(rows):
            with open("steps.txt", "a") as file:
                file.write("once\\n")
            a = 1
            b = 2
            c = 3
            d = 4
            return rows[5]

        if __name__ == "__main__":
            main()
    """
    gone = failed(tmp_path, {"main.py": main})
    got = found(gone)
    assert got.verified
    assert (gone.root / "ran.txt").read_text() == "once\n"
    assert (gone.root / "steps.txt").read_text() == "once\n"
    assert sorted(each.name for each in gone.root.iterdir() if each.name != "__pycache__") == ["main.py", "ran.txt", "steps.txt"]


def test_a_secret_among_the_arguments_is_in_no_line(tmp_path):
    key = "sk-" + "proj-aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5hJ7k"
    gone = failed(tmp_path, {"main.py": f"def call(api_key, rows):\n    return (api_key, rows[3])\ncall({key!r}, [1])\n"})
    got = found(gone)
    assert key not in got.code
    assert key not in "".join(path.read_text() for path in gone.spool.glob("p*.log"))


def test_without_an_exception_there_is_an_honest_why(tmp_path):
    failure = Failure(Run(Command(("false",), "/"), 1, 0.1), {})
    got = reproducer(failure, tmp_path, tmp_path)
    assert not got.verified
    assert "no exception" in got.why


def test_what_hangs_on_state_that_is_not_kept_is_admitted(tmp_path):
    main = """
        state = iter(range(3))

        def draw():
            for _ in range(9):
                last = next(state)
            return last

        draw()
    """
    got = found(failed(tmp_path, {"main.py": main}))
    assert not got.verified
    assert got.why
    assert not got.code


def test_layers_and_tensors_are_made_anew_and_made_small(tmp_path):
    main = """
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.head = nn.Sequential(nn.Flatten(), nn.Linear(48, 8), nn.ReLU())

            def forward(self, x):
                return self.head(x)

        Net()(torch.zeros(16, 3, 5, 5))
    """
    got = found(failed(tmp_path, {"main.py": main}))
    assert got.verified
    assert got.lines <= 4
    assert "shapes cannot be multiplied" in got.shows
    assert not [node for node in ast.walk(ast.parse(got.code)) if isinstance(node, ast.Constant) and node.value in (16, 48, 75)]


def test_what_fails_by_its_history_is_made_by_the_persons_own_statements(tmp_path):
    model = """
        import torch
        from torch import nn

        class Stateful(nn.Module):
            def __init__(self):
                super().__init__()
                self.cell = nn.Linear(4, 4)
                self.last = torch.zeros(4)

            def forward(self, x):
                self.last = torch.tanh(self.cell(x + self.last))
                return self.last
    """
    main = """
        import torch
        from model import Stateful

        def main():
            net = Stateful()
            for step in range(3):
                x = torch.ones(8, 4)
                loss = net(x).sum()
                loss.backward()

        if __name__ == "__main__":
            main()
    """
    got = found(failed(tmp_path, {"main.py": main, "model.py": model}))
    assert got.verified
    assert "backward through the graph a second time" in got.shows
    assert "loss.backward()" in got.code


def test_a_program_is_made_smaller_only_as_long_as_it_fails_alike():
    code = "rows = [[1, 2, 3], [4, 5, 6], 'x' * 30]\nextra = 640\nrows[700]\n"
    want = shown(code, 5.0)
    small = Shrinker(code, 1, want, 5.0).smallest()
    assert alike(shown(small, 5.0), want)
    assert small == "rows = []\nrows[700]\n"


def test_the_error_that_a_script_ended_with_is_read_off_its_last_traceback():
    text = 'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\n    f()\n  File "/lib/b.py", line 2, in deep\n    x\n' \
           "    ^\nValueError: first\n\tsecond\n"
    assert told(text, "a.py") == ("ValueError", "first\n\tsecond", "deep")


def test_where_no_walls_can_be_built_writes_are_refused(tmp_path, monkeypatch):
    def no_walls(*_, **__):
        raise WallError("not here")

    monkeypatch.setattr(trial, "walled_room", no_walls)
    victim = tmp_path / "victim.txt"
    main = f"""
        import json

        def store(rows):
            with open({str(victim)!r}, "a") as file:
                file.write("once ")
            return json.loads(rows)

        store("[1,")
    """
    got = found(failed(tmp_path, {"main.py": main}))
    assert got.verified
    assert victim.read_text() == "once "
