"""Strange files: whatever CLAUDE.md and debug.md look like, one entry is put in, and all else in them stays byte for byte."""

from __future__ import annotations

import os
import shutil
from copy import copy
from pathlib import Path

import pytest

from tests.stories import BITTEN, Project, captured, confirmed, fixed, windows_project
from tests.weather.table import Row, hold

SECTION = "Strange files"
TITLE = "## Things that have bitten us"
ENTRY = "- (2026-05-04) The last window was one row short. Added a test.\n  Lesson: cut to the end."
OBEYING = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", *BITTEN] if os.geteuid() == 0 else BITTEN
"""Root may write what is write-protected; without these two capabilities it is kept out like everybody else."""


@pytest.fixture(scope="module")
def verified(tmp_path_factory):
    project = fixed(confirmed(captured(windows_project(tmp_path_factory.mktemp("files")))))
    assert project.bitten("verify").returncode == 0
    return project


@pytest.fixture
def project(verified, tmp_path):
    return _copied(verified, tmp_path)


def _copied(known: Project, place: Path) -> Project:
    """The same case elsewhere; what it remembers of the old place are paths of runs, which are not run again."""
    project = copy(known)
    project.root, project.home = place / "project", place / "home"
    old = known.root.parent
    for name in ("project", "home", "run"):
        shutil.copytree(old / name, place / name, symlinks=True)
    project.env = {name: value.replace(str(old), str(place)) for name, value in known.env.items()}
    return project


def learn(project, program=BITTEN):
    return project.bitten("learn", "--text", ENTRY, program=program)


def put(old: bytes, new: bytes) -> bytes:
    """What was put in at one place; all else is as it was."""
    at = next((n for n, (one, other) in enumerate(zip(old, new, strict=False)) if one != other), len(old))
    length = len(new) - len(old)
    assert any(new[:n] + new[n + length:] == old for n in range(max(0, at - length), at + 1)), "something else was changed"
    return new[at:at + length]


def _lessons(project):
    return project.root / "CLAUDE.md"


FILES = {
    "CLAUDE.md with CRLF": (f"# Us\r\n\r\n{TITLE}\r\n\r\n- a\r\n\r\n## Next\r\n".encode(), "the entry has CRLF too"),
    "CLAUDE.md with a byte order mark": (f"\ufeff{TITLE}\n\n- a\n".encode(), "the mark stays, the section is found"),
    "CLAUDE.md without a final newline": (f"{TITLE}\n\n- a".encode(), "it still has none"),
    "CLAUDE.md with two such headings": (f"{TITLE}\n\n- a\n\n## Other\n\n{TITLE}\n\n- b\n".encode(), "the first section gets the entry"),
    "CLAUDE.md with the heading in a code block": (f"```\n{TITLE}\n- a\n```\n".encode(), "a section of its own is made"),
    "CLAUDE.md with the heading in a quote": (f"> {TITLE}\n> - a\n".encode(), "a section of its own is made"),
    "CLAUDE.md with the heading in an HTML comment": (f"<!--\n{TITLE}\n- a\n-->\n\nWords.\n".encode(), "a section of its own is made"),
    "CLAUDE.md in Latin-1": ("caf\xe9\n\n".encode("latin-1") + f"{TITLE}\n\n- a\n".encode(), "bytes that are no UTF-8 stay"),
    "CLAUDE.md of 5 MB": (("words " * 5000 + "\n\n").encode() * 167 + f"{TITLE}\n\n- a\n".encode(), "the entry is put in"),
}


@pytest.mark.parametrize("what", FILES)
def test_a_lesson_is_put_into_a_strange_file(project, what):
    content, happens = FILES[what]
    _lessons(project).write_bytes(content)
    _lessons(project).chmod(0o640)
    done = learn(project)
    assert done.returncode == 0, done.stderr
    new = _lessons(project).read_bytes()
    entry = put(content, new).decode()
    ending = "\r\n" if b"\r\n" in content else "\n"
    assert ENTRY.replace("\n", ending) in new.decode("utf-8", "replace") and "(2026-05-04)" in entry
    assert new.endswith(b"\n") is content.endswith(b"\n") and _lessons(project).stat().st_mode & 0o777 == 0o640
    assert new.count(TITLE.encode()) == content.count(TITLE.encode()) + ("of its own" in happens)
    if "two" in what:
        assert new.index(b"(2026-05-04)") < new.index(b"## Other")
    assert not list(project.root.glob(".CLAUDE.md*")), "no half of it lies about"
    hold(Row(SECTION, what, happens, "", done.returncode))


@pytest.mark.parametrize("inside", [True, False], ids=["inside", "outside"])
def test_a_lesson_goes_through_a_symbolic_link(project, inside):
    folder = project.root / "docs" if inside else project.root.parent / "elsewhere"
    folder.mkdir()
    (folder / "LESSONS.md").write_bytes(b"# Ours\n")
    _lessons(project).unlink()
    _lessons(project).symlink_to(os.path.relpath(folder / "LESSONS.md", project.root))
    project.git("add", "CLAUDE.md", *(["docs"] if inside else []))
    project.git("commit", "-qm", "link it")
    done = learn(project)
    assert done.returncode == 0, done.stderr
    assert _lessons(project).is_symlink()
    assert ENTRY in put(b"# Ours\n", (folder / "LESSONS.md").read_bytes()).decode()
    closed = project.bitten("close")
    assert closed.returncode == 0, closed.stderr
    committed = project.git("show", "--name-only", "--format=", "HEAD").split()
    assert ("docs/LESSONS.md" in committed) is inside and "CLAUDE.md" not in committed
    assert project.git("status", "--porcelain").split() == []
    where = "inside" if inside else "outside"
    happens = "the link stays, its file gets the entry" + (" and is committed" if inside else "; the commit leaves it out")
    hold(Row(SECTION, f"CLAUDE.md is a link to a file {where} the project", happens, "", done.returncode))


