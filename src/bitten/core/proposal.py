"""The form in which an agent proposes hypotheses, as a JSON schema. Imports nothing, so that a server which shows it starts at once."""

LOOK = (
    "How to look: 'captured' (facts captured already), 'probe:NAME,…', 'env:NAME=VALUE' (the command under another condition), "
    "'turn:lr=0.5' (a condition changed inside the program: lr, autocast, scaler, workers, seed, deterministic, compile, batch, overfit, "
    "skip, shuffle_labels, device, threads; predict changed.FACT, which is measured beside control.FACT), "
    "'tree:REVISION', 'bare' (almost no environment), 'patch' (put a unified diff that adds prints or assertions into `patch`), "
    "or a command of its own. A patch or a command gives facts as printed lines: bitten-fact NAME=JSON. "
    "bitten runs it in a throw-away copy; you do not."
)

HYPOTHESIS: dict[str, object] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["claim", "because", "likelihood", "look", "supports_if", "refutes_if", "scope"],
    "properties": {
        "claim": {"type": "string", "minLength": 8, "maxLength": 300, "description": "The root cause in one sentence. No fix."},
        "because": {"type": "string", "minLength": 8, "maxLength": 600, "description": "What in the failure or the source speaks for it."},
        "likelihood": {"enum": ["likely", "possible", "unlikely"]},
        "look": {"type": "string", "minLength": 1, "maxLength": 2000, "description": LOOK},
        "patch": {"type": "string", "maxLength": 20000, "description": "With look='patch': the unified diff, applied to the copy alone."},
        "supports_if": {"type": "string", "description": "A prediction that would support it, FACT OPERATOR VALUE, like: rows < 128"},
        "refutes_if": {"type": "string", "description": "A prediction that would refute it, on the same fact, like: rows == 128"},
        "scope": {"type": "array", "minItems": 1, "maxItems": 4, "items": {"type": "string"},
                  "description": "Where the cause would be mended: FILE or FILE:FUNCTION, paths from the project's root."},
        "looks_like": {"type": "array", "maxItems": 4, "items": {"type": "string"}, "description": "What else would look the same."},
    },
}

SCHEMA: dict[str, object] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["hypotheses"],
    "properties": {
        "hypotheses": {"type": "array", "minItems": 2, "maxItems": 3, "items": HYPOTHESIS, "description": "Ranked, the likeliest first."},
    },
}
