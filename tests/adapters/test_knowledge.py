import subprocess
import sys
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from tests.nouns import failure

from bitten.adapters import knowledge
from bitten.adapters.knowledge import OURS, Playbooks
from bitten.core.failure import Crash, Sighting, Surroundings
from bitten.core.prediction import parse

STACK = Crash("RuntimeError", "stack expects each tensor to be equal size, but got [4, 3] at entry 0 and [3, 3] at entry 1")
ITEMS = {"items.last_short_by": 1, "items.unread_rows": 1, "items.varying": 0, "items.layouts": 1}


def stacked(*sightings, **around):
    return replace(failure(), crashes=(STACK,), sightings=sightings, surroundings=Surroundings(**around))


def written(folder, name, body):
    home = folder / name
    home.mkdir(parents=True)
    (home / "playbook.py").write_text("from bitten.playbook import playbook, suspect\n" + body, "utf-8")
    return home


GOOD = """
@playbook("late-bird", wakes_on="stack expects")
def late(seen):
    yield suspect("it came late", because="of the hour", supports_if="hour >= 9", refutes_if="hour < 9")
"""


def test_the_suspects_of_a_measured_crash_come_by_likelihood_with_the_generic_ones_last():
    seen = Sighting("unequal_items", "src/data.py:Loader.__iter__", ITEMS, finding=True)
    suspects = Playbooks().suspects(stacked(seen, changed=("src/data.py", "a.yaml"), head="c0ffee"))
    assert [(h.kind, h.likelihood.value, h.generic) for h in suspects[:3]] == [
        ("shape/collate", "likely", False), ("shape/collate", "unlikely", False), ("shape/collate", "unlikely", False)]
    assert suspects[0].claim == "Loader.__iter__ slices its source 1 row short of its end, so that the last window lacks 1 row"
    assert suspects[0].scope == ("src/data.py:Loader.__iter__",)
    assert [h.generic for h in suspects[3:]] == [True, True, True]


def test_any_failure_meets_generic_suspects_with_real_checks():
    suspects = Playbooks().suspects(replace(failure(), crashes=(), surroundings=Surroundings(changed=("a.py", "b.py"), head="c0ffee")))
    changed, data, around = suspects
    assert all(h.generic for h in suspects)
    assert changed.check.change.tree == "HEAD" and changed.scope == ("a.py", "b.py") and changed.likelihood.value == "possible"
    assert changed.check.supports_if == parse("symptom.depends == true") and changed.check.refutes_if == parse("symptom.depends == false")
    assert data.check.probes == ("broken_inputs",)
    assert around.check.change.bare


def test_with_nothing_uncommitted_the_last_commit_is_suspected_and_without_a_repository_nothing():
    committed = Playbooks().suspects(replace(failure(), crashes=(), surroundings=Surroundings(head="c0ffee", parent="beef")))
    assert "HEAD~1" in [h.check.change.tree for h in committed if h.check.change]
    assert all(not h.check.change.tree for h in Playbooks().suspects(replace(failure(), crashes=())) if h.check.change)


def test_a_message_of_nan_makes_the_data_more_than_a_generic_suspect():
    suspects = Playbooks().suspects(replace(failure(), crashes=(Crash("ValueError", "loss is nan at step 3"),)))
    assert (suspects[0].check.probes, suspects[0].generic, suspects[0].likelihood.value) == (("broken_inputs",), False, "possible")


def test_a_number_that_came_out_as_none_does_too():
    missed = replace(failure(), crashes=(), facts={"rmse": "nan"}, expected=(parse("rmse < 1.0"),))
    assert not Playbooks().suspects(missed)[0].generic


def test_every_probe_has_a_path_for_the_guest():
    assert {path.parent.name for path in Playbooks().probe_paths()} == {path.parent.name for path in OURS.glob("*/probe.py")}


def test_our_own_playbooks_have_no_troubles():
    playbooks = Playbooks()
    names = {each.name for each in playbooks.playbooks}
    assert names >= {"unequal-items", "labels-out-of-range", "features-misfit", "broken-inputs", "generic"}
    assert playbooks.troubles() == ()


def test_a_folder_of_the_projects_own_is_added(tmp_path):
    written(tmp_path, "late_bird", GOOD)
    claims = [h.claim for h in Playbooks([tmp_path]).suspects(stacked())]
    assert "it came late" in claims


@pytest.mark.parametrize(("body", "why"), [
    ("import no_such_library", "ModuleNotFoundError"),
    ("syntax error", "SyntaxError"),
    ("", "should define one playbook"),
    (GOOD.replace("late-bird", "early-bird"), "should define one playbook, 'late-bird'"),
    (GOOD.replace(', refutes_if="hour < 9"', ""), "Nothing would refute"),
    (GOOD.replace("yield", "1 / 0; yield"), "ZeroDivisionError"),
])
def test_a_broken_playbook_is_named_and_skipped(tmp_path, body, why):
    written(tmp_path, "late_bird", body)
    playbooks = Playbooks([tmp_path])
    assert [h.kind for h in playbooks.suspects(stacked())][:1] == ["shape/collate"]
    (trouble,) = playbooks.troubles()
    assert trouble.startswith("playbook late") and why in trouble


def test_of_two_playbooks_with_one_name_ours_is_kept_and_the_other_named(tmp_path):
    written(tmp_path, "unequal_items", GOOD)
    playbooks = Playbooks([tmp_path])
    assert playbooks.folders["unequal_items"] == OURS / "unequal_items"
    assert str(tmp_path) in playbooks.troubles()[0]


def test_an_installed_package_brings_its_folders_and_a_broken_one_is_named(tmp_path, monkeypatch):
    (tmp_path / "their_playbooks").mkdir()
    (tmp_path / "their_playbooks" / "__init__.py").touch()
    written(tmp_path / "their_playbooks", "late_bird", GOOD)
    points = [EntryPoint("theirs", "their_playbooks", "bitten.playbooks"), EntryPoint("gone", "no_such_package", "bitten.playbooks")]
    monkeypatch.setattr(knowledge, "entry_points", lambda group: points)
    monkeypatch.syspath_prepend(tmp_path)
    playbooks = Playbooks()
    assert playbooks.folders["late_bird"].parent == tmp_path / "their_playbooks"
    assert [each.split(":")[0] for each in playbooks.troubles()] == ["playbook gone is skipped"]


def test_knowing_the_playbooks_imports_no_framework_and_no_probe():
    code = ("import sys; from bitten.adapters.knowledge import Playbooks; p = Playbooks(); p.troubles(); p.probe_paths()\n"
            "print([m for m in sys.modules if m.split('.')[0] in ('torch', 'numpy') or m.endswith('probe')])")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2])
    assert done.stdout.strip() == "[]"
