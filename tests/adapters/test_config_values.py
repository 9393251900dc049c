# ruff: noqa: E501 - a small file, or a story of records, is easier read unbroken
"""The values of configs, whatever form they have, and none of their secrets."""

from __future__ import annotations

import pytest
from tests.adapters.project import write

from bitten.adapters.redact import redact
from bitten.adapters.surroundings.config_values import VALUES, load, resolved
from bitten.core.failure import FileSeen

FORMS = {
    "conf.yaml": "lr: 0.1\nmodel:\n  dim: 64\n  layers: [1, 2]\n",
    "conf.json": '{"lr": 0.1, "model": {"dim": 64, "layers": [1, 2]}}',
    "conf.toml": "lr = 0.1\n[model]\ndim = 64\nlayers = [1, 2]\n",
}


def of(root, *names, role="config"):
    return resolved([FileSeen(name, role) for name in names], root, redact)


@pytest.mark.parametrize("name", FORMS)
def test_each_form_gives_the_same_values_by_dotted_name(tmp_path, name):
    write(tmp_path, FORMS)
    (found,) = of(tmp_path, name)
    assert (found.source, found.values) == (name, {"lr": "0.1", "model.dim": "64", "model.layers": "[1, 2]"})


def test_sections_of_an_ini_and_bare_pairs_are_read_as_text(tmp_path):
    write(tmp_path, {"a.ini": "[train]\nLR = 0.1\n", "b.gin": "train.lr = 0.1\n# a comment\nmodel = @Net()\n"})
    assert [dict(each.values) for each in of(tmp_path, "a.ini", "b.gin")] == [
        {"train.LR": "'0.1'"}, {"train.lr": "'0.1'", "model": "'@Net()'"}]


def test_a_number_that_yaml_takes_for_text_shows(tmp_path):
    write(tmp_path, {"conf.yaml": "lr: 1e-3\nwd: 1.0e-3\n"})
    assert of(tmp_path, "conf.yaml")[0].values == {"lr": "'1e-3'", "wd": "0.001"}


def test_a_tag_of_the_programs_own_runs_nothing_and_hides_nothing(tmp_path):
    write(tmp_path, {"conf.yaml": "net: !Net {dim: 4}\nfile: !!python/object/apply:os.system ['touch ran']\n"})
    assert of(tmp_path, "conf.yaml")[0].values == {"net.dim": "4", "file": "['touch ran']"}
    assert not (tmp_path / "ran").exists()


def test_secrets_are_masked_by_name_and_by_shape(tmp_path):
    key = "hf_" + "a1B2" * 8
    write(tmp_path, {"conf.yaml": f"db:\n  password: hunter2hunter\nhub: {key}\nn_tokens: 512\ntoken: abcd1234efgh5678\nurls: ['https://ana:pa55word@host/x']\n"})
    told = str(of(tmp_path, "conf.yaml"))
    assert "hunter2hunter" not in told and key not in told and "pa55word" not in told and "abcd1234" not in told and "'n_tokens': '512'" in told


def test_an_env_file_is_not_opened(tmp_path):
    write(tmp_path, {".env": "KEY=1\n", "prod.env": "KEY=1\n", ".env.local": "KEY=1\n"})
    assert of(tmp_path, ".env", "prod.env", ".env.local") == ()


def test_what_the_run_wrote_as_its_resolved_config_is_told_as_such(tmp_path):
    write(tmp_path, {"out/.hydra/config.yaml": "lr: 1\n", "out/metrics.json": '{"loss": 1}', "logs/hparams.yaml": "dim: 2\n"})
    found = of(tmp_path, "out/.hydra/config.yaml", "out/metrics.json", "logs/hparams.yaml", role="wrote")
    assert [(each.source, dict(each.values)) for each in found] == [
        ("out/.hydra/config.yaml (written by this run)", {"lr": "1"}), ("logs/hparams.yaml (written by this run)", {"dim": "2"})]


def test_a_long_config_is_cut_with_a_count_and_a_bomb_of_aliases_ends(tmp_path):
    bomb = "a0: &a0 {x: 1, y: 2}\n" + "".join(f"a{n}: &a{n} {{p: *a{n - 1}, q: *a{n - 1}}}\n" for n in range(1, 30))
    write(tmp_path, {"long.yaml": "".join(f"k{at}: {at}\n" for at in range(VALUES + 5)), "bomb.yaml": bomb})
    long, short = of(tmp_path, "long.yaml", "bomb.yaml")
    assert (len(long.values), long.left_out) == (VALUES, 5)
    assert len(short.values) == VALUES


def test_what_is_broken_missing_or_no_file_is_passed_over(tmp_path):
    write(tmp_path, {"bad.yaml": "a: [1\n", "bad.json": "{", "bad.toml": "=", "list.yaml": "- 1\n"})
    (tmp_path / "folder.yaml").mkdir()
    assert [each.source for each in of(tmp_path, "bad.yaml", "bad.json", "bad.toml", "gone.yaml", "folder.yaml", "list.yaml")] == ["list.yaml"]
    assert load(tmp_path / "bad.json") is None
