"""Text without its secrets. Knows the shapes and names that secrets have; imports `re` only where one may stand.

A secret is looked for where a literal of its family stands (`str.find` is some hundred times faster than an expression),
matched from there on, and each match is bounded: the time grows with the text, whatever the text is.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    Span = tuple[int, int, str]

ROUNDS = 8  # each round masks and leaves masks alone, so few texts need a third
_PLACEHOLDER = "‹[a-z0-9-]+:[0-9]+-[0-9]+›"
OPEN, CLOSE = "‹", "›"
"""A placeholder has no blank, quote or slash, so that it stays one word of a shell, a JSON text, a table and a wrapped line."""

# Literal, kind, and the expression that must match from the literal on; where it has a group, that alone is the secret.
# The literals are as they are written; only a name (below) is found in any letter case.
_SHAPES = (
    ("hf_", "hugging-face-token", r"hf_[A-Za-z0-9]{30,512}"),
    ("api_org_", "hugging-face-token", r"api_org_[A-Za-z0-9]{30,512}"),
    ("wandb_v1_", "wandb-key", r"wandb_v1_\w{20,512}"),
    ("wandb", "wandb-key", r"wandb[\w.:\s/-]{0,40}?\b(?:login|key|token)\b[^\n‹]{0,64}?(?<![0-9a-f])([0-9a-f]{40})"),
    ("sk-", "api-key", r"sk-(?:(?:ant|proj|or|svcacct|admin|lf)-[\w-]{20,512}|[A-Za-z0-9]{20,512})"),
    ("ghp_", "github-token", r"ghp_[A-Za-z0-9]{36,512}"),
    ("gho_", "github-token", r"gho_[A-Za-z0-9]{36,512}"),
    ("ghu_", "github-token", r"ghu_[A-Za-z0-9]{36,512}"),
    ("ghs_", "github-token", r"ghs_[A-Za-z0-9]{36,512}"),
    ("ghr_", "github-token", r"ghr_[A-Za-z0-9]{36,512}"),
    ("github_pat_", "github-token", r"github_pat_\w{50,512}"),
    ("glpat-", "gitlab-token", r"glpat-[\w.-]{20,512}"),
    ("glrt-", "gitlab-token", r"glrt-[\w.-]{20,512}"),
    ("gldt-", "gitlab-token", r"gldt-[\w.-]{20,512}"),
    ("npm_", "npm-token", r"npm_[A-Za-z0-9]{24,512}"),
    ("pypi-", "pypi-token", r"pypi-[\w-]{24,512}"),
    ("AKIA", "aws-key-id", r"AKIA[0-9A-Z]{16}"),
    ("ASIA", "aws-key-id", r"ASIA[0-9A-Z]{16}"),
    ("AIza", "google-key", r"AIza[\w-]{35}"),
    ("ya29.", "google-token", r"ya29\.[\w-]{20,512}"),
    ("GOCSPX-", "google-secret", r"GOCSPX-[\w-]{20,512}"),
    ("xox", "slack-token", r"xox[abeoprs]-[\w-]{10,512}"),
    ("xapp-", "slack-token", r"xapp-[\w-]{20,512}"),
    ("hooks.slack.com/", "slack-webhook", r"hooks\.slack\.com/(?:services|workflows|triggers)/([\w/-]{10,512})"),
    ("/api/webhooks/", "discord-webhook", r"/api/webhooks/(\d{5,512}/[\w-]{20,512})"),
    ("/webhookb2/", "teams-webhook", r"/webhookb2/([\w@/-]{30,512})"),
    ("/bot", "telegram-token", r"/bot(\d{6,512}:[\w-]{30,512})"),
    ("sk_live_", "stripe-key", r"sk_live_[A-Za-z0-9]{16,512}"),
    ("sk_test_", "stripe-key", r"sk_test_[A-Za-z0-9]{16,512}"),
    ("rk_live_", "stripe-key", r"rk_live_[A-Za-z0-9]{16,512}"),
    ("whsec_", "stripe-key", r"whsec_[A-Za-z0-9+/=]{20,512}"),
    ("SK", "twilio-key", r"SK[0-9a-f]{32}"),
    ("SG.", "sendgrid-key", r"SG\.[\w-]{16,512}\.[\w-]{16,512}"),
    ("dapi", "databricks-token", r"dapi[0-9a-f]{32}(?:-\d)?"),
    ("dop_v1_", "digitalocean-token", r"dop_v1_[0-9a-f]{40,512}"),
    ("shpat_", "shopify-token", r"shpat_[0-9A-Za-z]{24,512}"),
    ("dckr_pat_", "docker-token", r"dckr_pat_[\w-]{20,512}"),
    ("nvapi-", "nvidia-key", r"nvapi-[\w-]{30,512}"),
    ("r8_", "replicate-token", r"r8_[A-Za-z0-9]{30,512}"),
    ("gsk_", "groq-key", r"gsk_[A-Za-z0-9]{40,512}"),
    ("pcsk_", "pinecone-key", r"pcsk_\w{30,512}"),
    ("lsv2_", "langsmith-key", r"lsv2_[ps][tk]_[0-9a-f]{32}_[0-9a-f]{10}"),
    ("hvs.", "vault-token", r"hvs\.[\w-]{20,512}"),
    ("glsa_", "grafana-token", r"glsa_\w{30,512}"),
    ("AGE-SECRET-KEY-", "age-key", r"AGE-SECRET-KEY-1[0-9A-Z]{50,512}"),
    ("eyJhcGlfYWRkcmVzcy", "neptune-token", r"eyJhcGlfYWRkcmVzcy[\w+/=-]{20,4096}"),
    ("eyJ", "jwt", r"eyJ[\w-]{8,4096}\.[\w-]{8,4096}(?:\.[\w-]{0,4096}){1,3}"),
    ("-----BEGIN", "private-key",
     r"-----BEGIN[ A-Z0-9]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:(?:[^-]|-(?!----)){0,16384}-----END[ A-Z0-9]{0,40}PRIVATE KEY(?: BLOCK)?-----"
     r"|[A-Za-z0-9+/=\s\\]{0,16384})"),
    ("://", "url-credentials", r"://(?:([^\s\0/@:?#\"'<>‹›]{0,256}:[^\s\0/\"'<>‹›]{1,512})|([A-Za-z0-9_-]{16,512}))@"),
    ("earer ", "bearer-token", r"earer ([\w.~+/=-]{16,4096})"),
    ("asic ", "basic-auth", r"asic ((?=[A-Za-z+/]{0,200}[0-9=])[A-Za-z0-9+/]{16,512}={0,2})"),
    ("machine ", "password", r"machine\s{1,9}[^\s‹]{1,200}\s{1,9}login\s{1,9}[^\s‹]{1,200}\s{1,9}password\s{1,9}([^\s\0‹›]{8,512})"),
    ("curl ", "password", r"curl [^\n‹]{0,200}?(?:-u|--user)[ =]?['\"]?[^\s:'\"]{1,99}:([^\s\0'\"‹›]+)"),
    ('"username', "kaggle-key",
     r'"username\\{0,3}"\s{0,3}:\s{0,3}\\{0,3}"[^"\n‹]{0,99}"\s{0,3},\s{0,3}\\{0,3}"key\\{0,3}"\s{0,3}:\s{0,3}\\{0,3}"([0-9a-f]{32,512})'),
)  # fmt: skip
_ANYWHERE = ("://", "earer ", "asic ", "-----BEGIN", "/bot", "/api/webhooks/", "/webhookb2/", "hooks.slack.com/", '"username', "wandb",
             "curl ", "machine ")  # fmt: skip
"""Literals that may stand inside a word; the others must begin one, or follow another secret: `task-…` is no `sk-…`."""
_LITERALS = tuple(literal for literal, _, _ in _SHAPES)

# What a name may end in, as it is looked for; and what makes the whole word around it a secret's name, blanks and dashes dropped.
_NAME_PARTS = ("passw", "passphrase", "secret", "credential", "key", "token", "authorization", "cookie", "webhook", "signature", "pwd",
               "sig=", "connectionstring", "connection_string", "conn_str", "_dsn")  # fmt: skip
_SECRET = (
    ("password", ("passw", "passphrase", "pwd")),
    ("cookie", ("cookie",)),
    ("webhook", ("webhook",)),
    ("connection-string", ("connectionstring", "connstr", "dsn")),
    ("token", ("authtoken", "accesstoken", "refreshtoken", "bearertoken", "sessiontoken", "securitytoken", "apitoken", "trackingtoken")),
    ("key", ("apikey", "accesskey", "accountkey", "privatekey", "signingkey", "encryptionkey", "subscriptionkey", "amzsignature")),
    ("secret", ("secret", "credential", "authorization")),
)  # fmt: skip
_OWNERS = ("wandb", "hf", "huggingface", "hub", "openai", "anthropic", "github", "gitlab", "aws", "azure", "neptune", "comet", "clearml",
           "slack", "discord", "telegram", "bot", "gemini", "google", "mistral", "cohere", "groq", "replicate", "databricks", "kaggle",
           "mlflow", "stripe", "twilio", "sendgrid", "pypi", "npm", "gh", "civitai", "langsmith")  # fmt: skip
_LONG_OWNERS = tuple(owner for owner in _OWNERS if len(owner) > 4)  # a word may go on after these: `githubtoken`; `bottom_key` is no bot's
_ORDINARY = ("pad", "eos", "bos", "unk", "sep", "cls", "mask", "image", "audio", "video", "special", "start", "end", "cache", "sort",
             "primary", "foreign", "group", "lookup", "index", "column", "state", "dict", "weight")  # fmt: skip
_HARMLESS_ENDS = ("name", "path", "file", "dir", "len", "length", "count", "size", "type", "dim", "loss", "acc", "accuracy", "score",
                  "version", "field", "policy", "manager", "scope", "scopes", "ttl", "expiry", "enabled", "required", "strength",
                  "index", "idx", "prompt", "header", "jar", "url", "cls", "class")  # fmt: skip
_AROUND = 48  # a name is no longer to either side of the part that was found

# After the name: its end, what stands between, and the value, quoted or not.
_VALUE = (
    r"\\{0,3}[\"']?(?:\s{0,9}(?:=>|:=|[=:>])\s{0,9}|(?P<option>\s{1,4}|\0|[\"'],\s{0,4}))"
    r"(?:[bruf]{0,2}\\{0,3}(?P<quote>[\"'])(?P<quoted>(?:(?!(?P=quote))[^\\\n\0‹›]|\\(?!(?P=quote)).){6,4096})(?:\\{0,3}(?P=quote))"
    r"|\\{0,3}[\"']?(?P<bare>))"
)
_BARE = r"(?:[^\s\"',;}&\\<\0‹›]|\\(?![\"'nrt\\]))*"
_HARMLESS = (
    r"(?:[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?[fj]?[)\]]{0,3}$|0x[0-9a-fA-F]{1,8}$"
    r"|(?:os|self|args|cfg|config|conf|getpass|settings|opts?|kwargs|hparams|params|env|environ|secrets|st)[.\[(]"
    r"|(?:Optional|Union|Callable|Literal|list|dict|tuple|str|int|Any|None|null|SecretStr|Tensor|tensor|array)[\[(|]"
    r"|\$[({]?[A-Za-z_]\w*|%\(|\*{3,}|\{[A-Za-z_{]|<|\[redacted|REDACTED|xxxx"
    r"|(?:disabled|enabled|required|missing|invalid|undefined|unknown|function|string)$)"
)
_COOKIES = r"\\{0,3}[\"']?\s{0,3}[:=]\s{0,3}\\{0,3}[\"']?((?=[^\r\n\"'\0‹›]{0,200}=)[^\r\n\"'{}\0‹›]{8,4096})"
_SCHEME = r"\\{0,3}[\"']?\s{0,3}[:=]\s{0,3}\\{0,3}[\"']?(?:[A-Za-z0-9-]{3,20} )?(?![A-Za-z0-9-]{3,20} ‹)([^\s\"'\0‹›]{6,})"

_made: dict[str, Any] = {}


def scrub(text: str, exact: Mapping[str, str] = {}) -> str:
    """The same text with what looks like a secret masked, and the values of `exact`, each with its kind. Masks nothing twice.

    Once over the text is not always enough: a name, or a key, that begins where a secret ended is only then seen to be one.
    """
    for _ in range(ROUNDS):
        before, text = text, _scrubbed(text, exact)
        if text == before:
            break
    return text


def _scrubbed(text: str, exact: Mapping[str, str]) -> str:
    """Once over the text."""
    plain, escapes = (text, []) if "\x1b" not in text else _without_escapes(text)
    done: list[str] = []
    position = 0
    for start, end, masked, inside in _in_full(_spans(plain, exact, frozenset(at for at, _ in escapes)), escapes):
        done += text[position:start], masked, inside
        position = end
    return "".join(done) + text[position:]


def placeholder(kind: str, length: int) -> str:
    """What stands in a secret's place: its kind and the class of its length, and nothing that tells two secrets apart."""
    low = 1 << (max(length, 1).bit_length() - 1)
    return f"{OPEN}{kind}:{low}-{2 * low - 1}{CLOSE}"


