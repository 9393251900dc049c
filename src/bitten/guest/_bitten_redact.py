"""Text without its secrets. Knows the names and shapes that secrets have; imports `re` only when a shape may match."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MASK = "<redacted>"

_SHAPES = r"""(
   (?<![A-Za-z0-9])hf_[A-Za-z0-9]{30,} | gh[pousr]_[A-Za-z0-9]{36,} | github_pat_[A-Za-z0-9_]{50,} | glpat-[\w-]{20,}
 | (?<![A-Za-z0-9])sk-(?:ant-|proj-|or-)?[A-Za-z0-9_-]{20,} | AKIA[0-9A-Z]{16} | ASIA[0-9A-Z]{16} | AIza[0-9A-Za-z_-]{35}
 | xox[abprs]-[A-Za-z0-9-]{10,} | eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]+
 | -----BEGIN[ A-Z]*PRIVATE\ KEY-----[\s\S]*?(?:-----END[ A-Z]*PRIVATE\ KEY-----|$)
 | (?<=://)[^\s:/@]+:[^\s@/]+(?=@)
 | (?<=[Bb]earer\ )[A-Za-z0-9._~+/=-]{16,} | (?<=[Bb]asic\ )[A-Za-z0-9+/=]{16,}
 | (?<![A-Za-z0-9])(?:npm_|pypi-|dop_v1_|shpat_|SG\.)[A-Za-z0-9_.-]{24,}
)"""

# A name that says "secret", then its value. Bounded repeats only: an open one before the name was quadratic.
_NAMED = (
    r"(?i)((?:passw(?:or)?d|passphrase|secret|api[_-]?key|access[_-]?key|auth[_-]?token|access[_-]?token|credentials?|private[_-]?key"
    r"|(?:wandb|hf|hugging_?face|hub|openai|anthropic|github|gitlab|aws|azure|neptune|comet|clearml|slack|bot)[a-z0-9_-]{0,24}(?:key|token)"
    r"|x-amz-(?:signature|security-token)|[?&](?:sig|token)|(?<=--)token)"
    r"[a-z0-9_]{0,16}[\"']?\s{0,3}[=:]\s{0,3}[\"']?)([^\s\"',;}&]{6,})"
)
_OPTION = (
    r"(?i)(--(?:[a-z0-9]{1,20}[-_]){0,4}"
    r"(?:password|secret|api[-_]?key|access[-_]?key|(?:auth|access|hf|hub|api|wandb|github)[-_]token)[ \0]+)([^\s\0]{6,})"
)

_TRIGGERS = (
    "hf_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "sk-", "akia", "asia", "aiza", "xox", "eyj", "private", "://",
    "bearer ", "basic ", "npm_", "pypi-", "dop_v1_", "shpat_", "sg.", "passw", "passphrase", "secret", "apikey", "api_key", "api-key",
    "access_key", "access-key", "accesskey", "authtoken", "auth_token", "auth-token", "accesstoken", "access_token", "credential",
    "_token", "-token", "token=", "_key", "-key", "x-amz-", "sig=",
)  # fmt: skip

_SECRET_NAMES = ("passw", "secret", "api_key", "apikey", "auth", "credential", "private_key", "access_key", "cookie", "session_id", "dsn",
                 "conn_str", "connection_string", "webhook", "passphrase")
_KEY_LIKE = ("token", "_key", "_pat", "_pwd")


def scrub(text: str) -> str:
    """The same text with what looks like a secret masked; lines without a trigger word never meet a regular expression."""
    hits = _lines_to_search(text)
    if not hits:
        return text
    done: list[str] = []
    position = 0
    for start, end in hits:
        if start >= position:
            done += text[position:start], _masked(text[start:end])
            position = end
    return "".join(done) + text[position:]


def secret_name(name: str) -> bool:
    """Whether a variable of this name holds a secret."""
    lower = name.lower()
    return any(word in lower for word in _SECRET_NAMES)


def key_like(name: str) -> bool:
    """Whether a variable of this name may hold one: in machine learning a token is mostly harmless, so its value has to look the part."""
    lower = name.lower()
    return lower in ("key", "pwd") or lower.endswith(_KEY_LIKE)


def hides(name: str, value: str) -> bool:
    """Whether a value must not be shown, judged by its name."""
    if len(value) < 8:
        return False
    return secret_name(name) or (key_like(name) and len(value) >= 16 and not any(c.isspace() for c in value[:64]))


def _lines_to_search(text: str) -> list[tuple[int, int]]:
    """Spans of the lines that hold a trigger: `str.find` is some hundred times faster than the expressions. A key block spans lines."""
    lower = text.lower()
    if len(lower) != len(text):  # some letters grow when lowered, and the positions would be wrong
        lower = text
    starts = set()
    for word in _TRIGGERS:
        at = lower.find(word)
        while at >= 0:
            starts.add(text.rfind("\n", 0, at) + 1)
            end = text.find("\n", at)
            at = lower.find(word, end) if end >= 0 else -1
    return [(start, _end_of(text, start)) for start in sorted(starts)]


def _end_of(text: str, start: int) -> int:
    end = text.find("\n", start)
    if "-----BEGIN" in text[start : end if end >= 0 else len(text)]:
        last = text.find("-----END", start)
        end = text.find("\n", last) if last >= 0 else -1
    return end if end >= 0 else len(text)


def _masked(text: str) -> str:
    re = _regex()
    if re is None:
        return "<redacted: may hold a secret>"
    text = re.sub(_SHAPES, MASK, text, flags=re.X)
    for pattern in (_NAMED, _OPTION):
        text = re.sub(pattern, lambda found: found.group(1) + MASK, text)
    return text


def _regex() -> Any:
    """The standard library's `re`, or None where a file of the program's own shadows it or what it needs."""
    home = os.path.dirname(os.__file__)  # noqa: PTH120 - pathlib imports half the library
    re = sys.modules.get("re")
    if re is None and not _shadowed(home):
        import re  # noqa: PLC0415 - as late as can be
    return re if str(getattr(re, "__file__", "")).startswith(home) else None


def _shadowed(home: str) -> bool:
    names = ("re", "sre_compile", "sre_parse", "sre_constants", "enum", "types", "functools", "collections", "operator", "keyword",
             "reprlib", "copyreg")
    for entry in sys.path:
        if entry == home:
            return False
        if any(os.path.exists(os.path.join(entry, name + end)) for name in names for end in (".py", "/__init__.py")):  # noqa: PTH110, PTH118 - as above
            return True
    return False
