# ruff: noqa: E501 - logs and tables are easier read unbroken
"""Whatever printed a traceback, and whatever stands in front of its lines: type, message, frames and process are read back."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import traceback
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.guest.visit import bare_environment, python, visit
from tests.stories import Project

from bitten.adapters import pasted
from bitten.adapters.pasted.lines import lines
from bitten.core import signature

PROGRAM = """import sys
from multiprocessing import Pool
from threading import Thread


class Rows:
    def take(self, n):
        raise KeyError(n)


def chain():
    try:
        Rows().take("a")
    except KeyError as lost:
        try:
            raise ValueError("two\\nlines") from lost
        except ValueError:
            raise RuntimeError("the end")


def take(n):
    Rows().take(n)


if __name__ == "__main__":
    if sys.argv[1] == "chain":
        chain()
    elif sys.argv[1] == "thread":
        thread = Thread(target=take, args=(1,))
        thread.start()
        thread.join()
    elif sys.argv[1] == "pool":
        with Pool(1) as pool:
            pool.map(take, [1])
    elif sys.argv[1] == "deep":
        deep = lambda n: deep(n + 1)
        deep(0)
    elif sys.argv[1] == "syntax":
        import unclosed
    elif sys.argv[1] == "group":
        raise ExceptionGroup("both", [ValueError("v"), ExceptionGroup("inner", [TypeError("t")])])
    elif sys.argv[1] == "del":
        class Closing:
            def __del__(self):
                raise OSError("closed twice")
        Closing()