def kind_of(name: str) -> str:
    """What a variable, key or option of this name holds, when it holds a secret for certain; else nothing."""
    flat = name.lower().replace("_", "").replace("-", "").replace(".", "")
    if flat.endswith(_HARMLESS_ENDS):
        return ""
    return next((kind for kind, words in _SECRET if any(word in flat for word in words)), "") or _owned(name)


def _owned(name: str) -> str:
    """`token` and `key` are harmless words in machine learning, unless the name says whose they are: `hf_token`, but no `hf_pad_token`."""
    *parts, last = name.lower().replace("-", "_").replace(".", "_").strip("_").split("_")
    end = next((end for end in ("token", "key", "pat") if last.endswith(end)), "")
    parts.append(last[:-len(end)] if end else "")
    if not end or any(part in _ORDINARY for part in parts):
        return ""
    is_owned = any(part in _OWNERS or part.startswith(_LONG_OWNERS) for part in parts)
    return ("key" if end == "key" else "token") if is_owned else ""


def secret_name(name: str) -> bool:
    """Whether a variable of this name holds a secret."""
    parts = name.lower().replace("-", "_").split("_")
    return bool(kind_of(name)) or "auth" in parts or "dsn" in parts or name.lower() in ("session_id", "sessionid")


def key_like(name: str) -> bool:
    """Whether a variable of this name may hold one: its value has to look the part."""
    lower = name.lower()
    return lower in ("key", "pwd", "token") or lower.endswith(("token", "_key", "_pat", "_pwd"))