def _protected(file):
    file.chmod(0o444)


def _folder(file):
    file.unlink()
    file.mkdir()


def _nowhere(file):
    file.unlink()
    file.symlink_to(file.name)


def _utf16(file):
    file.write_bytes("# Us\n".encode("utf-16"))


def _unclosed(file):
    file.write_bytes(b"# Us\n\n```\ncode\n")


@pytest.mark.parametrize(("what", "make", "slug", "code"), [
    ("CLAUDE.md is write-protected", _protected, "file-protected", 4), ("CLAUDE.md is a folder", _folder, "file-protected", 4),
    ("CLAUDE.md is a link to itself", _nowhere, "file-protected", 4), ("CLAUDE.md in UTF-16", _utf16, "lesson-file-not-text", 2),
    ("CLAUDE.md with a code block that is never closed", _unclosed, "lesson-has-no-place", 2),
])
def test_a_file_that_can_take_no_lesson_is_left_alone_and_no_step_is_lost(project, what, make, slug, code):
    make(_lessons(project))
    before = _lessons(project).read_bytes() if _lessons(project).is_file() else b""
    done = learn(project, OBEYING)
    assert (done.returncode, project.slug(done)) == (code, slug), done.stderr
    assert "way out:  " in done.stderr
    assert (_lessons(project).read_bytes() if _lessons(project).is_file() else b"") == before
    assert project.show()["step"] == "verified", "the lesson is no step yet"
    hold(Row(SECTION, what, "nothing is written, and the case stands where it stood", f"`{slug}`", done.returncode))


def test_a_new_lessons_file_has_the_mode_that_any_new_file_has(project):
    _lessons(project).unlink()
    os.umask(umask := os.umask(0))
    assert learn(project).returncode == 0
    assert _lessons(project).stat().st_mode & 0o777 == 0o666 & ~umask


WORDS = "Turned it off.\n\n```\n## What happened\n```\n\n> ## Command\n\n<!--\n## Evidence\n-->\n\nTwice."
TRIED = "## What I've already tried\n\n"
DOCUMENTS = {
    "debug.md with CRLF": lambda text: text.replace("Nothing yet.", WORDS).replace("\n", "\r\n"),
    "debug.md with a byte order mark": lambda text: "\ufeff" + text.replace("Nothing yet.", WORDS),
    "debug.md without a final newline": lambda text: text.replace("Nothing yet.", WORDS).rstrip("\n"),
    "debug.md with a heading of ours twice": lambda text: text.replace("Nothing yet.", WORDS) + "\n## What happened\n\nAll of it.\n",
    "debug.md with our headings in a code block, a quote and a comment": lambda text: text.replace("Nothing yet.", WORDS),
    "debug.md with 1 MB more": lambda text: text.replace("Nothing yet.", WORDS + "\n\n" + ("words " * 5000 + "\n\n") * 34 + "End."),
}


@pytest.mark.parametrize("what", DOCUMENTS)
def test_what_a_person_wrote_into_a_strange_debug_md_stays(project, what):
    document = project.case() / "debug.md"
    text = DOCUMENTS[what](document.read_text("utf-8"))
    document.write_bytes(text.encode())
    for words in ("equal windows", "equal windows, all of them"):
        done = project.bitten("expect", words)
        assert done.returncode == 0, done.stderr
    new = document.read_bytes().decode().replace("\r\n", "\n")
    written = text.replace("\r\n", "\n").split(TRIED)[1].split("\n## Config and data")[0].rstrip("\n")
    assert written in new and "equal windows, all of them" in new
    assert ("All of it." in new) is ("twice" in what)
    hold(Row(SECTION, what, "the person's words stay, ours are drawn around them", "", done.returncode))


def test_bytes_in_debug_md_that_are_no_utf8_stay(project):
    document = project.case() / "debug.md"
    document.write_bytes(document.read_bytes().replace(b"Nothing yet.", b"Caf\xe9 closed."))
    done = project.bitten("expect", "equal windows")
    assert done.returncode == 0, done.stderr
    assert b"Caf\xe9 closed." in document.read_bytes()
    hold(Row(SECTION, "debug.md in Latin-1", "the person's words stay, ours are drawn around them", "", done.returncode))


def test_debug_md_may_be_a_link(project):
    document, notes = project.case() / "debug.md", project.root.parent / "notes.md"
    document.rename(notes)
    document.symlink_to(notes)
    done = project.bitten("expect", "equal windows")
    assert done.returncode == 0 and document.is_symlink() and "equal windows" in notes.read_text("utf-8"), done.stderr
    hold(Row(SECTION, "debug.md is a link", "the link stays, its file is drawn anew", "", done.returncode))


@pytest.mark.parametrize(("what", "make", "why"), [
    ("debug.md is write-protected", _protected, "is write-protected"), ("debug.md is a folder", _folder, "is a folder"),
])
def test_a_debug_md_that_can_not_be_drawn_loses_no_step(project, what, make, why):
    make(project.case() / "debug.md")
    done = project.bitten("expect", "equal windows", program=OBEYING)
    assert done.returncode == 0 and "debug.md is not drawn anew" in done.stderr and why in done.stderr, done.stderr
    assert "equal windows" in (project.case() / "events.jsonl").read_text("utf-8")
    hold(Row(SECTION, what, "it stays as it is, and no step is lost", f"debug.md is not drawn anew: … {why}.", done.returncode))
