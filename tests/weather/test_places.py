"""Strange places: wherever a command fails, it fails as it would have, its case is kept, and what could not be done is said."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from bitten.adapters.sandbox import clone
from tests.stories import BITTEN, MAIN, SUSPECT, WINDOWS, Project, captured, confirmed, fixed, windows_project
from tests.weather.table import Row, hold

PYTHON = sys.executable
SECTION = "Strange places"
FAILS = {"main.py": "print('so far')\nraise ValueError('no')\n"}


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path, FAILS)


def failed(project, *command, cwd=".", **env):
    """A failing run: its own output and exit code come through, a case is there, nothing of ours breaks. Returns what bitten said."""
    done = project.bitten("run", "--", *(command or (PYTHON, "main.py")), cwd=cwd, **env)
    assert (done.returncode, done.stdout) == (1, "so far\n"), done.stderr
    assert "[our-fault]" not in done.stderr and "✗ ValueError: no" in done.stderr, done.stderr
    return done.stderr


def refused(project, slug, *words, cwd=".", **env):
    done = project.bitten(*words, cwd=cwd, **env)
    assert project.slug(done) == slug, done.stdout + done.stderr
    return done.returncode


def row(what, happens, said, code=1):
    hold(Row(SECTION, what, happens, said, code))


# ---------------------------------------------------------------------------------------------- git


def test_no_git_installed(tmp_path):
    project = windows_project(tmp_path)
    path = str(tmp_path / "bin")
    done = project.bitten("run", "--", PYTHON, "main.py", PATH=path)
    assert done.returncode == 1 and "the tree was not kept: Can't start git" in done.stderr and "case 1" in done.stderr
    project.bitten(*SUSPECT, PATH=path)
    checked = project.bitten("check", PATH=path)
    assert "✓ supported" in checked.stdout, checked.stdout + checked.stderr
    row("no git installed", "the case is kept without its tree, and checks run; a fix is compared by git", "that the tree was not kept")


def test_a_bare_repository(tmp_path):
    project = Project(tmp_path, FAILS, git=False)
    project.git("init", "-q", "--bare", ".")
    before = project.photograph()
    assert "case 1" in failed(project)
    assert project.photograph() == before
    row("a bare repository", "the case is kept beside it, nothing of it is touched", "the case")


def test_a_repository_without_a_commit(tmp_path):
    project = Project(tmp_path, FAILS, git=False)
    project.git("init", "-q")
    assert "case 1" in failed(project)
    assert "HEAD is" not in (project.case() / "debug.md").read_text("utf-8")
    row("no commit yet", "the case is kept; nothing is said of what changed", "the case")


def proven(tmp_path):
    project = fixed(confirmed(captured(windows_project(tmp_path))))
    assert project.bitten("verify").returncode == 0
    assert project.bitten("learn", "--local", "only here").returncode == 0
    return project


def test_a_merge_and_a_rebase_under_way(tmp_path):
    project = proven(tmp_path)
    head = project.git("rev-parse", "HEAD").strip()
    for what, mark in (("merge", "MERGE_HEAD"), ("rebase", "rebase-merge")):
        file = project.root / ".git" / mark
        file.write_text(head + "\n", "utf-8") if what == "merge" else file.mkdir()
        code = refused(project, "commit-in-between", "close")
        assert project.git("rev-parse", "HEAD").strip() == head and not project.git("diff", "--cached", "--name-only")
        file.unlink() if what == "merge" else file.rmdir()
        row(f"a {what} is under way", "all but `close` works; it waits for the end of that", "`commit-in-between`", code)
    assert project.bitten("close").returncode == 0


def with_submodule(tmp_path):
    """A project whose part is another repository, checked out as a submodule."""
    part = Project(tmp_path / "other", FAILS)
    project = Project(tmp_path, {"top.py": "import runpy\nrunpy.run_path('part/main.py')\n"})
    project.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(part.root), "part")
    project.commit("with part")
    return project


def test_a_submodule(tmp_path):
    (tmp_path / "other").mkdir()
    project = with_submodule(tmp_path)
    assert "case 1 · .bitten/" in failed(project, cwd="part")
    assert (project.root / "part" / ".bitten").is_dir() and not (project.root / ".bitten").exists()
    row("in a submodule", "the case is the submodule's own", "the case")
    assert "case 1 · .bitten/" in failed(project, PYTHON, "top.py")
    assert (project.root / ".bitten").is_dir()
    row("above a submodule", "the case is the outer project's; the submodule counts by its commit", "the case")


def test_an_added_work_tree(project):
    project.git("worktree", "add", "-q", "../tree")
    before = project.photograph()
    assert "case 1 · .bitten/" in failed(project, cwd="../tree")
    assert project.photograph() == before and not (project.root / ".bitten").exists()
    row("a linked worktree", "the case is that tree's own", "the case")


def test_a_sparse_checkout(tmp_path):
    project = Project(tmp_path, {**FAILS, "left/out.py": "x = 1\n"})
    project.git("sparse-checkout", "set", "--no-cone", "/main.py")
    assert not (project.root / "left").exists()
    failed(project)
    assert "nothing uncommitted" in (project.case() / "debug.md").read_text("utf-8")
    row("a sparse checkout", "files that it leaves out count as unchanged", "the case")


POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "0" * 64 + "\nsize 123456789\n"


def test_pointers_of_large_file_storage(tmp_path):
    """Without git-lfs: its filters are named and can't be started."""
    project = Project(tmp_path, {**FAILS, "model.bin": POINTER})
    project.write(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n")
    project.git("config", "filter.lfs.required", "true")
    project.git("config", "filter.lfs.clean", "no-such-git-lfs clean")
    project.write("model.bin", POINTER.replace("123", "321"))
    said = failed(project)
    assert "what changed is not known: git status failed" in said and "the tree was not kept" not in said
    row("LFS pointers, git-lfs missing", "pointers are kept as the text they are; git can't tell what changed", "git's own words")


# ---------------------------------------------------------------------------------------------- size


CROWDS = {"tracked": "`run` takes seconds longer, to look at each",
          "untracked": "`run` takes seconds longer; 5,000 of them are read at most"}


@pytest.mark.parametrize("kind", CROWDS)
def test_very_many_files(project, kind):
    """1,000 here; 100,000 in the long form."""
    crowd(project, 1_000)
    if kind == "tracked":
        project.commit("a crowd")
    assert in_a_crowd(project) < 20
    row(f"100,000 {kind} files", CROWDS[kind], "the case")


def in_a_crowd(project):
    """Seconds of a failing run."""
    began = time.monotonic()
    failed(project)
    assert (project.case() / "events.jsonl").stat().st_size < 1 << 20
    return time.monotonic() - began


def crowd(project, many):
    for number in range(0, many, 100):
        folder = project.root / f"d{number}"
        folder.mkdir()
        for each in range(100):
            (folder / f"{each}.txt").write_text(f"{number} {each}\n", "utf-8")


def test_forty_gigabytes_of_checkpoints(project):
    long_ago = 1_000_000_000
    files = [project.root / f"epoch-{number}.pt" for number in range(4)]
    for file in files:
        with file.open("wb") as made:
            made.truncate(10 << 30)
        os.utime(file, (long_ago, long_ago))
    began = time.monotonic()
    failed(project)
    project.bitten("suspect", "it is so", "--check", f"{PYTHON} main.py", "--supports-if", "exit == 1", "--refutes-if", "exit == 0")
    assert "✓ supported" in project.bitten("check").stdout
    assert time.monotonic() - began < 30
    assert {file.stat().st_atime for file in files} == {long_ago}, "a file was read"
    row("40 GB of untracked checkpoints", "never read, neither by `run` nor by a copy", "the case")


# ---------------------------------------------------------------------------------------------- names


@pytest.mark.parametrize(("what", "name"), [
    ("blanks in its name", "my project  x"), ("a newline in its name", "two\nlines"), ("no UTF-8 in its name", os.fsdecode(b"caf\xe9")),
    ("a name like an option", "-x"), ("a quote at its beginning", '"quoted'),
])
def test_a_project_of_a_strange_name(tmp_path, what, name):
    project = Project(tmp_path, FAILS, name=name)
    said = failed(project)
    assert "case 1" in said and "the tree was not kept" not in said
    assert project.show()["symptom"] == "ValueError: no" and "ValueError" in project.bitten().stdout
    if not name.isprintable():  # of two of them a copy as well: it costs the most
        done = project.bitten("check", "h1")
        assert done.returncode == 0 and "[our-fault]" not in done.stderr, done.stderr
    row(f"a project with {what}", "all is as elsewhere", "the case")


def test_files_of_strange_names_and_deep_paths(project):
    deep = project.root / Path(*["a-rather-long-folder-name"] * 60)  # 1,500 bytes
    deep.mkdir(parents=True)
    names = ["two\nlines.py", "-rf", "  ", os.fsdecode(b"caf\xe9.py"), '"q".py', "tab\t.py"]
    for folder in (project.root, deep):
        for name in names:
            (folder / name).write_text("x = 1\n", "utf-8")
    said = failed(project)
    assert "the tree was not kept" not in said
    assert project.bitten("check").returncode == 0 and project.bitten("show").returncode == 0
    row("deep paths, and names with blanks, newlines and bytes that are no UTF-8", "all are kept as they are", "the case")


def test_two_names_that_differ_in_case_alone(tmp_path):
    """Simulated: the index holds both, the disk one, as on a disk that takes them for the same."""
    project = Project(tmp_path, {**FAILS, "Data.py": "x = 1\n"})
    blob = project.git("rev-parse", "HEAD:Data.py").strip()
    project.git("update-index", "--add", "--cacheinfo", f"100644,{blob},data.py")
    project.git("commit", "-qm", "both")
    said = failed(project)
    assert "the tree was not kept" not in said
    row("two names that differ in case alone (simulated)", "the one that the disk lacks counts as removed", "the case")


# ---------------------------------------------------------------------------------------------- no room, no right


def test_a_project_folder_that_went_away(project):
    script = f"mkdir ../gone && cd ../gone && rmdir ../gone && {shlex.join([*BITTEN, 'run', '--', 'true'])}"
    done = subprocess.run(["sh", "-c", script], cwd=project.root, env=project.env, capture_output=True, text=True, check=False)
    assert project.slug(done) == "folder-gone"
    row("a current folder that was removed", "nothing runs", "`folder-gone`", done.returncode)


def test_locks_are_refused(project):
    """Simulated: the system refuses a lock on any file of the project, as some network file systems do."""
    project.write("../patch/sitecustomize.py", """
import errno, fcntl, os
plain = fcntl.flock
def flock(fd, how):
    if "/project/" in os.readlink(f"/proc/self/fd/{fd if isinstance(fd, int) else fd.fileno()}"):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))
    return plain(fd, how)
fcntl.flock = flock
""")
    env = {"PYTHONPATH": str(project.root.parent / "patch")}
    assert "case 1" in failed(project, **env)
    assert "seen 2 times" in failed(project, **env)
    assert not list((project.root / ".bitten").rglob("*.holder"))
    row("locks refused, as by some NFS (simulated)", "a marker file that names its holder serves instead", "the case")


class Elsewhere:
    """A world of its own for one script: mounts that nobody else sees, perhaps another user, the project at a path that all may read."""

    def __init__(self, files):
        self.place = Path(tempfile.mkdtemp(prefix="bitten-weather-", dir="/var/tmp"))
        self.place.chmod(0o755)
        self.project = Project(self.place, files)
        self.python = Path(sys.base_prefix) / "bin" / f"python3.{sys.version_info.minor}"

    def run(self, script, mounts="", user="", **env):
        """`$BITTEN` and `$PYTHON` are what a script calls. Where this machine does not let us make such a world, the test is skipped."""
        prefix = "" if os.geteuid() else f"mount --bind {shlex.quote(sys.base_prefix)} {self.place}/python; "
        (self.place / "python").mkdir(exist_ok=True)
        python = self.python if os.geteuid() else self.place / "python" / "bin" / self.python.name
        source = str(Path(__file__).parents[2] / "src")
        site = [path for path in sys.path if path.endswith("site-packages")]
        become = f"setpriv --reuid {user} --regid {user} --clear-groups " if user and not os.geteuid() else ""
        own = f"chown -R {user}:{user} {self.place}/project {self.place}/home {self.place}/run; " if become else ""
        ours = {"PYTHONPATH": os.pathsep.join([source, *site]), "PYTHON": str(python), "BITTEN": f"{python} -m bitten"}
        told = {name: value for name, value in {**self.project.env, **ours, **env}.items() if value is not None}
        inner = f"cd {self.project.root}\n{script}"
        namespaces = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-Urm"]
        words = [*namespaces, "sh", "-c", f"{{ {prefix}{mounts} {own} }} || exit 99; exec {become}sh -c {shlex.quote(inner)}"]
        done = subprocess.run(words, env=told, capture_output=True, text=True, check=False, timeout=120, stdin=subprocess.DEVNULL)
        if done.returncode == 99:
            pytest.skip(f"no such world can be made here: {done.stderr}")
        return done


@pytest.fixture
def elsewhere():
    made = Elsewhere({"windows.py": WINDOWS, "main.py": MAIN, "count_rows.py": "print('bitten-fact rows=7')\n"})
    yield made
    shutil.rmtree(made.place)


RUN = "$BITTEN run -- $PYTHON main.py; echo code $?\n"


def told(done):
    assert "rows=7\ncode 1\n" in done.stdout, done.stdout + done.stderr
    assert "[our-fault]" not in done.stderr and "Traceback" not in done.stderr.split("✗")[-1], done.stderr
    return done.stderr


def test_a_full_disk_under_the_project(elsewhere):
    root, kept = elsewhere.project.root, elsewhere.place / "kept"
    mounts = (f"cp -r {root} {kept}; mount -t tmpfs -o size=3m none {root}; cp -r {kept}/. {root}; "
              f"cat /dev/zero > {root}/fill 2>/dev/null || true;")
    done = elsewhere.run(RUN + "$BITTEN show --json | grep symptom; rm fill; $BITTEN cases", mounts)
    assert "the case is kept elsewhere" in told(done) and '"symptom": "ValueError: windows' in done.stdout
    assert done.stdout.count("ValueError: windows") == 2, "it is known as well when there is room again"
    row("a full disk under the project", "the case is kept in the state folder", "that it is kept elsewhere, and where")


def test_a_full_disk_everywhere(elsewhere):
    place = elsewhere.place
    full = [elsewhere.project.root, place / "home", place / "run", "/dev/shm"]
    mounts = (f"cp -r {full[0]} {place}/kept; "
              + "".join(f"mount --rbind {each} {each}; mount -o remount,bind,ro {each}; " for each in ("/tmp", "/var/tmp"))
              + "".join(f"mount -t tmpfs -o size=3m none {each}; " for each in full)
              + f"chmod 700 {place}/run; cp -r {place}/kept/. {elsewhere.project.root}; "
              + "".join(f"cat /dev/zero > {each}/fill 2>/dev/null || true; " for each in full))
    said = told(elsewhere.run(RUN, mounts))
    assert "No space left on device" in said
    row("a full disk everywhere, memory too", "the command ends as it does; what could not be kept is said", "`file-not-written`")


def test_a_read_only_project(elsewhere):
    done = elsewhere.run(RUN + "$BITTEN check; $BITTEN cases", f"mount --bind -o ro {elsewhere.project.root} {elsewhere.project.root};")
    assert "the case is kept elsewhere" in told(done) and "1  tested" in done.stdout, done.stdout
    row("a read-only project directory", "the case is kept in the state folder", "that it is kept elsewhere, and where")


def test_not_root(elsewhere):
    suspect = shlex.join(["suspect", "one row short", "--supports-if", "rows < 8", "--refutes-if", "rows == 8", "--check"])
    script = f'{RUN}$BITTEN {suspect} "$PYTHON count_rows.py" > shown\n$BITTEN check; id -u; ls -l shown'
    done = elsewhere.run(script, user="65534")
    told(done)
    assert "✓ supported" in done.stdout and "copy: a clone" not in done.stderr, done.stdout + done.stderr
    assert os.geteuid() or "65534" in done.stdout
    row("another user than root", "the same, in a namespace of one's own", "the case")


def test_no_home(elsewhere, user="12345"):
    done = elsewhere.run(RUN + "$BITTEN check h1; echo checked $?; ls -A", user=user, HOME=None, XDG_STATE_HOME=None, XDG_CACHE_HOME=None)
    told(done)
    assert "checked 0" in done.stdout and "~" not in done.stdout.splitlines(), done.stdout + done.stderr
    row("no HOME, a user without a name", "what outlives a case is kept in memory", "the case")


def test_no_place_in_memory(elsewhere):
    mounts = "mount -t tmpfs -o ro none /dev/shm;"
    assert "case 1" in told(elsewhere.run(RUN, mounts, XDG_RUNTIME_DIR=None))
    row("no `/dev/shm` and no XDG_RUNTIME_DIR", "output is held in the folder for temporary files", "the case")


def test_no_user_namespaces(elsewhere):
    poor = "setpriv --bounding-set -sys_admin --inh-caps -sys_admin"
    script = f"{RUN}echo 0 > /proc/sys/user/max_user_namespaces\n{poor} $BITTEN check h1; echo checked $?"
    done = elsewhere.run(f"exec unshare -Ur sh -c {shlex.quote(script)}")
    told(done)
    assert "checked 0" in done.stdout
    assert "copy: a clone with links at another path, as namespaces can't serve here" in done.stderr, done.stderr
    assert "refused by Landlock" in done.stderr or "not even refused, as this kernel has no Landlock" in done.stderr
    assert "The failure did not show itself" not in done.stdout, done.stdout
    row("no user namespaces", "checks run in a clone with links; what that can't promise is printed", "`copy: a clone with links …`", 0)


def test_no_landlock():
    """Simulated: what a clone says of itself where the kernel can't fence it."""
    said = clone._how("namespaces can't serve here", fenced=False, net=False)
    assert "are not diverted but not even refused, as this kernel has no Landlock" in said
    row("no user namespaces and no Landlock (simulated)", "checks run in a clone with links; what that can't promise is printed",
        "`… not even refused, as this kernel has no Landlock`", 0)
