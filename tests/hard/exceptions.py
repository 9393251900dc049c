# ruff: noqa: E501 - a row of the table and a small program are easier read unbroken
"""Cases 30-52: exceptions that hide, and ends that have none."""

from __future__ import annotations

from tests.guest.visit import python
from tests.hard.case import Hard
from tests.hard.play import Told

CHAIN = '''def load(name):
    try:
        return {}[name]
    except KeyError as error:
        %s


load("width")
'''
GROUP = '''import asyncio


async def fetch(row):
    await asyncio.sleep(0.01 * row)
    raise ValueError("row %d" % row)


async def main():
    async with asyncio.TaskGroup() as group:
        for row in range(3):
            group.create_task(fetch(row))


asyncio.run(main())
'''
G = "def g(rows):\n    raise ValueError('no rows in %d' % rows)\n\n\n"
"""The line that fails is 2."""
WHERE = {"root": ("ValueError", "no rows in 5"), "site": "main.py:2"}
SHOWN = "the exception, its line, and the values there"


FLAG = "import sys\nok = True\ntry:\n    g(5)\nexcept Exception:\n    ok = False\nprint('cleaning up')\nsys.exit(0 if ok else 1)\n"


def main(number: int, title: str, text: str, shows: str = SHOWN, *words: str, **more) -> Hard:
    return Hard(number, title, ("python", "main.py", *words), shows, files={"main.py": text}, **more)


def in_g(number: int, title: str, text: str, shows: str = SHOWN, **more) -> Hard:
    return main(number, title, G + text, shows, **{**WHERE, "more": _rows, **more})


def _rows(told: Told) -> None:
    assert told.variables["rows"] == "5", told.root


def _chain(role: str, kind: str):
    def check(told: Told) -> None:
        assert [crash["type"] for crash in told.crashes if crash["role"] == role] == [kind], told.crashes

    return check


def _members(told: Told) -> None:
    assert [crash["type"] for crash in told.crashes if crash["role"] == "cause"].count("ValueError") >= 1, told.crashes


def _both_ends(told: Told) -> None:
    gaps = [frame for frame in told.root["frames"] if "left out" in frame["function"]]
    assert len(gaps) == 1 and len(told.root["frames"]) < 70


def _is_exit(*patterns: str):
    """No exception, no false root: the end and where it came from are told."""
    def check(told: Told) -> None:
        assert not [crash for crash in told.crashes if crash["role"] == "root" and not crash["type"].endswith("SystemExit")], told.crashes
        assert f"exit {told.done.returncode}" in told.document

    return check


