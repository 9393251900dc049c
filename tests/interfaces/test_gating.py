"""Whether agents' gates were seen alive is said wherever a case is shown, and nowhere where no agent took part."""

from __future__ import annotations

import json

from tests import nouns
from tests.stories import captured, windows_project

from bitten.core import gating
from bitten.core.case import Guard
from bitten.core.ladder import advance
from bitten.interfaces import document, text
from bitten.interfaces.claude_code.acting import acted_since
from bitten.steps import close

ALIVE, SILENT = Guard("claude-code plugin", "s-1", True), Guard("claude-code plugin", "s-2", False)
GATED = "gated: every agent session on this case was seen to pass the gate"


def case_with(*guards):
    case = advance(None, nouns.failure())
    for each in guards:
        case = advance(case, each)
    return case


def remembered(project, session, **told):
    """What the hooks leave of a session, as notes of the shared contract have it."""
    folder = project.home / "state" / "bitten" / "claude"
    folder.mkdir(mode=0o700, exist_ok=True)
    kept = {"session": session, "root": str(project.root), "nonce": "ab", "alive": False, "began": 4e9, **told}
    (folder / f"{session}.json").write_text(json.dumps(kept), "utf-8")


def test_without_an_agent_nothing_is_said():
    case = case_with()
    assert gating.words(case) == "" and gating.plain(case) == {}
    assert "gate" not in text.whole(case, 1, "debug.md", 60) + document.draw(case, 0) + text.standing(case)


def test_a_case_is_gated_when_each_session_was_seen_and_advisory_when_one_was_not():
    assert gating.words(case_with(ALIVE)) == GATED
    words = gating.words(case_with(ALIVE, SILENT))
    assert words.startswith("advisory:") and "s-2" in words and "bitten doctor" in words
    assert gating.words(case_with(SILENT, Guard("claude-code plugin", "s-2", True))) == GATED


def test_it_is_said_on_the_screen_in_the_list_and_in_debug_md():
    case = case_with(SILENT)
    for shown in (text.whole(case, 1, "debug.md", 60), text.below(case, 1, "debug.md", 60), document.draw(case, 0)):
        assert "advisory: no gate was seen to answer for session s-2" in shown
    assert text.standing(case) == "captured, advisory"


def test_it_goes_with_the_proof_and_the_note_for_the_team():
    case, proof = case_with(ALIVE), nouns.verification()
    chain = (nouns.hypothesis(), nouns.evidence(), nouns.confirmation(), nouns.fix(), proof)
    for each in chain:
        case = advance(case, each)
    assert json.loads(document.receipt(case, proof))["gating"] == "gated"
    assert close.note(case, "c0ffee").splitlines()[-1] == f"Agents: {GATED}."


def test_a_name_that_an_agent_gave_itself_steers_no_terminal():
    assert "\x1b" not in gating.words(case_with(Guard("mcp \x1b[2Jx", "s", False)))


def test_a_session_that_passed_the_gate_makes_the_case_gated_at_the_next_command(tmp_path):
    project = captured(windows_project(tmp_path, git=False))
    remembered(project, "seen", alive=True)
    remembered(project, "idle")
    remembered(project, "elsewhere", alive=True, root="/elsewhere")
    remembered(project, "before", alive=True, began=1.0)
    assert "gating" not in project.show()
    assert project.bitten("expect", "eight", "rows").returncode == 0
    assert project.show()["sessions"] == [{"by": "claude-code plugin", "session": "seen", "alive": True}]
    assert GATED in project.bitten().stdout and GATED in (project.case() / "debug.md").read_text("utf-8")
    assert "suspected, gated" in project.bitten("cases").stdout


def transcript(place, *lines):
    file = place / "transcript.jsonl"
    file.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return str(file)


def test_a_session_has_acted_once_its_transcript_shows_a_tool_call_of_its_own_time(tmp_path):
    said = '{"type": "assistant", "timestamp": "2026-12-01T09:39:46.823Z", "message": {"content": [{"type": "text"}]}}'
    call = said.replace('"text"', '"tool_use"')
    at = 1796117986.823
    assert not acted_since(transcript(tmp_path, said), at - 60)
    assert acted_since(transcript(tmp_path, call, said), at - 60)
    assert not acted_since(transcript(tmp_path, call, said), at + 60), "it was resumed since, and only talked"


def test_a_transcript_that_tells_nothing_counts_against_the_gate(tmp_path):
    assert acted_since(str(tmp_path / "gone"), 0) and acted_since(transcript(tmp_path, '{"type": "tool_use"}'), 0)


def test_what_changed_past_the_gate_is_told_once_and_stays_in_the_case(tmp_path):
    project = captured(windows_project(tmp_path, git=False))
    remembered(project, "s-1", alive=True, began=1.0)  # and so before the case was opened, as most sessions do
    remembered(project, "spoilt", alive=True, began="yesterday", alive_at=[])
    lines = ({"at": 5e9, "tool": "Bash", "paths": ["other.py", "x\n- y.py"]}, {"at": 1.0, "tool": "Bash", "paths": ["before.py"]}, "torn",
             {"at": 1e300, "paths": []}, {"at": float("nan"), "paths": []})
    notes = project.home / "state" / "bitten" / "claude" / "s-1.noted.jsonl"
    notes.write_text("\n".join(map(json.dumps, lines)) + "\n{", "utf-8")
    told = project.bitten("expect", "eight", "rows")
    assert told.returncode == 0 and "changed without leave: other.py, x?- y.py, by Bash at " in told.stderr
    assert "changed without leave" not in project.bitten("expect", "nine", "rows").stderr
    drawn = (project.case() / "debug.md").read_text("utf-8")
    assert drawn.count("- changed without leave, during an agent's call: other.py") == 1 and "before.py" not in drawn
