"""Which Claude CLI is started: found from where the person stands, whatever folder the session works in."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bitten.adapters.agents.claude import cli
from bitten.core.trouble import Unable


@pytest.mark.parametrize(("given", "path"), [("./claude", "/nowhere"), ("claude", "."), (None, ".")])
def test_a_cli_that_is_named_from_here_is_not_looked_for_in_the_copy(given, path, tmp_path, monkeypatch):
    (tmp_path / "claude").write_text("#!/bin/sh\necho 2.1.332\n", "utf-8")
    (tmp_path / "claude").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cli, "_bundled", lambda package: None)
    assert cli.found(given, {"PATH": f"{path}:/usr/bin:/bin"}) == str(tmp_path / "claude")


def test_a_program_that_tells_its_version_in_no_text_is_too_old(tmp_path):
    (tmp_path / "claude").write_bytes(b"#!/bin/sh\nprintf '\\377\\376'\n")
    (tmp_path / "claude").chmod(0o755)
    with pytest.raises(Unable) as caught:
        cli.found(tmp_path / "claude", {"PATH": "/usr/bin:/bin"})
    assert caught.value.slug == "agent-too-old"


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux tells it there")
def test_what_is_fenced_in_ignores_no_signal_that_python_ignores(tmp_path):
    words = [sys.executable, "-I", "-S", cli.FENCED, tmp_path, "--", shutil.which("grep"), "SigIgn", "/proc/self/status"]
    told = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True).stdout
    assert not int(told.split()[1], 16) & sum(1 << each - 1 for each in (signal.SIGPIPE, signal.SIGXFSZ))
