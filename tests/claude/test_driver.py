"""The Claude driver: the real CLI in a session of ours, played by a script. What is longer is in tests/long/claude."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.claude.driving import FIRST, PROPOSAL, PROPOSE, Ear, ask, bodies, brief
from tests.claude.stage import staged

FILES = {"data.py": "ROWS = 127\n", "other.py": "a = 1\n"}
READ = {"text": "Reading.", "tool": "Read", "input": {"file_path": "data.py"}}


def test_a_session_reads_proposes_and_tells_its_words(tmp_path):
    proposing = {"tool": PROPOSE, "input": PROPOSAL}
    with staged(tmp_path, FILES, [READ, proposing, {"text": "It is the last window."}]) as stage:
        ear = Ear()
        answer = ask(stage, ear, brief(stage, prompt="/compact\nLook at @other.py"))
        assert (answer.ended, answer.said, answer.denied, answer.gated) == ("done", "It is the last window.", (), True)
        assert ear.proposals == [PROPOSAL] and "".join(ear.words) == "Reading.\nIt is the last window.\n"
        assert [each.turns for each in ear.spendings][-1] == answer.spent.turns == 3 and answer.spent.dollars > 0
        first, read, proposed = stage.api.turns
        assert "/compact\nLook at @other.py" in first.told and "a = 1" not in first.told
        assert "ROWS = 127" in read.last_result and "kept 2 hypotheses" in proposed.last_result
        assert set(first.tools) - {"DeferredToolPlaceholder"} == {"Read", "Grep", "Glob", PROPOSE}
        assert stage.api.strangers == [] and stage.project.git("status", "--porcelain") == ""


def test_a_proposal_that_is_sent_back_is_told_why_and_may_come_again(tmp_path):
    bare = {"hypotheses": [{name: value for name, value in FIRST.items() if name != "refutes_if"}, FIRST]}
    steps = [{"tool": PROPOSE, "input": each} for each in (bare, PROPOSAL, PROPOSAL)]
    with staged(tmp_path, FILES, [*steps, {"text": "So be it."}]) as stage:
        ear = Ear(refusing=1)
        assert ask(stage, ear).ended == "done"
        results = [each.last_result for each in stage.api.turns[1:]]
        assert "refutes_if" in results[0] and len(ear.proposals) == 2, "the form is checked before anybody is asked"
        assert "h1 can't be refuted. Nothing would show it wrong. name a value for refutes_if" in results[1]
        assert "kept 2 hypotheses" in results[2]


def test_a_fix_writes_what_it_may_and_nothing_else(tmp_path):
    fixes = [["Edit", {"file_path": "data.py", "old_string": "127", "new_string": "128"}],
             ["Write", {"file_path": "test_new.py", "content": "x"}], ["Write", {"file_path": "test_more.py", "content": "x"}],
             ["Edit", {"file_path": "linked.py", "old_string": "a", "new_string": "b"}]]
    reads = [["Read", {"file_path": each}] for each in ("data.py", "other.py", "../home/secret", f"\ufeff{tmp_path}/home/secret")]
    with staged(tmp_path, FILES, [{"tools": reads}, {"tools": fixes}, {"text": "Done."}]) as stage:
        (stage.project.home / "secret").write_text("nobody-reads-me")
        os.link(stage.project.root / "other.py", stage.project.root / "linked.py")
        answer = ask(stage, asked=brief(stage, "fix", may_write=("data.py", "linked.py", "test_new.py")))
        assert (stage.project.read("data.py"), stage.project.read("other.py")) == ("ROWS = 128\n", "a = 1\n")
        assert (stage.project.root / "test_new.py").exists() and not (stage.project.root / "test_more.py").exists()
        assert set(answer.denied) == {f"Read {stage.project.home / 'secret'}", "Write test_more.py", "Edit linked.py"} and answer.gated
        told = stage.api.turns[-1].last_result
        assert "test_more.py is not in the agreed scope; this session may write data.py, linked.py, test_new.py" in told
        assert PROPOSE not in stage.api.turns[0].tools and "nobody-reads-me" not in bodies(stage)


@pytest.mark.parametrize("words", [[], ["--help"], ["diagnose", "--help"], ["diagnose"]], ids=" ".join)
def test_nothing_of_an_agent_is_imported_unless_it_is_asked_for(words, tmp_path):
    look = "atexit.register(lambda: print('imported:', {'claude_agent_sdk', 'mcp', 'anyio'} & set(sys.modules)))"
    code = f"import sys, atexit\n{look}\nsys.argv = ['bitten', *{words!r}]\nfrom bitten.__main__ import main\nmain()"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert "imported: set()" in done.stdout, done.stdout + done.stderr
