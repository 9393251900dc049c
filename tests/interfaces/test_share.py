"""A case leaves as one file and opens elsewhere as it was: nothing of it is run, no secret is in it, and where it came from is said."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import subprocess
import sys
import tarfile

import pytest
from tests.redaction.secrets import SECRETS
from tests.stories import BITTEN, Project, captured, confirmed, windows_project

from bitten.adapters.handing_on import parcel


@pytest.fixture(scope="module")
def sender(tmp_path_factory):
    """Its windows.py was changed since the last commit, and its cause is confirmed."""
    project = windows_project(tmp_path_factory.mktemp("sender"))
    project.write("windows.py", project.read("windows.py") + "\n\nSIZE = 4\n")
    captured(project)
    confirmed(project)
    assert project.bitten("export", "-o", "../case.bitten.tgz").returncode == 0
    return project


@pytest.fixture
def receiver(tmp_path):
    return windows_project(tmp_path)


def parcel_of(project):
    return project.root.parent / "case.bitten.tgz"


def events(project):
    return [json.loads(line) for line in (project.case() / "events.jsonl").read_text("utf-8").splitlines()]


def test_a_case_arrives_as_it_left(sender, receiver):
    done = receiver.bitten("import", str(parcel_of(sender)))
    assert done.returncode == 0, done.stderr
    assert "ValueError: windows of unequal size" in done.stdout and "other text here than where it failed: windows.py" in done.stderr
    mine, theirs = receiver.show(), sender.show()
    assert mine == {**theirs, "case": 1}
    told = [each["kind"] for each in events(receiver)]
    assert told[1] == "Note" and told.count("Visit") == 1
    assert [each["event"]["typed"] for each in events(receiver) if each["kind"] == "Confirmation"] == ["7"]
    assert events(receiver)[0]["event"]["run"]["command"]["cwd"] == str(receiver.root)
    folder = receiver.case()
    assert "SIZE = 4" in (folder / "tree" / "windows.py").read_text("utf-8")
    assert (folder / "capture" / "output").read_bytes() == (sender.case() / "capture" / "output").read_bytes()
    assert f"cd {receiver.root}" in (folder / "run.sh").read_text("utf-8")
    assert "linked: imported from case.bitten.tgz: 1-windows-of-unequal-size" in (folder / "debug.md").read_text("utf-8")


def test_it_gets_the_next_free_number_and_leaves_the_others_alone(sender, receiver):
    captured(receiver)
    before = (receiver.case() / "events.jsonl").read_bytes()
    first = receiver.case()
    assert json.loads(receiver.bitten("import", str(parcel_of(sender)), "--json").stdout)["case"] == 2
    assert (first / "events.jsonl").read_bytes() == before


def test_an_export_is_the_same_each_time_and_spares_what_is_there(sender):
    done = sender.bitten("export", "1", "-o", "../again.bitten.tgz", "--json")
    assert (sender.root.parent / "again.bitten.tgz").read_bytes() == parcel_of(sender).read_bytes()
    told = json.loads(done.stdout)
    assert "windows.py" in told["source"] and told["bytes"] == parcel_of(sender).stat().st_size
    assert sender.slug(sender.bitten("export", "-o", "../case.bitten.tgz")) == "file-exists"
    assert sender.git("status", "--porcelain") == " M windows.py\n"


def test_the_commands_of_a_stranger_are_not_run_unasked(sender, receiver):
    receiver.bitten("import", str(parcel_of(sender)))
    receiver.bitten("suspect", "the rows", "--check", "env:A=1", "--supports-if", "symptom.depends == true", "--refutes-if",
                    "symptom.depends == false")
    receiver.bitten("diagnose")
    done = receiver.bitten("check")
    assert receiver.slug(done) == "check-costs" and "came with an imported case" in done.stderr


def changed(project, place, change):
    """The same parcel with its files changed, and a list that fits."""
    found = parcel.unpack(str(parcel_of(project)))
    files = change(dict(found.files))
    place.write_bytes(parcel.pack({name: each for name, each in found.told.items() if name not in ("form", "files")}, files))
    return str(place)


def rechained(lines):
    """Lines whose chain of digests is whole, whatever they say."""
    done = []
    for line in lines:
        told = {**json.loads(line), "prev": hashlib.sha256(done[-1]).hexdigest() if done else "0" * 64}
        done.append(json.dumps(told, separators=(",", ":")).encode())
    return b"".join(line + b"\n" for line in done)


@pytest.mark.parametrize("harm", ["unlawful", "changed", "torn", "empty", "none", "newer", "no event"])
def test_a_journal_that_does_not_load_is_not_kept(sender, receiver, tmp_path, harm):
    def change(files):
        lines = files["case/events.jsonl"].splitlines()
        if harm == "none":
            del files["case/events.jsonl"]
            return files
        new = {"unlawful": lambda: rechained([each for each in lines if json.loads(each)["kind"] != "Evidence"]),
               "changed": lambda: files["case/events.jsonl"].replace(b"ValueError", b"TypeError_", 1),
               "torn": lambda: files["case/events.jsonl"][40:], "empty": lambda: b"",
               "newer": lambda: rechained([json.dumps({**json.loads(each), "v": 99}) for each in lines]),
               "no event": lambda: rechained([json.dumps({**json.loads(each), "kind": "Command"}) for each in lines])}
        return {**files, "case/events.jsonl": new[harm]()}
    done = receiver.bitten("import", changed(sender, tmp_path / "harm.tgz", change))
    assert receiver.slug(done) == "parcel-damaged" and done.returncode == 2
    assert not list(receiver.root.glob(".bitten/[0-9]*"))


def test_nothing_in_a_parcel_is_written_outside_its_case_or_runs(sender, receiver, tmp_path):
    def change(files):
        return {**files, "case/run.sh": b"touch ran\n", "case/events.lock": b"", "case/current": b"x", "case/extra/x": b"x",
                "objects/x": b"x", "case/capture/screen": b"\x1b[2J\x1b]0;title\x07red\n"}
    receiver.bitten("import", changed(sender, tmp_path / "odd.tgz", change))
    names = {path.relative_to(receiver.root / ".bitten").parts[0] for path in (receiver.root / ".bitten").rglob("*")}
    assert names <= {".gitignore", "cases.lock", "current", "objects", "objects.lock", receiver.case().name}
    assert not (receiver.case() / "extra").exists() and "ran" not in (receiver.case() / "run.sh").read_text("utf-8")
    assert b"\x1b" not in (receiver.case() / "capture" / "screen").read_bytes()
    assert not (receiver.root / "ran").exists()


def test_no_secret_leaves_though_it_stood_in_the_case(tmp_path):
    texts = [secret.text for secret in SECRETS]
    project = Project(tmp_path, {"main.py": "import sys\n", "notes.py": ""})
    project.write("main.py", f"import sys\nKEYS = {texts!r}\nraise ValueError('no login')\n")
    project.bitten("run", "--", sys.executable, "main.py")
    kept = project.case() / "capture" / "late"
    kept.write_text("\n".join(texts), "utf-8")
    done = project.bitten("export", "-o", "../out.tgz", COMPANY_TOKEN="abcd" * 5)
    assert "masked in it: " in done.stdout and "github-token" in done.stdout
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress((tmp_path / "out.tgz").read_bytes()))) as archive:
        whole = b"\n".join(archive.extractfile(each).read() for each in archive)
    forms = {form for secret in SECRETS for form in (secret.value, json.dumps(secret.value)[1:-1])}
    left = sorted(form for form in forms if form.encode() in whole)
    assert not left and b"tree/main.py" in whole


def test_it_can_go_down_a_pipe(sender):
    done = subprocess.run([*BITTEN, "export", "-o", "-"], cwd=sender.root, env=sender.env, capture_output=True, check=True)
    assert done.stdout == parcel_of(sender).read_bytes() and b"case 1 is in -" in done.stderr
