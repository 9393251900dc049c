"""How a run in a copy is kept from telling the world: settings that trackers and hubs themselves offer. Knows no network."""

from __future__ import annotations

from collections.abc import Mapping

_ALWAYS = {
    "DO_NOT_TRACK": "1",
    "HF_HUB_OFFLINE": "1",
    "NEPTUNE_MODE": "offline",
    "CLEARML_OFFLINE_MODE": "1",
    "COMET_START_ONLINE": "false",
}
_ALREADY_SILENT = ("disabled", "offline", "dryrun")


def offline(env: Mapping[str, str], tmp: str) -> dict[str, str]:
    """The variables to add to a program's environment. What is silent already stays as the person set it."""
    added = dict(_ALWAYS, COMET_OFFLINE_DIRECTORY=tmp)
    if env.get("WANDB_MODE") not in _ALREADY_SILENT:
        added["WANDB_MODE"] = "offline"
    if env.get("NEPTUNE_MODE") == "debug":
        del added["NEPTUNE_MODE"]
    if "://" in env.get("MLFLOW_TRACKING_URI", "") and not env["MLFLOW_TRACKING_URI"].startswith(("file:", "sqlite:")):
        added["MLFLOW_TRACKING_URI"] = f"file://{tmp}/mlruns"
    return added