def hides(name: str, value: str) -> bool:
    """Whether a value must not be shown, judged by its name."""
    if len(value) < 6 or value.startswith(OPEN):
        return False
    return secret_name(name) or (key_like(name) and len(value) >= 16 and not any(c.isspace() or c in "<|[" for c in value[:64]))


# ---------------------------------------------------------------------------------------------- where secrets stand


def _spans(text: str, exact: Mapping[str, str], breaks: frozenset[int]) -> list[Span]:
    """Spans apart from one another. Those that overlap become one, of the first one's kind. A word may begin at `breaks` too."""
    spans: list[Span] = []
    for start, end, kind in sorted(_candidates(text, exact, breaks)):
        if spans and start < spans[-1][1]:
            spans[-1] = (spans[-1][0], max(spans[-1][1], end), spans[-1][2])
        else:
            spans.append((start, end, kind))
        spans[-1] = (spans[-1][0], _with_what_touches(text, spans[-1][1]), spans[-1][2])
    return spans


def _with_what_touches(text: str, end: int) -> int:
    """A secret that begins where another one ends begins no word; it would, once that one is masked."""
    while text.startswith(_LITERALS, end):
        touching = (_match(expression, text, end) for literal, _, expression in _SHAPES if text.startswith(literal, end))
        further = max((found[1] for found in touching if found), default=end)
        if further <= end:
            return end
        end = further
    return end


