"""Trackers and hubs are asked not to call out."""

from __future__ import annotations

from bitten.adapters.sandbox.offline import offline


def test_trackers_and_hubs_are_offline() -> None:
    added = offline({}, "/tmp/x")
    assert added["WANDB_MODE"] == "offline"
    assert added["HF_HUB_OFFLINE"] == added["DO_NOT_TRACK"] == added["CLEARML_OFFLINE_MODE"] == "1"
    assert added["NEPTUNE_MODE"] == "offline"


def test_what_is_silent_already_stays_as_the_person_set_it() -> None:
    assert "WANDB_MODE" not in offline({"WANDB_MODE": "disabled"}, "/tmp/x")


def test_a_remote_mlflow_becomes_a_local_folder_and_a_local_one_stays() -> None:
    assert offline({"MLFLOW_TRACKING_URI": "https://mlflow.example.org"}, "/tmp/x")["MLFLOW_TRACKING_URI"] == "file:///tmp/x/mlruns"
    for local in ("", "./mlruns", "file:///data/mlruns", "sqlite:///mlflow.db"):
        assert "MLFLOW_TRACKING_URI" not in offline({"MLFLOW_TRACKING_URI": local}, "/tmp/x")
