# ruff: noqa: E501 - a small file, or a story of records, is easier read unbroken
"""Packages, builds, lock files and the machine, read off files."""

from __future__ import annotations

import subprocess
import sys
from importlib import metadata

from tests.adapters.project import write

from bitten.adapters.surroundings import machine
from bitten.adapters.surroundings.environment import installed, plain, rows
from bitten.adapters.surroundings.lock_files import agreement

SITE = {
    "site/NumPy-1.26.4.dist-info/METADATA": "", "site/zope.interface-6.0.dist-info/METADATA": "", "site/mine-0.1.dist-info/METADATA": "",
    "site/mine-0.1.dist-info/direct_url.json": '{"url": "file:///home/ana/mine", "dir_info": {"editable": true}}',
    "site/forked-2.dist-info/direct_url.json": '{"url": "https://git.example.org/f", "vcs_info": {"vcs": "git", "commit_id": "0123456789abcdef"}}',
    "site/old-1.0-py3.9.egg-info": "", "later/numpy-9.dist-info/METADATA": "", "site/numpy/__init__.py": "",
    "site/torch/version.py": "from typing import Optional\n__version__ = '2.13.0+cu126'\ncuda: Optional[str] = '12.6'\nhip: Optional[str] = None\n",
    "site/numpy/__config__.py": 'CONFIG = {"Build Dependencies": {"blas": {"name": "scipy-openblas", "found": True, "version": "0.3.31"}}}',
}


def test_packages_are_named_as_tools_name_them_and_the_first_on_the_path_counts(tmp_path):
    write(tmp_path, SITE)
    found = installed([f"{tmp_path}/site", f"{tmp_path}/later", f"{tmp_path}/nowhere", ""])
    assert found.versions == {"numpy": "1.26.4", "zope-interface": "6.0", "mine": "0.1", "old": "1.0", "forked": "2"}
    assert found.from_elsewhere == {"mine": "editable, /home/ana/mine", "forked": "https://git.example.org/f@0123456789ab"}
    assert dict(rows(found))["torch build"] == "2.13.0+cu126, CUDA 12.6"
    assert dict(rows(found))["blas"] == "scipy-openblas 0.3.31 (numpy's)"


def test_it_finds_what_importlib_finds():
    found = installed(sys.path).versions
    theirs = {plain(each.metadata["Name"]): each.version for each in reversed(list(metadata.distributions()))}
    assert {name: found.get(name) for name in theirs} == theirs


def test_a_real_torch_and_numpy_say_how_they_were_built():
    told = dict(rows(installed(sys.path)))
    asked = subprocess.run([sys.executable, "-c", "import torch; print(torch.__version__)"], capture_output=True, text=True, check=True)
    assert told["torch build"].split(",")[0] == asked.stdout.strip() and "blas" in told


def agree(root, files, **versions):
    write(root, files)
    return dict(agreement(root, versions))


def test_a_requirements_file_that_is_met_agrees_and_a_build_is_no_difference(tmp_path):
    text = "# pins\ntorch==2.3.0\nnumpy==1.26.4 \\\n    --hash=sha256:00\nrich[all]==13.7.0  # why\nwin==1; sys_platform == 'win32'\nfree>=2\n"
    assert agree(tmp_path, {"requirements.txt": text}, torch="2.3.0+cpu", numpy="1.26.4", rich="13.7") == {
        "requirements.txt": "agrees: 3 of its 4 packages are here, as pinned"}


def test_what_differs_or_is_missing_is_named(tmp_path):
    assert agree(tmp_path, {"requirements-dev.txt": "Foo_Bar==1\nbaz==2\n"}, **{"foo-bar": "2"}) == {
        "requirements-dev.txt": "of its 2 packages 1 differ: foo-bar 2 (locked 1); 1 missing: baz"}


def test_every_kind_of_lock_is_read(tmp_path):
    toml = '[[package]]\nname = "foo"\nversion = "1.0"\nsource = {}\n\n[[package]]\nname = "other"\nversion = "9"\n'
    forked = toml + '\n[[package]]\nname = "foo"\nversion = "2.0"\n'
    files = {"uv.lock": forked, "poetry.lock": toml, "Pipfile.lock": '{"default": {"foo": {"version": "==1.0"}}, "develop": {}}',
             "environment.yml": "dependencies:\n  - python=3.11\n  - foo=1.0=py_0\n  - pip:\n    - bar==3\n", "pdm.lock": "broken"}
    differs = "of its {} packages 1 differ: foo 2.0 (locked 1.0)"
    assert agree(tmp_path, files, foo="2.0", bar="3") == {
        "uv.lock": "agrees: 1 of its 2 packages are here, as pinned", "poetry.lock": differs.format(2), "Pipfile.lock": differs.format(1),
        "environment.yml": differs.format(2)}


def test_the_machine_is_read_off_proc(tmp_path):
    write(tmp_path, {"cpuinfo": "processor : 0\nmodel name\t: Fast 9\nflags\t\t: fpu sse4_2 avx2 amx_bf16\n", "meminfo": "MemTotal:   33554432 kB\n",
                     "driver/nvidia/version": "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue\nGCC\n",
                     "driver/nvidia/gpus/0000:01/information": "Model: \t\t NVIDIA H100\n", "driver/nvidia/gpus/0000:02/information": "Model: NVIDIA H100\n"})
    told = dict(machine.rows(tmp_path))
    assert told["processor"].startswith("Fast 9, ") and told["capabilities"] == "sse4_2 avx2 amx_bf16" and told["memory"] == "32.0 GiB"
    assert (told["nvidia driver"], told["gpus"]) == ("550.54.15", "2 × NVIDIA H100")
    assert "nvidia driver" not in dict(machine.rows(tmp_path / "driver"))
