"""Which folders get a layer of their own, and which are put together by hand."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bitten.adapters.sandbox import layers
from bitten.adapters.sandbox.layers import Mounts, Planner, own_layers

LINES = r"""22 27 0:21 / /proc rw,relatime - proc proc rw
24 27 0:6 / /dev rw - devtmpfs devtmpfs rw
25 24 0:23 / /dev/shm rw - tmpfs tmpfs rw
27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
28 27 0:25 / /mnt/my\040disk ro,nosuid - tmpfs none rw
"""


def plan(top: Path, base: Path, *points: Path) -> dict[str, str]:
    planner = Planner(Mounts(frozenset(map(str, points)), frozenset()), str(base))
    return {os.path.relpath(path, top): kind for kind, path in planner.steps(str(top))}


def test_mount_points_are_read_with_their_names_and_the_systems_own_left_out() -> None:
    mounts = Mounts.read(LINES)
    assert mounts.points == {"/", "/mnt/my disk"}
    assert mounts.readonly == {"/mnt/my disk"}


def test_a_folder_without_mounts_gets_one_layer(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    assert plan(tmp_path, Path("/nowhere")) == {".": "layer"}


def test_the_way_to_our_own_base_is_made_anew_and_its_neighbours_are_layered(tmp_path: Path) -> None:
    for name in ("tmp/base/1", "tmp/other", "home"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("home")
    assert plan(tmp_path, tmp_path / "tmp" / "base") == {
        ".": "folder", "file": "file", "home": "layer", "link": "link", "tmp": "folder", "tmp/other": "layer"}


def test_the_way_to_a_mount_point_is_made_anew_and_the_mount_is_layered(tmp_path: Path) -> None:
    (tmp_path / "data" / "disk").mkdir(parents=True)
    assert plan(tmp_path, Path("/nowhere"), tmp_path / "data" / "disk") == {".": "folder", "data": "folder", "data/disk": "layer"}


def test_a_crowded_folder_is_layered_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layers, "CROWD", 2)
    for name in ("a", "b", "base"):
        (tmp_path / name).mkdir()
    assert plan(tmp_path, tmp_path / "base") == {".": "layer"}


def test_below_another_users_folder_a_path_gets_a_layer_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    laid = [("layer", str(tmp_path))]
    assert list(own_layers(laid, [tmp_path / "theirs"], os.geteuid() + 1)) == [("layer", str(tmp_path / "theirs"))]
    assert list(own_layers(laid, [tmp_path / "theirs"], os.geteuid())) == []
