"""Every playbook proves itself: its own programs, run as children with the guest, must bear out what it says."""
import ast
from pathlib import Path

import pytest

from bitten.adapters.knowledge import OURS, Playbooks
from bitten.testing import prove

FOLDERS = Playbooks().folders


@pytest.mark.parametrize("name", FOLDERS)
def test_a_playbook_proves_itself(name):
    proofs = prove(FOLDERS[name])
    assert [str(proof) for proof in proofs if not proof.holds] == []
    assert [proof.program for proof in proofs] == ["README.md", "bites_1.py", "bites_2.py", "lookalike.py", "cured.py"]


@pytest.mark.parametrize("probe", sorted(OURS.glob("*/probe.py")), ids=lambda path: path.parent.name)
def test_a_probe_is_python_3_8_and_imports_only_the_standard_library(probe):
    tree = ast.parse(probe.read_text("utf-8"), feature_version=(3, 8))
    imported = {node.module if isinstance(node, ast.ImportFrom) else name.name
                for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom)) for name in node.names}
    known = {"__future__", "collections", "contextlib", "itertools", "os", "sys", "time", "types", "typing"}
    assert {each.split(".")[0] for each in imported} <= known


def test_a_playbook_that_is_always_right_is_found_out(tmp_path):
    """Its suspect is supported by any failure, so its look-alike supports it too."""
    folder = tmp_path / "yes_man"
    folder.mkdir()
    programs = {
        "playbook.py": "from bitten.playbook import playbook, suspect\n@playbook('yes-man', wakes_on='Error')\ndef yes(seen):\n"
                       "    yield suspect('it failed', because='it did', supports_if='exit == 1', refutes_if='exit == 0')\n",
        "probe.py": "SEAMS = ()\ndef read(call, frames):\n    return None\n",
        "bites_1.py": "raise KeyError(1)\n", "bites_2.py": "{}[2]\n", "lookalike.py": "int('x')\n", "cured.py": "pass\n",
        "README.md": "# Yes man\n\n## What it looks like\n",
    }
    for program, text in programs.items():
        Path(folder / program).write_text(text, "utf-8")
    proofs = {proof.program: proof for proof in prove(folder)}
    assert proofs["bites_1.py"].holds and proofs["bites_2.py"].holds
    assert proofs["lookalike.py"].got == "supports" and "wanted refutes, got supports" in str(proofs["lookalike.py"])
    assert proofs["cured.py"].got == "unclear"
    assert not proofs["README.md"].holds
