"""The tools as an agent is shown them: name, what each does, the form of its arguments. There is none to confirm. Does none of them.

Nothing here but `core.proposal` is imported: the table is told before anything of ours that takes time is needed.
"""

from __future__ import annotations

from typing import Any

from bitten.core.proposal import SCHEMA

INSTRUCTIONS = (
    "bitten holds a failing command as a case. The order of work: case, propose_hypotheses, run_check, read_evidence. Then a person "
    "reads the evidence and confirms the cause; you can't. Change no code before that. After it, change only what the scope names, "
    "add the test it names, refactor nothing else, then verify. A refusal says what to do instead."
)
_HYPOTHESIS = {"type": "string", "minLength": 1, "maxLength": 12, "description": "As h1."}
_OFFSET = {"type": "integer", "minimum": 0, "description": "Where to go on reading: the `next` of the page before."}


def _tool(name: str, title: str, description: str, properties: dict[str, Any], required: tuple[str, ...] = (), *, reads: bool = True,
          again: bool = True) -> dict[str, Any]:
    """`reads`: it changes nothing. `again`: done twice it is as done once. None of them destroys, or reaches out of this machine."""
    schema = {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}
    hints = {"title": title, "readOnlyHint": reads, "destructiveHint": False, "idempotentHint": again, "openWorldHint": False}
    return {"name": name, "title": title, "description": description, "inputSchema": schema, "annotations": hints}


TOOLS: tuple[dict[str, Any], ...] = (
    _tool("case", "Where the case stands",
          "The failure, each hypothesis with its verdict, the agreed scope, whether a gate is proven alive, and the one next thing to do "
          "with the reason. Call it first, and again whenever you are not sure.", {}),
    _tool("read_evidence", "Read the evidence for a hypothesis",
          "What was measured for a hypothesis: predictions, facts, verdict, and a page of the raw output, secrets masked. "
          "Without `hypothesis`: the output of the failing run.",
          {"hypothesis": _HYPOTHESIS, "offset": _OFFSET}),
    _tool("propose_hypotheses", "Propose hypotheses",
          "Two or three ranked causes, no fixes, each with a minimal check and the predictions that would support and refute it. "
          "Whoever measures decides: bitten runs the check, you do not. A proposal that can't be used comes back with what to mend.",
          {}, reads=False, again=False) | {"inputSchema": SCHEMA},
    _tool("run_check", "Run a check",
          "Runs the checks of these hypotheses (all open ones without `hypotheses`) in a throw-away copy, exactly as they were proposed, "
          "and returns facts and verdicts. A check that would cost is refused, with what a person types to start it.",
          {"hypotheses": {"type": "array", "maxItems": 9, "items": _HYPOTHESIS}}, reads=False, again=False),
    _tool("propose_scope", "Propose the scope of the fix",
          "What the fix for a hypothesis should be allowed to touch. It is shown to the person who confirms, as a proposal; it allows "
          "nothing.",
          {"hypothesis": _HYPOTHESIS,
           "parts": {"type": "array", "minItems": 1, "maxItems": 4, "items": {"type": "string", "minLength": 1, "maxLength": 300},
                     "description": "FILE or FILE:FUNCTION, paths from the project's root; as little as the cause needs."},
           "test": {"type": "string", "minLength": 1, "maxLength": 300, "description": "The file that the fix's test is added to."}},
          ("hypothesis", "parts", "test"), reads=False),
    _tool("verify", "Prove the fix",
          "Runs the new test on the base, where it must fail, and on the fix, the original command, and the confirming check; all in "
          "throw-away copies. Returns the proof, or which gate stayed shut and why.", {}, reads=False, again=False),
    _tool("recall", "Things that have bitten us",
          "The project's lessons from earlier cases.", {"offset": _OFFSET}),
    _tool("draft_lesson", "Draft the lesson",
          "The entry for \"Things that have bitten us\", drafted from the proven case. It is not written: a person edits and accepts it.",
          {}),
)
BY_NAME = {tool["name"]: tool for tool in TOOLS}


def changes(name: str) -> bool:
    """Whether it may add to the case: such calls are done one after the other."""
    return not BY_NAME[name]["annotations"]["readOnlyHint"]
