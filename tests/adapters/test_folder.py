import json
import subprocess
from multiprocessing import get_context
from pathlib import Path

import pytest

from bitten.adapters.folder import CaseFolder, Cases, FolderRoom, as_bytes, lay, slug
from bitten.core.failure import Command, Run, Sighting
from bitten.core.ports import EvidenceRoom, Observed
from bitten.core.trouble import BadInput


def redact(text: str) -> str:
    return text.replace("hunter2", "<redacted>").replace("token=abc", "token=<redacted>")


def cases(root: Path) -> Cases:
    return Cases(root, redact)


def observed(**more) -> Observed:
    return Observed(Run(Command(("make",), "/p"), 1, 1.0), **{"facts": {"exit": 1}, **more})


@pytest.mark.parametrize(("message", "name"), [
    ("stack expects each tensor to be equal size, but got [128, 768]", "stack-expects-each-tensor"),
    ("Target 10 is out of bounds.", "target-is-out-of-bounds"),
    ("can't open '../../etc/passwd'", "cant-open-etc-passwd"),
    ("Größe falsch", "groe-falsch"),
    ("形状が違う", "failure"),
    ("", "failure"),
])
def test_a_slug_is_at_most_five_plain_words(message, name):
    assert slug(message) == name


def test_the_first_case_makes_a_folder_that_git_ignores(tmp_path):
    case = cases(tmp_path).create("Stack hunter2 expects")
    assert case.path == tmp_path / ".bitten" / "1-stack-redacted-expects"
    assert case.capture.is_dir() and case.evidence.is_dir()
    assert (tmp_path / ".bitten" / ".gitignore").read_text() == "*\n"
    assert (tmp_path / ".bitten").stat().st_mode & 0o777 == 0o700


def test_nothing_is_made_by_looking(tmp_path):
    assert cases(tmp_path).all() == []
    assert cases(tmp_path).current() is None
    assert list(tmp_path.iterdir()) == []


def test_cases_are_found_by_number_and_one_is_current(tmp_path):
    room = cases(tmp_path)
    first, second = room.create("one"), room.create("two")
    (tmp_path / ".bitten" / "10-ten").mkdir()
    assert [case.number for case in room.all()] == [1, 2, 10]
    assert room.create("next").number == 11
    assert room.find(2) == second
    room.switch(first)
    assert cases(tmp_path).current() == first
    with pytest.raises(BadInput) as trouble:
        room.find(5)
    assert trouble.value.slug == "no-such-case"


def test_a_current_case_that_is_gone_is_none(tmp_path):
    room = cases(tmp_path)
    room.create("one")
    room.switch(CaseFolder(tmp_path / ".bitten" / "9-gone"))
    assert room.current() is None


def _create_some(root: Path) -> None:
    for n in range(5):
        cases(root).create(f"words {'abcde'[n]}")


def test_two_commands_at_once_get_different_numbers(tmp_path):
    both = [get_context("fork").Process(target=_create_some, args=(tmp_path,)) for _ in range(2)]
    for process in both:
        process.start()
    for process in both:
        process.join()
    assert [case.number for case in cases(tmp_path).all()] == list(range(1, 11))


def test_evidence_is_kept_redacted_each_run_in_a_folder_of_its_own(tmp_path):
    case = cases(tmp_path).create("one")
    room: EvidenceRoom = FolderRoom(case.evidence, case.path, redact)
    seen = observed(output="the hunter2 \udce9 \ud800", facts={"exit": 1, "stdout": "the", "hunter2": ["hunter2", 2], "token": "abc"},
                    sightings=(Sighting("rows", "collate", {"rows": 127}),))
    assert room.keep("h1", seen, {"probe.py": "print('hunter2')", "../x": "y"}) == "evidence/h1-1"
    assert room.keep("h1", observed()) == "evidence/h1-2"
    folder = case.path / "evidence/h1-1"
    assert sorted(path.name for path in folder.iterdir()) == ["facts.json", "output", "probe.py", "recording.json", "x"]
    assert (folder / "output").read_bytes() == b"the <redacted> \\udce9 \\ud800"
    assert json.loads((folder / "facts.json").read_text()) == {"exit": 1, "<redacted>": ["<redacted>", 2], "token": "<redacted>"}
    assert json.loads((folder / "recording.json").read_text())[0]["facts"] == {"rows": 127}
    assert b"hunter2" not in b"".join(path.read_bytes() for path in folder.iterdir())


def test_run_sh_runs_the_command_where_and_as_it_was(tmp_path):
    case = cases(tmp_path).create("one")
    place = tmp_path / "a 'b"
    place.mkdir()
    case.write_run_sh(Command(("sh", "-c", 'pwd; echo "$1|$X"', "-", "it's $HOME"), str(place), {"X": "a b", "BASH_FUNC%%": "no"}), redact)
    done = subprocess.run([case.path / "run.sh"], capture_output=True, text=True, check=True)
    assert done.stdout == f"{place}\nit's $HOME|a b\n"


def test_run_sh_says_which_secret_it_left_out(tmp_path):
    case = cases(tmp_path).create("one")
    case.write_run_sh(Command(("train", "--key", "hunter2"), str(tmp_path), {"token": "abc"}), redact)
    text = (case.path / "run.sh").read_text()
    assert "hunter2" not in text and "abc" not in text
    assert "# token was set to a secret" in text and "# A secret was taken out" in text


def test_names_that_are_no_utf8_are_written_as_they_were():
    assert as_bytes("caf\udce9") == b"caf\xe9"


def test_the_folder_can_be_laid_twice(tmp_path):
    assert lay(tmp_path) == lay(tmp_path) == tmp_path / ".bitten"