def _candidates(text: str, exact: Mapping[str, str], breaks: frozenset[int]) -> Iterator[Span]:
    for value, kind in exact.items():
        for at in _all(_without_placeholders(text), value) if value in text else ():
            yield at, at + len(value), kind
    for literal, kind, expression in _SHAPES:
        for at in _all(text, literal):
            begins = literal in _ANYWHERE or not (at and text[at - 1].isalnum()) or at in breaks
            found = _match(expression, text, at) if begins else None
            if found:
                yield (*(found if found != _LINE else _line(text, at)), kind)
    yield from _named(text)


def _all(text: str, word: str) -> Iterator[int]:
    at = text.find(word)
    while at >= 0:
        yield at
        at = text.find(word, at + 1)


def _named(text: str) -> Iterator[Span]:
    """Values that follow a secret's name."""
    lower = text.lower()
    if len(lower) != len(text):  # some letters grow when lowered, and the positions would be wrong
        lower = "".join(c.lower() if c < "\x80" else c for c in text)
    seen, bare = -1, _Bare()
    for part in _NAME_PARTS:
        for at in _all(lower, part):
            end = at + len(part)
            if part in ("key", "token") and lower[end:end + 1].isalpha():  # tokens, tokenizer, keyboard
                continue
            start, end = _word(lower, at, end - (part[-1] == "="))
            if end != seen and not _in_placeholder(text, start):
                seen = end
                yield from _value(text, start, end, bare)


