"""What went wrong between the Claude CLI and its model, said as an Unable with a way out. Knows the CLI's own words for it."""

from __future__ import annotations

from claude_agent_sdk import CLINotFoundError, ResultMessage

from bitten.core.trouble import Unable

AGAIN = "run the command again; what was proposed so far is kept"
LOG_IN = "set ANTHROPIC_API_KEY, or log in with `claude` and its /login"
SHOW = "bitten prompt shows what was asked"
LINE = "look at your network, your proxy and ANTHROPIC_BASE_URL"


def of_answer(told: ResultMessage, wait: float | None) -> Unable:
    """`wait` are the seconds that the server last asked us to wait, if it did. A failed call is reported as a success with `is_error`."""
    said = (told.result or " ".join(told.errors or ()) or told.subtype)[:300]
    return _by_status(told.api_error_status, said, wait) if told.api_error_status else _by_words(told.subtype, said)


def _by_status(status: int, said: str, wait: float | None) -> Unable:
    if status in (401, 403):
        return Unable("agent-not-logged-in", "Your key or login was not accepted.", said, LOG_IN)
    if status == 429:
        after = f"wait {wait:.0f} s, then " if wait else ""
        return Unable("agent-rate-limited", "The limit of your key or plan is reached.", said, f"{after}{AGAIN}")
    if status >= 500:
        return Unable("agent-overloaded", f"The model's servers answer with {status}.", said, AGAIN)
    return Unable("agent-refused", f"The request was refused with {status}.", said, SHOW)


def _by_words(subtype: str, said: str) -> Unable:
    if "/login" in said:
        return Unable("agent-no-key", "Claude has no key and no login.", said, LOG_IN)
    if "timed out" in said:
        return Unable("agent-timeout", "The model did not answer in time.", said, AGAIN)
    if "too long" in said:
        return Unable("agent-refused", "The prompt is longer than the model takes.", said, SHOW)
    if "malformed" in said or subtype == "error_during_execution":
        return Unable("agent-broken-answer", "What came back is no answer of a Messages API.", said, LINE)
    return Unable("agent-unreachable", "The model could not be reached.", said, LINE)


def of_error(error: Exception, stderr: str) -> Unable:
    """The CLI did not start, or ended amid its work."""
    if "on_failure" in str(error):
        return Unable("agent-too-old", "This Claude CLI lets a call through when the hook that guards it fails.", way="claude update")
    if isinstance(error, CLINotFoundError) or "Failed to start" in str(error):
        return Unable("agent-no-cli", f"The Claude CLI does not start: {error}", way="set TMPDIR to a folder that programs may run from")
    return Unable("agent-stopped", "The Claude CLI ended amid its work.", f"{str(error)[:200]} {stderr[-600:]}".strip(), AGAIN)
