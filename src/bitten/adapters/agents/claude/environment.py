"""What of a person's environment the Claude CLI gets: how to be reached and how to pay, and nothing else. Knows no values.

A list of what may pass, since nobody can list what must not: secrets of trackers and hubs (WANDB_API_KEY, HF_TOKEN), what loads code into a
process (NODE_OPTIONS, LD_PRELOAD), what would export prompts to a collector (OTEL_*), what switches hooks off (CLAUDE_CODE_SIMPLE), and the
marks of an outer Claude Code session.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

NAMES = {
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR", "IS_SANDBOX",
    "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS",
    "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "API_TIMEOUT_MS", "MAX_THINKING_TOKENS", "CLOUD_ML_REGION",
    "CLAUDE_CONFIG_DIR", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_MAX_RETRIES", "CLAUDE_CODE_MAX_OUTPUT_TOKENS",
    "CLAUDE_CODE_DISABLE_EXPERIMENTAL_BETAS", "GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_CLOUD_PROJECT", "GCLOUD_PROJECT",
}
PREFIXES = ("LC_", "ANTHROPIC_", "CLAUDE_CODE_USE_", "CLAUDE_CODE_SKIP_", "CLAUDE_CODE_CLIENT_", "AWS_", "AZURE_", "VERTEX_REGION_")
PROXIES = {"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"}
OURS = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",  # else it calls the vendor's telemetry, whatever the base URL
    "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
    "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
    "CLAUDE_CODE_DISABLE_CLAUDE_MDS": "1",
    "CLAUDE_CODE_DISABLE_TERMINAL_TITLE": "1",
}
DEFAULTS = {"CLAUDE_CODE_MAX_RETRIES": "4"}
"""Ten are the CLI's own, which take minutes when nobody answers; four take about eight seconds."""

THE_SDK_SETS = {"PWD", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_AGENT_SDK_VERSION", "CLAUDE_CODE_SDK_READS_SESSION_STATE"}


def passing(env: Mapping[str, str]) -> dict[str, str]:
    """What of `env` goes to the CLI, with what we add."""
    return {**DEFAULTS, **{name: value for name, value in env.items() if _may(name)}, **OURS}


def dropped(own: Iterable[str], kept: Collection[str]) -> list[str]:
    """Names of our own environment that the CLI must not inherit."""
    return sorted(name for name in own if name not in kept and name not in THE_SDK_SETS)


def _may(name: str) -> bool:
    return name in NAMES or name.upper() in PROXIES or name.startswith(PREFIXES)