"""
TEXT = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Zl", "Zp")), min_size=1, max_size=60)


@pytest.fixture
def root(tmp_path):
    root = tmp_path / "project"
    root.mkdir()
    (root / "main.py").write_text(PROGRAM)
    (root / "unclosed.py").write_text("x = (\n")
    return root


def printed(root, *argv, exe=sys.executable):
    return subprocess.run([str(exe), *argv], cwd=root, env=bare_environment(), capture_output=True, text=True, check=False).stderr


def told(root, text):
    return [(crash.role, crash.type, crash.message) for crash in pasted.crashes(text, root)]


@pytest.mark.parametrize("version", ["3.8", "3.11", "3.13"])
def test_a_chain_of_any_python_comes_back_with_its_last_exception_first(root, version):
    exe = python(version)
    if exe is None:
        pytest.skip(f"no Python {version} here")
    crashes = pasted.crashes(printed(root, "main.py", "chain", exe=exe), root)
    assert [(each.role, each.type, each.message) for each in crashes] == [
        ("root", "RuntimeError", "the end"), ("context", "ValueError", "two\nlines"), ("cause", "KeyError", "'a'")]
    assert [(frame.file, frame.function, frame.text) for frame in crashes[2].frames] == [
        ("main.py", "chain", 'Rows().take("a")'), ("main.py", "Rows.take", "raise KeyError(n)")]
    assert all(frame.mine for each in crashes for frame in each.frames)


def test_each_form_of_cpython_is_read(root):
    thread = pasted.crashes(printed(root, "main.py", "thread"), root)
    assert (thread[0].process, thread[0].type, thread[0].site.function) == ("thread Thread-1", "KeyError", "Rows.take")
    pool = pasted.crashes(printed(root, "main.py", "pool"), root)
    assert [(each.role, each.process, each.type) for each in pool] == [("root", "pool worker", "KeyError"), ("consequence", "", "KeyError")]
    assert pool[0].site.function == "Rows.take"
    deep = pasted.crashes(printed(root, "main.py", "deep"), root)
    assert deep[0].type == "RecursionError" and deep[0].frames[-1].function.endswith("frames left out")
    syntax = pasted.crashes(printed(root, "main.py", "syntax"), root)
    assert (syntax[0].type, syntax[0].site.file, syntax[0].site.line) == ("SyntaxError", "unclosed.py", 1)
    assert pasted.crashes(printed(root, "unclosed.py"), root)[0].site.file == "unclosed.py"
    assert told(root, printed(root, "main.py", "del")) == [("context", "OSError", "closed twice")]


@pytest.mark.skipif(sys.version_info < (3, 11), reason="groups came with 3.11")
def test_the_members_of_a_group_are_its_causes(root):
    assert told(root, printed(root, "main.py", "group")) == [
        ("root", "ExceptionGroup", "both (2 sub-exceptions)"), ("cause", "ValueError", "v"),
        ("cause", "ExceptionGroup", "inner (1 sub-exception)"), ("cause", "TypeError", "t")]


@pytest.mark.parametrize(("prefix", "process"), [
    ("[rank1]: ", "rank 1"), ("[default3]:", "rank 3"), ("0: ", "task 0"), ("(train pid=4121) ", "train pid=4121"), ("trainer-1  | ", "trainer-1"),
    ("2026-05-04T12:00:00.1234567Z ", ""), ("job\tstep\t2026-05-04T12:00:00.1234567Z ", ""), ("\x1b[31m", ""),
    ("trainer-1  | [rank0]: ", "rank 0"), ("2026-05-04T12:00:00.123456Z 01E ", ""),
])  # fmt: skip
@pytest.mark.parametrize("kind", ["chain", "group"] if sys.version_info >= (3, 11) else ["chain"])
def test_what_stands_before_each_line_is_taken_off(root, prefix, process, kind):
    text = printed(root, "main.py", kind)
    crashes = pasted.crashes("".join(f"{prefix}{line}".rstrip(" ") + "\n" for line in text.splitlines()), root)
    assert [(each.role, each.type, each.message) for each in crashes] == told(root, text)
    assert {each.process for each in crashes} == {process}


def test_two_processes_that_print_at_once_are_told_apart(root):
    one, other = (printed(root, "main.py", kind).splitlines() for kind in ("chain", "thread"))
    mixed = [line for at in range(max(len(one), len(other))) for source, part in (("0", one), ("1", other)) if at < len(part)
             for line in (f"[rank{source}]: {part[at]}",)]
    assert [(each.process, each.type) for each in pasted.crashes("\n".join(mixed), root)][::3] == [
        ("rank 0", "RuntimeError"), ("rank 1, thread Thread-1", "KeyError")]


FRAME = '  File "main.py", line 8, in take\n    raise KeyError(n)\n'
TORCHRUN = f"""[rank1]: Traceback (most recent call last):
[rank1]:   File "main.py", line 8, in take
[rank1]: ValueError: bad shard
Traceback (most recent call last):
{FRAME}RuntimeError: [pair.cc:553] Connection closed by peer [127.0.0.1]:55207
Traceback (most recent call last):
  File "/venv/bin/torchrun", line 8, in <module>
torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n============================================================
train.py FAILED
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2026-05-04_12:00:00
  rank      : 1 (local_rank: 1)
  exitcode  : 1 (pid: 4321)
  error_file: <N/A>
============================================================
"""
DATALOADER = f"""Traceback (most recent call last):
  File "main.py", line 30, in <module>
  File "/venv/lib/python3.11/site-packages/torch/_utils.py", line 794, in reraise
    raise exception
ValueError: Caught ValueError in DataLoader worker process 3.
Original Traceback (most recent call last):
{FRAME}ValueError: no row 5

