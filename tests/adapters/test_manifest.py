# ruff: noqa: E501 - a small file, or a story of records, is easier read unbroken
"""Digests of what was opened, and what is odd about data."""

from __future__ import annotations

import hashlib
import os

from tests.adapters.project import write

from bitten.adapters.surroundings import manifest
from bitten.adapters.surroundings.data_lists import odd
from bitten.core.failure import FileSeen


def test_configs_are_digested_whole_and_data_by_size_and_first_mebibyte(tmp_path):
    big = b"1,2\n" * (300 * 1024)
    write(tmp_path, {"conf.yaml": "a: 1\n", "big.csv": big, "small.csv": "a\n1\n2"})
    files = [FileSeen("big.csv", "data", len(big)), FileSeen("conf.yaml", "config", 5), FileSeen("small.csv", "data", 5)]
    found, notes = manifest.digested(files, tmp_path, seconds=60)
    assert [each.path for each in found] == ["big.csv", "conf.yaml", "small.csv"] and notes == ()
    assert (found[0].digest, found[0].whole, found[0].rows) == (hashlib.sha256(big[:manifest.FIRST]).hexdigest(), False, -1)
    assert (found[1].digest, found[1].whole) == (hashlib.sha256(b"a: 1\n").hexdigest(), True)
    assert found[2].rows == 3


def test_what_the_run_wrote_and_then_read_stays_written_and_is_digested_as_it_was_read(tmp_path):
    write(tmp_path, {"rows.jsonl": "{}\n"})
    found, _ = manifest.digested([FileSeen("rows.jsonl", "data", 3), FileSeen("rows.jsonl", "wrote", 3)], tmp_path, seconds=60)
    assert [(each.role, each.digest != "") for each in found] == [("data", True), ("wrote", False)]


def test_a_folder_is_known_by_names_and_sizes(tmp_path):
    write(tmp_path, {"shards/a": "1", "shards/b": "22"})
    one = manifest.digested([FileSeen("shards/", "data", count=2)], tmp_path, 60)[0][0].digest
    write(tmp_path, {"shards/b": "333"})
    assert one and one != manifest.digested([FileSeen("shards/", "data", count=2)], tmp_path, 60)[0][0].digest


def test_what_there_is_no_time_for_is_said_and_a_pipe_is_never_opened(tmp_path):
    write(tmp_path, {"a": "1"})
    os.mkfifo(tmp_path / "pipe")
    files = [FileSeen("a", "data", 1), FileSeen("pipe", "data", 0), FileSeen("gone", "data", 0)]
    assert manifest.digested(files, tmp_path, 0) == (tuple(files), ("3 files were not read for their digest: there was no time",))
    assert [each.digest != "" for each in manifest.digested(files, tmp_path, 60)[0]] == [True, False, False]


def test_data_that_changed_or_went_after_it_was_read_is_said(tmp_path):
    write(tmp_path, {"same": "1", "other": "1"})
    now = (tmp_path / "same").stat().st_mtime
    files = [FileSeen("same", "data", 1, now), FileSeen("other", "data", 7, now), FileSeen("gone", "data", 1, now), FileSeen("f/", "data")]
    assert list(manifest.changed(files, tmp_path)) == ["other changed after it was read", "gone was removed after it was read"]


def lists(root, *files):
    return list(odd([FileSeen(name, role, size) for name, role, size in files], root, root))


def test_a_list_of_data_says_which_of_its_files_are_not_there(tmp_path):
    write(tmp_path, {"splits/train.json": '{"root": "imgs", "files": ["a.png", "b.png", "c.png"]}', "splits/a.png": "x", "b.png": "x"})
    assert lists(tmp_path, ("splits/train.json", "config", 1)) == [
        "splits/train.json names 3 files of data; not there: c.png"]


def test_where_something_will_be_written_nothing_is_missed(tmp_path):
    write(tmp_path, {"conf.yaml": "output: runs/model.pt\nsave_path: out/last.ckpt\nurl: https://host/x.csv\nname: resnet.v2\n"})
    assert lists(tmp_path, ("conf.yaml", "config", 1)) == []


def test_data_that_dvc_tracks_is_compared_with_what_it_should_be(tmp_path):
    write(tmp_path, {"data/a.csv": "123", "data/a.csv.dvc": "outs:\n- md5: 0123456789abcdef0123456789abcdef\n  size: 3\n  path: a.csv\n",
                     "data/b.csv": "1", "dvc.lock": "schema: '2.0'\nstages:\n  prep:\n    outs:\n    - path: data/b.csv\n      md5: fedc\n      size: 2\n",
                     "raw/x/c.csv": "1", "raw.dvc": "outs:\n- md5: abcd.dir\n  nfiles: 4\n  size: 90\n  path: raw\n", "free.csv": "1"})
    found = lists(tmp_path, ("data/a.csv", "data", 3), ("data/b.csv", "data", 1), ("raw/x/c.csv", "data", 1), ("free.csv", "data", 1))
    assert found == ["data/a.csv is tracked by DVC (md5 0123456789ab)",
                     "data/b.csv is tracked by DVC (md5 fedc): it should have 2 bytes and has 1",
                     "raw/x/c.csv is tracked by DVC (md5 abcd.dir)"]
