"""A warm Python with the guest in it: imports the frameworks once, and runs each program that is asked for in a fork of itself.

The fork arms the instruments as a fresh process would have: what they wrap is wrapped after the imports, as by the import hook.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
import traceback


def main() -> None:
    for name in sys.argv[1:]:
        __import__(name)
    sys.modules["torch"].set_num_threads(1)
    print("ready", flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        pid = os.fork()
        if pid == 0:
            play(asked)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)


def play(asked: dict) -> None:
    hook = sys.modules["_bitten_hook"]
    code = 1
    for number, file in ((1, asked["out"]), (2, asked["err"])):
        os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    try:
        os.chdir(asked["cwd"])
        os.environ.update(asked["env"])
        hook.Where.spool = asked["env"]["BITTEN_SPOOL"]
        hook.Where.start = asked["cwd"]
        hook.load("_bitten_frames")._START = asked["cwd"]
        hook.Log.fd = -1
        hook._hello()
        hook.load("_bitten_probes.armed").install()
        sys.argv = asked["argv"]
        sys.path.insert(0, asked["cwd"])
        runpy.run_path(asked["argv"][0], run_name="__main__")
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        hook.flush()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    main()
