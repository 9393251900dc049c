"""What a room kept from a run, as the run complains about it."""

from __future__ import annotations

import pytest

from bitten.adapters.sandbox.refusals import refusals


@pytest.mark.parametrize(("line", "path"), [
    ("OSError: [Errno 30] Read-only file system: '/data/out/last.pt'", "/data/out/last.pt"),
    ("touch: cannot touch '/mnt/a b/x': Read-only file system", "/mnt/a b/x"),
    ("mkdir: cannot create directory ‘/mnt/x’: Read-only file system", "/mnt/x"),
    ("sh: 1: cannot create /mnt/x: Read-only file system", "/mnt/x"),
    ("RuntimeError: cannot open file /mnt/x, Read-only file system", "/mnt/x"),
    ("sh: 1: cannot create out/log: Read-only file system", "out/log"),
    ("OSError: [Errno 30] Read-only file system", ""),
])
def test_a_read_only_path_is_named_with_its_flag(line: str, path: str) -> None:
    (said,) = refusals(f"Traceback:\n  File \"/src/train.py\", line 3\n{line}\n")
    assert said == f"{path or 'a path'} is read-only in the copy (Read-only file system): --allow-write {path or 'PATH'}"


def test_a_file_that_can_not_be_copied_up_is_named() -> None:
    (said,) = refusals("OSError: [Errno 75] Value too large for defined data type: '/data/colleague.csv'")
    assert "/data/colleague.csv belongs to another user" in said and "--allow-write /data/colleague.csv" in said


def test_a_rename_between_layers_is_named() -> None:
    (said,) = refusals("OSError: [Errno 18] Invalid cross-device link: '/a/runs' -> '/a/old'")
    assert said.startswith("/a/runs could not be renamed")


def test_a_denied_path_counts_only_where_the_room_may_have_denied_it() -> None:
    text = "PermissionError: [Errno 13] Permission denied: '/etc/shadow'\nsh: 1: cannot create /data/x: Permission denied"
    assert refusals(text, lambda path: path == "/data/x") == ("/data/x was denied (Permission denied): --allow-write /data/x",)


@pytest.mark.parametrize(("line", "host"), [
    ("curl: (6) Could not resolve host: example.org", "example.org"),
    ("HTTPSConnectionPool(host='hub.example.org', port=443): Max retries exceeded: [Errno 101] Network is unreachable", "hub.example.org"),
    ("Failed to resolve 'hub.example.org' ([Errno -3] Temporary failure in name resolution)", "hub.example.org"),
    ("wget: unable to resolve host address ‘example.org’", "example.org"),
    ("OSError: cannot load https://hub.example.org/m: offline mode is enabled", "hub.example.org"),
    ("OSError: [Errno 101] Network is unreachable", "a host"),
    ("socket.gaierror: [Errno -2] Name or service not known", "a host"),
])
def test_an_unreachable_host_is_named_once_with_its_flag(line: str, host: str) -> None:
    (said,) = refusals(line)
    assert said.startswith(f"{host} could not be reached (") and said.endswith("--allow-net")


def test_a_refused_connection_is_the_programs_own_affair() -> None:
    assert refusals("ConnectionRefusedError: [Errno 111] Connection refused") == ()


def test_where_the_network_is_open_its_failures_are_the_worlds() -> None:
    assert refusals("OSError: [Errno 101] Network is unreachable", net=False) == ()


def test_the_same_refusal_is_told_once() -> None:
    assert len(refusals("touch: cannot touch '/x': Read-only file system\n" * 3)) == 1
