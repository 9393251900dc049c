"""The README's transcript is what the demo prints, played once more."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_demo_ends_with_a_closed_case_and_the_readme_shows_what_it_prints(tmp_path):
    env = {**os.environ, "HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state"), "XDG_CACHE_HOME": str(tmp_path / "cache"),
           "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", "NO_COLOR": "", "GIT_CONFIG_GLOBAL": os.devnull}
    played = subprocess.run(
        [sys.executable, "tools/play.py", "--quiet", "--check", "README.md"], cwd=ROOT, env=env, capture_output=True, text=True, check=False
    )
    assert (played.returncode, played.stderr) == (0, "README.md is current\n"), played.stdout + played.stderr