def _word(lower: str, start: int, end: int) -> tuple[int, int]:
    """The whole name around its part."""
    first, last = max(0, start - _AROUND), min(len(lower), end + _AROUND)
    while start > first and _is_in_name(lower[start - 1]):
        start -= 1
    while end < last and _is_in_name(lower[end]):
        end += 1
    return start, end


def _is_in_name(c: str) -> bool:
    return c.isalnum() or (c != "" and c in "_-")


def _in_placeholder(text: str, start: int) -> bool:
    return text[start - 1:start] == OPEN and CLOSE in text[start:start + 40]


def _value(text: str, start: int, end: int, bare: _Bare) -> Iterator[Span]:
    name = text[start:end]
    kind = kind_of(name)
    if not kind and name.lower() in ("sig", "token", "key", "signature") and text[start - 1:start] in ("?", "&"):
        kind = "url-signature"
    is_option = "--" in name
    if not kind and is_option and name.lower().endswith("--token"):
        kind = "token"
    if not kind:
        return
    found = _value_after(name, text, end, is_option, bare)
    if found == _LINE:
        found = _line(text, start)
    if found:
        yield (*found, kind)


_LINE = (-1, -1)  # what can't be read, because `re` can't be had: the whole line


class _Bare:
    """Where an unquoted value ends. Names in a row share one end, which is looked for once: else their time would be a square."""

    start = end = -1

    def end_from(self, text: str, start: int) -> int:
        if not self.start <= start < self.end:
            self.start, self.end = start, _made_of(_BARE).match(text, start).end()
        return self.end


def _value_after(name: str, text: str, end: int, is_option: bool, bare: _Bare) -> Any:
    if _regex() is None:
        return _LINE
    for special, expression in (("cookie", _COOKIES), ("authorization", _SCHEME)):
        if name.lower().endswith(special):
            return _match(expression, text, end)
    match = _made_of(_VALUE).match(text, end)
    if match is None or (match.group("option") is not None and not is_option):
        return None
    if match.group("quoted") is not None:
        return match.span("quoted")
    start = match.start("bare")
    end = bare.end_from(text, start)
    is_value = end - start >= 6 and not text.startswith("--", start) and not _made_of(_HARMLESS).match(text, start, end)
    return (start, end) if is_value else None