"""
NOTEBOOK = """---------------------------------------------------------------------------
\x1b[31mValueError\x1b[39m                                Traceback (most recent call last)
Cell In[3], line 2
      1 x = 1
----> 2 take(x)

File ~/project/main.py:8, in Rows.take(self, n)
      7     def take(self, n):
----> 8         raise KeyError(n)

ValueError: no
"""
PYTEST = """=================================== FAILURES ===================================
__________________________________ test_rows ___________________________________

    def test_rows():
>       take(1)

test_main.py:5:\x20
_ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _

n = 1

    def take(n):
>       raise ValueError("no %d" % n)
E       ValueError: no 1

main.py:8: ValueError
=========================== short test summary info ============================
FAILED test_main.py::test_rows - ValueError: no 1
============================== 1 failed in 0.03s ===============================
"""
SHORT = """=================================== FAILURES ===================================
__________________________________ test_rows ___________________________________
test_main.py:5: in test_rows
    assert take(1) == 2
E   assert 1 == 2
E    +  where 1 = take(1)
"""
LOGS = {
    "torchrun": (TORCHRUN, "ValueError: bad shard", "rank 1"),
    "a DataLoader's worker": (DATALOADER, "ValueError: no row 5", "DataLoader worker 3"),
    "a notebook": (NOTEBOOK, "ValueError: no", ""),
    "pytest": (PYTEST, "ValueError: no 1", "test test_rows"),
    "pytest, short": (SHORT, "AssertionError: assert 1 == 2\n +  where 1 = take(1)", "test test_rows"),
    "pytest, its summary alone": ("FAILED test_main.py::test_rows - ValueError: no 1\n", "ValueError: no 1", "test test_rows"),
    "unittest": (f"ERROR: test_x (main.T.test_x)\n{'-' * 70}\nTraceback (most recent call last):\n{FRAME}OSError: no\n\n", "OSError: no",
                 "test test_x (main.T.test_x)"),
    "C++": ("terminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::bad_alloc\nAborted (core dumped)\n",
            "std::bad_alloc: std::bad_alloc", ""),
    "a fault": ('Fatal Python error: Segmentation fault\n\nCurrent thread 0x00 (most recent call first):\n  File "main.py", line 8 in take\n',
                "Segmentation fault: ", ""),
    "a shell": ("bash: line 1: 17341 Killed                  python train.py\n", "Killed: ", ""),
    "a caught one before": (f"Traceback (most recent call last):\n{FRAME}OSError: retry\nepoch 2\n\nTraceback (most recent call last):\n{FRAME}"
                            "ValueError: fatal\n", "ValueError: fatal", ""),
}


@pytest.mark.parametrize(("log", "what", "process"), LOGS.values(), ids=list(LOGS))
def test_the_root_cause_is_named_in_the_words_of_whoever_printed_it(root, log, what, process):
    crash = pasted.crashes(log, root)[0]
    assert (f"{crash.type}: {crash.message}", crash.role, crash.process) == (what, "root", process)


def test_who_lost_its_peer_did_not_fail_first_though_it_said_so_first(root):
    log = "".join(f"[rank{rank}]: Traceback (most recent call last):\n[rank{rank}]:   File \"main.py\", line 8, in take\n[rank{rank}]: {what}\n"
                  for rank, what in ((0, "RuntimeError: [pair.cc:553] Connection closed by peer [::1]:5"), (1, "ValueError: bad shard")))
    assert [(each.role, each.process, each.type) for each in pasted.crashes(log, root)] == [
        ("root", "rank 1", "ValueError"), ("consequence", "rank 0", "RuntimeError")]


def test_of_a_rank_with_a_pool_the_worker_is_named(root):
    rank = "".join(f"[rank1]: {line}\n" for line in printed(root, "main.py", "pool").splitlines())
    crashes = pasted.crashes(rank + TORCHRUN[TORCHRUN.index("====="):], root)
    assert [(each.role, each.process) for each in crashes] == [("root", "rank 1, pool worker"), ("consequence", "rank 1")]


def test_frames_of_pytest_and_notebooks_have_their_lines(root):
    (root / "test_main.py").write_text("\n")
    for log, functions in ((PYTEST, ["test_rows", "Rows.take"]), (SHORT, ["test_rows"]), (NOTEBOOK, ["<module>", "Rows.take"])):
        frames = pasted.crashes(log, root)[0].frames
        assert [frame.function for frame in frames] == functions
        assert all(frame.line and frame.text for frame in frames)
    assert frames[1].file == "main.py" and frames[1].mine


def test_a_log_says_how_its_command_began_and_ended(root):
    log = ("2026-05-04T12:00:00.1Z ##[group]Run make train\n2026-05-04T12:00:01.1Z ##[endgroup]\n"
           + "".join(f"2026-05-04T12:00:09.1Z {line}\n" for line in printed(root, "main.py", "chain").splitlines())
           + "2026-05-04T12:00:10.1Z make: *** [Makefile:2: train] Error 1\n2026-05-04T12:01:00.1Z ##[error]Process completed with exit code 2.\n")
    found = pasted.read(log, root)
    assert (found.command, found.end.exit, found.seconds) == ("make train", 2, 60.0)
    assert "make: the recipe of Makefile:2: train ended with exit 1" in found.end.notes


@pytest.mark.parametrize("line", ["+ python main.py chain", "$ python main.py chain", "python main.py chain", "user@box:~/p$ python main.py chain",
                                  "Run python main.py chain"])
def test_the_command_is_taken_from_the_line_that_shows_it(root, line):
    assert pasted.read(f"{line}\n{printed(root, 'main.py', 'chain')}", root).command == "python main.py chain"


@pytest.mark.parametrize(("log", "exit_code", "signal"), [
    ("trainer-1 exited with code 3\ndb-1 exited with code 0\n", 3, None), ("ERROR: Job failed: exit code 137\n", 137, None),
    ("make: *** [Makefile:2: train] Error 1\nmake: *** [Makefile:9: all] Error 2\n", 1, None), ("all exited with code 0\n", None, None),
    ("sh: line 1:    12 Segmentation fault      (core dumped) python x.py\n", None, 11), ("exited with code 99999999\n", None, None),
    ("make: *** [Makefile:2: train] Killed\n", None, 9),
])  # fmt: skip
def test_how_it_ended_is_read_where_somebody_says_it(root, log, exit_code, signal):
    end = pasted.read(log, root).end
    assert (end.exit, end.signal) == (exit_code, signal)


@pytest.mark.parametrize("line", ["make sure that python is there", "Run started", "+ numpy==2.0", "python version 3.11", "pytest 9.2.0 is old",
                                  "+ left side", "accelerate is not installed, see launch.md", "uses: actions/checkout"])
def test_no_sentence_is_taken_for_a_command(root, line):
    assert pasted.read(f"$ make train\n{line}\n{printed(root, 'main.py', 'chain')}", root).command == "make train"


@pytest.mark.parametrize("line", ["$ ./train.sh --fast", "+ ./train.sh", "+ CUDA_VISIBLE_DEVICES=0 torchrun --nproc_per_node 2 train.py", "$ make train RUN=1",
                                  "##[group]Run make train", "LR=0.1 /venv/bin/python -m src.train", "pytest -x", "pytest tests/unit", "uv run train.py",
                                  "root@node:/work# bash run.sh"])
def test_commands_of_many_forms_are_found(root, line):
    shown = line.removeprefix("$ ").removeprefix("+ ").removeprefix("##[group]Run ").removeprefix("root@node:/work# ")
    assert pasted.read(f"{line}\nstep 1\n{printed(root, 'main.py', 'chain')}", root).command == shown


def test_code_that_is_another_one_now_is_named(root):
    log = printed(root, "main.py", "chain").replace(str(root), "/home/runner/work/p/p")
    assert pasted.read(log, root).differing == ()
    (root / "main.py").write_text(PROGRAM.replace("raise KeyError(n)", "raise KeyError(n, n)"))
    assert pasted.read(log, root).differing == ("main.py:8",)


def test_a_log_and_a_guest_see_the_same_failure(root):
    """By its signature, which the library's own function is part of: else a run would not join the case of its log."""
    (root / "lib.py").write_text("import json\n\n\nclass Config:\n    def read(self):\n        def inner():\n            return json.loads('{')\n"
                                 "        return inner()\n\n\nConfig().read()\n")
    seen = visit(root, "lib.py")
    assert signature.of_crash(pasted.crashes(seen.done.stderr, root)[0]) == signature.of_crash(seen.story.crashes[0])
    assert "Config.read.<locals>.inner > JSONDecoder.raw_decode" in signature.of_crash(seen.story.crashes[0])


def test_a_path_leads_nowhere_but_into_the_project(root):
    (root.parent / "outside.py").write_text("x\n")
    log = 'Traceback (most recent call last):\n  File "../outside.py", line 1, in f\n  File "/x/../outside.py", line 1, in f\nValueError: x\n'
    assert [frame.mine for frame in pasted.crashes(log, root)[0].frames] == [False, False]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(message=st.lists(TEXT.filter(lambda text: text.strip() == text and text), min_size=1, max_size=4), depth=st.integers(0, 2))
def test_a_printed_traceback_comes_back_as_it_was(message, depth):
    namespace: dict = {}
    exec(compile("def fall(n, error):\n    if n:\n        fall(n - 1, error)\n    raise error\n", "falling.py", "exec"), namespace)
    try:
        namespace["fall"](depth, LookupError("\n".join(message)))
    except LookupError as error:
        text = "".join(traceback.format_exception(error))
        lines_of = [(frame.lineno, frame.name) for frame in traceback.extract_tb(error.__traceback__)]
    if any(pasted.plain._ENDS.match(line) for line in message[1:]):
        return  # the first line of somebody else, as far as anybody can tell
    crash = pasted.crashes(text, Path("/nowhere"))[0]
    assert crash.type == "LookupError"
    assert crash.message == "\n".join(message)
    assert [(frame.line, frame.function) for frame in crash.frames] == lines_of


PIECES = st.sampled_from([
    "Traceback (most recent call last):", '  File "a.py", line 3, in f', "    x = 1", "    ^^^^", "ValueError: no", "", "  | ", "  + Exception Group "
    "Traceback (most recent call last):", "+-+---------------- 1 ----------------", "During handling of the above exception, another exception occurred:",
    '"""', "=== FAILURES ===", "____ test ____", "E   x", "a.py:3: ValueError", "ValueError      Traceback (most recent call last)", "\x1b[31m", "\r",
    "[rank1]: ", "Root Cause (first observed failure):", "make: *** [x] Error 1", "Fatal Python error: x", "terminate called after throwing an instance of 'x'",
    "[Previous line repeated 3 more times]", "-- Process 1 terminated with the following error:", "SyntaxError: x", "Original ",
])  # fmt: skip


@settings(max_examples=120, deadline=None)
@given(st.lists(st.one_of(PIECES, TEXT), max_size=30), st.sampled_from(["\n", "", "\n  | "]))
def test_nothing_in_a_log_makes_it_fail(parts, between):
    pasted.read(between.join(parts), Path("/nowhere"))


def test_a_log_of_thousands_of_exceptions_is_read_in_their_order(root):
    text = "".join(f"Traceback (most recent call last):\n{FRAME}OSError: retry {at}\nstep\n\n" for at in range(4000))
    began = time.process_time()
    assert told(root, text)[:2] == [("root", "OSError", "retry 3999\nstep"), ("context", "OSError", "retry 0\nstep")]
    assert time.process_time() - began < 10


@pytest.mark.parametrize("piece", ["x" * 1000, "\x1b[" * 500, "Traceback (most recent call last):\n", '  File "a", line 1, in f\n', " " * 1000,
                                   "E   x\n", "a:1:" * 250, "  | \n", 'Traceback (most recent call last):\n  File "a", line 1, in f\nE: x\n'])
def test_time_grows_with_the_log_and_not_with_its_square(piece):
    def seconds(size):
        text = piece * (size // len(piece))
        began = time.process_time()
        pasted.read(text, Path("/nowhere"))
        return time.process_time() - began

    small, large = min(seconds(40_000) for _ in range(2)), seconds(320_000)
    assert large < 0.3 + 24 * small


def test_a_bar_that_was_drawn_over_and_over_is_one_line():
    assert [line.text for line in lines("1%\r2%\r3%\r\ndone")] == ["3%", "done"]


def test_a_bar_without_an_end_of_line_hides_no_traceback(root):
    text = printed(root, "main.py", "chain")
    assert told(root, f"100%|██| 5/5 [00:00<00:00]{text}") == told(root, text)


# ---------------------------------------------------------------------------------------------- where the guest saw nothing


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path, {"crash.py": "def load(path):\n    raise OSError('no shard ' + path)\n\n\nload('a')\n"})


def crashes_of(project):
    text = (project.case() / "events.jsonl").read_text("utf-8").split("\n")[0]
    return json.loads(text)["event"]


@pytest.mark.parametrize("way", [[sys.executable, "-I", "crash.py"], ["env", "-i", sys.executable, "crash.py"]], ids=["-I", "env -i"])
def test_a_crash_that_the_guest_could_not_see_is_read_from_the_output(project, way):
    done = project.bitten("run", "--", *way)
    assert done.returncode == 1 and "✗ OSError: no shard a" in done.stderr and "crash.py:2 in load" in done.stderr
    assert pasted.UNSEEN in (project.case() / "debug.md").read_text("utf-8")


def test_what_the_guest_saw_is_not_told_a_second_time(project):
    project.write("caught.py", "import traceback\nfrom sys import exit\ntry:\n    import crash\nexcept OSError:\n    traceback.print_exc()\n    exit(3)\n")
    for script in ("crash.py", "caught.py"):
        project.bitten("run", "--", sys.executable, script)
        failure = crashes_of(project)
        assert [crash["type"] for crash in failure["crashes"]] == ["OSError"] and failure["crashes"][0]["frames"][-1]["variables"]
        assert pasted.UNSEEN not in failure["surroundings"]["notes"]


def test_a_process_without_the_guest_counts_more_than_one_that_got_over_its_exception(project):
    project.write("over.py", "import traceback\ntry:\n    1 / 0\nexcept ArithmeticError:\n    traceback.print_exc()\n")
    project.bitten("run", "--", "bash", "-c", f"{sys.executable} over.py; {sys.executable} -I crash.py")
    assert [(crash["role"], crash["type"]) for crash in crashes_of(project)["crashes"]] == [("root", "OSError"), ("context", "ZeroDivisionError")]


# ---------------------------------------------------------------------------------------------- what loggers and frameworks make of it

LOGURU = """2026-05-04 12:00:00.123 | ERROR    | __main__:main:12 - it failed
Traceback (most recent call last):

  File "main.py", line 30, in <module>
    take(3)
    └ <function take at 0x7f>

> File "main.py", line 8, in take
    raise KeyError(n)
                   └ 3

KeyError: 3
"""
RAY = """Traceback (most recent call last):
  File "main.py", line 30, in <module>
    ray.get(take.remote(3))
  File "/venv/lib/python3.11/site-packages/ray/_private/worker.py", line 2771, in get
    raise value.as_instanceof_cause()
ray.exceptions.RayTaskError(ValueError): \x1b[36mray::take()\x1b[39m (pid=4121, ip=10.0.0.1)
  File "main.py", line 8, in take
    raise KeyError(n)
ValueError: no shard
"""
JSON = json.dumps({"level": "error", "exception": "Traceback (most recent call last):\n  File \"main.py\", line 8, in take\n    raise KeyError(n)\n"
                   "ValueError: no \"shard\"", "time": 3}) + "\n"


@pytest.mark.parametrize(("log", "what", "process"), [(LOGURU, "KeyError: 3", ""), (RAY, "ValueError: no shard", "take() (pid=4121)"),
                                                      (JSON, 'ValueError: no "shard"', "")], ids=["loguru", "ray", "JSON"])
def test_tracebacks_of_loggers_and_frameworks_are_read(root, log, what, process):
    crash = pasted.crashes(log, root)[0]
    assert (f"{crash.type}: {crash.message}", crash.process, crash.role) == (what, process, "root")
    assert (crash.site.file, crash.site.line, crash.site.text) == ("main.py", 8, "raise KeyError(n)")


def test_the_boxes_that_rich_draws_are_read(root):
    (root / "drawn.py").write_text("from rich.traceback import install\ninstall(show_locals=True, width=60)\nimport main\nmain.take('a')\n")
    crash = pasted.crashes(printed(root, "drawn.py"), root)[0]
    assert (crash.type, crash.message) == ("KeyError", "'a'")
    assert [(frame.file, frame.function, frame.text) for frame in crash.frames] == [
        ("drawn.py", "<module>", "main.take('a')"), ("main.py", "take", "Rows().take(n)"), ("main.py", "Rows.take", "raise KeyError(n)")]
