"""Numbers that a program printed, by name: the last `name=value`, `name: value` or JSON line wins. Knows no framework."""

from __future__ import annotations

import json
import math
import re

from bitten.core.prediction import Json

_PAIR = re.compile(
    r"(?<![\w./-])([A-Za-z_][\w./-]{0,59})[\"']?\s*[=:]\s*([-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|nan|inf)|True|False)(?![\w.])",
    re.I,
)
_OBJECT = re.compile(r"^\{.*", re.M)
MOST = 300
"""Names kept: a program that prints more has no metrics but a table."""
_FACT = re.compile(r"^bitten-fact\s+([\w./:-]+)=(.+)$", re.M)


def metrics(text: str) -> dict[str, Json]:
    """Facts read from printed text; a later line wins over an earlier one."""
    found: dict[str, Json] = {}
    for pair in _PAIR.finditer(text):
        name, value = pair.groups()
        found.pop(name, None)
        found[name] = value
    found = {name: _value(value) for name, value in found.items()}
    for line in _OBJECT.finditer(text):
        found.update(_json_line(line[0]))
    return dict(list(found.items())[-MOST:])


def script_facts(text: str) -> dict[str, Json]:
    """Facts that a check's script or patch gave, as lines `bitten-fact name=json`."""
    found: dict[str, Json] = {}
    for name, value in _FACT.findall(text):
        try:
            found[name] = plain(json.loads(value))
        except ValueError:
            found[name] = value.strip()
    return found


def plain(value: Json) -> Json:
    """A JSON value; numbers that JSON has no word for become the strings "nan", "inf" and "-inf"."""
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _value(text: str) -> Json:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    as_float = float(text)
    if not math.isfinite(as_float):
        return str(as_float)
    return int(text) if re.fullmatch(r"[-+]?\d+", text) else as_float


def _json_line(line: str) -> dict[str, Json]:
    try:
        values = json.loads(line)
    except ValueError:
        return {}
    simple = (bool, int, float, str)
    return {str(k): plain(v) for k, v in values.items() if isinstance(v, simple)} if isinstance(values, dict) else {}