CASES = (
    main(30, "raise … from", CHAIN % "raise RuntimeError('no such column') from error", "the exception as the root, the other as its cause",
         root=("RuntimeError", "no such column"), site="main.py:5", more=_chain("cause", "KeyError")),
    main(31, "an exception while another is handled", CHAIN % "return name + 1", "the exception as the root, the other as its context",
         root=("TypeError", ""), site="main.py:5", more=_chain("context", "KeyError")),
    main(32, "an ExceptionGroup from a TaskGroup", GROUP, "the group, and its members with their lines", root=("ExceptionGroup", "unhandled errors in a TaskGroup"),
         more=_members, says=("row 0", 'main.py", line 6'), needs=("3.11",)),
    main(33, "notes of an exception", G + "try:\n    g(5)\nexcept ValueError as error:\n    error.add_note('while reading shard 7')\n    raise\n",
         "the exception and its notes", **WHERE, says=("while reading shard 7",), needs=("3.11",)),
    main(34, "RecursionError", "def walk(node):\n    return walk(node + 1)\n\n\nwalk(0)\n", "the exception, and the stack from both its ends",
         root=("RecursionError", "maximum recursion depth exceeded"), site="main.py:2", more=_both_ends),
    main(35, "SyntaxError", "rate = 1\ndef broken(:\n    pass\n", "the error and its line", root=("SyntaxError", ""), site="main.py:2"),
    main(36, "MemoryError", "def take(size):\n    return bytearray(size)\n\n\ntake(1 << 60)\n", SHOWN, root=("MemoryError", ""), site="main.py:2",
         says=("size = 1152921504606846976",)),
    main(37, "an exception whose __str__ raises", "class E(Exception):\n    def __str__(self):\n        raise KeyError('no text')\n\n\nraise E('x')\n",
         "the exception, its line, and that it has no text", site="main.py:6", more=lambda told: _ends_with(told.root["type"], "E")),
    in_g(38, "an exception in a thread, then os._exit", "import os, threading\nt = threading.Thread(target=g, args=(5,))\nt.start()\nt.join()\nos._exit(3)\n",
         code=3, process="thread", shows="the thread's exception, its name, line and values"),
    main(39, "an exception in __del__", "import sys\n\n\nclass Held:\n    def __del__(self):\n        raise ValueError('not closed')\n\n\nheld = Held()\n"
         "del held\nsys.exit(4)\n", "the exception that Python ignored, with its line", code=4,
         says=("ValueError: not closed", 'main.py", line 6')),
    in_g(40, "KeyboardInterrupt", "import os, signal\ntry:\n    g(5)\nexcept ValueError:\n    os.kill(os.getpid(), signal.SIGINT)\n"
         "    import time\n    time.sleep(9)\n", "KeyboardInterrupt where the program was interrupted", code=-2, root=("KeyboardInterrupt", ""),
         site="main.py:9", more=_chain("context", "ValueError")),
    in_g(41, "sys.excepthook overwritten", "import sys\nsys.excepthook = lambda kind, *_: print('mine', kind.__name__)\ng(5)\n"),
    in_g(42, "rich.traceback.install", "import rich.traceback\nrich.traceback.install()\ng(5)\n"),
    in_g(43, "typer", "import typer\n\n\ndef main(rows: int = 5):\n    g(rows)\n\n\ntyper.run(main)\n", needs=("typer",)),
    in_g(44, "hydra", "import hydra\n\n\n@hydra.main(version_base=None, config_path=None)\ndef main(cfg):\n    g(5)\n\n\nmain()\n", needs=("hydra",), slow=True,
         varies="hydra's folder is called by the time"),
    in_g(45, "print_exc and exit", "import sys, traceback\ntry:\n    g(5)\nexcept Exception:\n    traceback.print_exc()\n    sys.exit(4)\n", code=4),
    in_g(46, "logging.exception and return 1", "import logging, sys\n\n\ndef run():\n    try:\n        g(5)\n    except Exception:\n"
         "        logging.exception('failed')\n        return 1\n\n\nsys.exit(run())\n"),
    in_g(47, "a silent except that prints and exits", "import sys\ntry:\n    g(5)\nexcept Exception as error:\n    print('failed:', error)\n    sys.exit(1)\n"),
    in_g(48, "a flag now, the exit later", FLAG, "no exception that there wasn't", variant="as it is", root=None, site="", more=_is_exit()),
    Hard(48, "a flag now, the exit later", (str(python("3.12")), "main.py"), "the swallowed exception, its line and values", files={"main.py": G + FLAG}, **WHERE,
         more=_rows, options=("--trace-handled",), needs=("3.12",), variant="with `--trace-handled` on Python 3.12", how="`python3.12 main.py`"),
    main(49, "sys.exit with words", "import sys\nsys.exit('no data below data/train')\n", "the words, and the line that exits", says=("no data below data/train",),
         more=_is_exit()),
    main(50, "raise SystemExit(3)", "raise SystemExit(3)\n", "exit 3, and no exception that there wasn't", code=3, more=_is_exit()),
    in_g(51, "os._exit in an except", "import os\ntry:\n    g(5)\nexcept ValueError:\n    os._exit(7)\n", code=7),
    main(52, "an error of argparse", "import argparse\np = argparse.ArgumentParser()\np.add_argument('--rate', type=float)\np.parse_args()\n",
         "what argparse said, and the line that parses", "--rate", "fast", code=2, root=("argparse.ArgumentError", "argument --rate: invalid float value: 'fast'"),
         site="main.py:4"),
)


def _ends_with(text: str, end: str) -> None:
    assert text.endswith(end), text