def _match(expression: str, text: str, at: int) -> Any:
    """The span of the secret that begins at a literal; `_LINE` when nobody can tell."""
    if _regex() is None:
        return _LINE
    match = _made_of(expression).match(text, at)
    if match is None:
        return None
    groups = [n for n in range(1, len(match.groups()) + 1) if match.group(n) is not None]
    return match.span(groups[0] if groups else 0)


def _line(text: str, at: int) -> tuple[int, int]:
    end = text.find("\n", at)
    return text.rfind("\n", 0, at) + 1, end if end >= 0 else len(text)


def _without_placeholders(text: str) -> str:
    """As long as before; a value that happens to stand in a placeholder is not looked for there."""
    return text if OPEN not in text else _made_of(_PLACEHOLDER).sub(lambda found: "\0" * len(found.group()), text)


# ---------------------------------------------------------------------------------------------- colours


def _without_escapes(text: str) -> tuple[str, list[tuple[int, str]]]:
    """The text as it is read on a terminal, and each escape that was taken out, with where it would stand."""
    parts = text.split("\x1b")
    kept, escapes = [parts[0]], []
    plain = len(parts[0])
    for part in parts[1:]:
        length = _length_of_escape(part)
        if length:
            escapes.append((plain, "\x1b" + part[:length]))
        kept.append(part[length:] if length else "\x1b" + part)
        plain += len(kept[-1])
    return "".join(kept), escapes


_FINAL, _BARE_FINAL = "mKJHABCDEFGSTdfhlnrsu", "mKJH"


def _length_of_escape(part: str) -> int:
    """Of `[1;31m`, `]0;title BEL`, `(B`. What is no escape that programs use is text: a secret may begin there."""
    if part[:1] == "]":
        return part.find("\x07", 0, 200) + 1
    if part[:1] != "[":
        return 2 if part[:2] in ("(B", "(0", ")B", ")0") else 0
    at = 1
    while at < len(part) and at < 64 and part[at] in "0123456789;:?":
        at += 1
    return at + 1 if part[at:at + 1] in (_FINAL if at > 1 else _BARE_FINAL) and at < len(part) else 0


def _in_full(spans: list[Span], escapes: Any) -> Iterator[tuple[int, int, str, str]]:
    """Each span where it stands among the escapes, its placeholder, and the escapes inside it, which are kept."""
    at = shift = 0
    for start, end, kind in spans:
        while at < len(escapes) and escapes[at][0] <= start:
            shift += len(escapes[at][1])
            at += 1
        first, inside = start + shift, []
        while at < len(escapes) and escapes[at][0] < end:
            inside.append(escapes[at][1])
            shift += len(escapes[at][1])
            at += 1
        yield first, end + shift, placeholder(kind, end - start), "".join(inside)


# ---------------------------------------------------------------------------------------------- regular expressions


def _made_of(expression: str) -> Any:
    """Compiled when first needed: most programs need none."""
    made = _made.get(expression)
    if made is None:
        made = _made[expression] = _regex().compile(expression)
    return made


def _regex() -> Any:
    """The standard library's `re`, or None where a file of the program's own shadows it or what it needs."""
    if "re" in _made:
        return _made["re"]
    home = os.path.dirname(os.__file__)  # noqa: PTH120 - pathlib imports half the library
    re = sys.modules.get("re")
    if re is None and not _shadowed(home):
        import re  # noqa: PLC0415 - as late as can be
    if not str(getattr(re, "__file__", "")).startswith(home):
        return None
    _made["re"] = re
    return re


def _shadowed(home: str) -> bool:
    names = ("re", "sre_compile", "sre_parse", "sre_constants", "enum", "types", "functools", "collections", "operator", "keyword",
             "reprlib", "copyreg")
    for entry in sys.path:
        if entry == home:
            return False
        if any(os.path.exists(os.path.join(entry, name + end)) for name in names for end in (".py", "/__init__.py")):  # noqa: PTH110, PTH118 - as above
            return True
    return False
