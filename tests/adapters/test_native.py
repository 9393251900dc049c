"""The back door, on every Python that is here: what shuts the front door leaves it open, and no program notices."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest
from tests.guest.visit import bare_environment, python
from tests.stories import Project

from bitten.adapters.guest_told import guest_facts
from bitten.adapters.runs import invitation, native
from bitten.core.trouble import Unable

CRASH = """
import sys
print(sorted(globals()), sys.argv, [each for each in sys.path if "bitten" in each], "_bitten_door" in sys.modules)
def load(rows):
    return rows[3]
load([1, 2])
"""
SHUT = {
    "-I": ["-I"], "-E": ["-E"], "-S": ["-S"], "-I -S": ["-I", "-S"], "PYTHONPATH=.": [], "module": ["-I", "-m"], "command": ["-E", "-c"],
}  # fmt: skip


@pytest.fixture(autouse=True)
def places(tmp_path, monkeypatch):
    for name in ("HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path))


@pytest.fixture(scope="session")
def library(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        return native.built()


@pytest.mark.parametrize("version", ["3.8", "3.9", "3.10", "3.11", "3.12", "3.13"])
def test_flags_and_an_overridden_path_shut_no_guest_out_and_no_program_notices(tmp_path, library, version):
    exe = python(version)
    if exe is None:
        pytest.skip(f"no Python {version}")
    (tmp_path / "crash.py").write_text(CRASH, "utf-8")
    (tmp_path / "cache").mkdir()
    for name, flags in SHUT.items():
        spool = tmp_path / f"spool {name}"
        spool.mkdir()
        how = {"PYTHONPATH": "."} if name == "PYTHONPATH=." else {}
        env = bare_environment() | invitation.env_for(spool, tmp_path / "cache", [], False, {}) | how
        what = {"module": ["timeit", "-n1", "-r1", "[][1]"], "command": [CRASH]}.get(name, ["crash.py"])
        run = [subprocess.run([exe, *flags, *what], cwd=tmp_path, env=each, capture_output=True, text=True, check=False, timeout=60)
               for each in (bare_environment() | how, env | {"BITTEN_DOOR": native.HOME, "LD_PRELOAD": str(library)})]
        assert (run[0].returncode, run[0].stdout, run[0].stderr) == (run[1].returncode, run[1].stdout, run[1].stderr), name
        crashes = guest_facts.read(spool, tmp_path, True).crashes
        assert [crash.type for crash in crashes] == ["IndexError"], name


def test_an_open_front_door_is_used_once(tmp_path, library):
    spool = tmp_path / "spool"
    spool.mkdir()
    env = bare_environment() | invitation.env_for(spool, tmp_path, [], False, {}) | {"BITTEN_DOOR": native.HOME, "LD_PRELOAD": str(library)}
    subprocess.run([sys.executable, "-c", "pass"], env=env, check=True)
    text = next(spool.glob("p*.log")).read_text("utf-8")
    assert text.count("'k': 'hello'") == 1


def test_other_programs_and_old_pythons_run_as_ever(tmp_path, library):
    env = bare_environment() | {"BITTEN_SPOOL": str(tmp_path), "BITTEN_DOOR": native.HOME, "LD_PRELOAD": str(library)}
    olds = [found for old in ("2.7", "3.6", "3.7") if (found := python(old))]
    for argv in (["true"], ["sh", "-c", "echo a | cat"], *([str(old), "-c", "pass"] for old in olds)):
        done = subprocess.run(argv, env=env, capture_output=True, text=True, check=True)
        assert done.stderr == ""


def test_what_is_preloaded_already_stays_in_front():
    assert native.env_for({"LD_PRELOAD": "libjemalloc.so"})["LD_PRELOAD"].startswith("libjemalloc.so:/")


def test_it_is_built_once(tmp_path, monkeypatch):
    first = native.built()
    monkeypatch.setattr(native, "COMPILERS", ())
    assert native.built() == first


@pytest.mark.parametrize("compilers", [(), ("false",)])
def test_without_a_working_compiler_nothing_is_run_and_the_way_out_is_said(monkeypatch, compilers):
    monkeypatch.setattr(native, "COMPILERS", compilers)
    with pytest.raises(Unable) as caught:
        native.env_for({})
    assert caught.value.slug == "no-compiler" and "bitten run -- CMD" in caught.value.way
    assert not list(native.places.cache().glob("native-*"))


def test_from_the_command_line(tmp_path):
    place = tmp_path / "place"
    place.mkdir()
    project = Project(place, {"crash.py": CRASH}, git=False)
    done = project.bitten("run", "--native", "--", sys.executable, "-I", "crash.py")
    assert done.returncode == 1 and "rows = " in project.case().joinpath("debug.md").read_text("utf-8")
    bare = project.bitten("run", "--native", "--", "true", PATH=_without_compilers(tmp_path), XDG_CACHE_HOME=str(tmp_path / "other"))
    assert bare.returncode == 4 and project.slug(bare) == "no-compiler"


def _without_compilers(tmp_path):
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("true", "sh", "git"):
        (folder / name).symlink_to(str(shutil.which(name)))
    return str(folder)


@pytest.mark.parametrize("sandbox", ["", "clone"])
def test_checks_of_a_case_come_in_the_same_way(tmp_path, sandbox):
    place = tmp_path / "place"
    place.mkdir()
    project = Project(place, {"crash.py": "import sys\nsys.excepthook = print\n[][1]\n"})
    env = {"BITTEN_SANDBOX": sandbox} if sandbox else {}
    assert project.bitten("run", "--native", "--", sys.executable, "-I", "crash.py", **env).returncode == 1
    project.bitten("suspect", "a variable decides", "--check", "env:SOME=1", "--supports-if", "symptom.depends == true",
                   "--refutes-if", "symptom.depends == false", **env)
    done = project.bitten("check", **env)
    assert "control.shows = IndexError" in done.stdout, done.stdout
