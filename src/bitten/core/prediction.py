"""A prediction is (fact, operator, value), written down before anybody looks. It does not know where facts come from."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from enum import Enum
from typing import Any

from .noun import noun
from .trouble import BadInput

Json = Any
"""A plain JSON value. Numbers that JSON has no word for are the strings "nan", "inf" and "-inf"."""

Facts = Mapping[str, Json]
"""What was measured, by name."""


class Op(str, Enum):
    EQ = "=="
    NE = "!="
    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="
    MATCH = "~"
    IN = "in"
    FINITE = "is finite"
    EXISTS = "exists"


@noun
class Prediction:
    """`val_acc >= 0.8`, `exit == 0`, `stdout ~ "^done"`, `loss is finite`, `checkpoint exists`."""

    fact: str
    op: Op
    value: Json = None

    def __hash__(self) -> int:
        return hash(str(self))

    def holds(self, facts: Facts) -> bool | None:
        """Whether the facts bear it out; None when the fact was not measured, or can't be compared with the value."""
        if self.op is Op.EXISTS:
            return facts.get(self.fact) is not None
        measured = facts.get(self.fact)
        return None if measured is None else _compare(self.op, measured, self.value)

    def __str__(self) -> str:
        bare = f"{self.fact} {self.op.value}"
        return bare if self.op in (Op.FINITE, Op.EXISTS) else f"{bare} {json.dumps(self.value, ensure_ascii=False)}"


_FORM = re.compile(r"\s*([\w./:-]+?)\s*(==|!=|<=|>=|<|>|~|\bin\b|\bis\s+finite\b|\bexists\b)\s*(.*?)\s*", re.S)


def parse(text: str) -> Prediction:
    """Read `fact operator value`. The value is JSON; a bare word is a string.

    Raises: BadInput `bad-prediction` when the text has no such form, or a pattern does not compile.
    """
    form = _FORM.fullmatch(text)
    if form is None:
        raise _bad(text, "it needs a fact, an operator and a value")
    fact, op, value = form[1], Op(re.sub(r"\s+", " ", form[2])), form[3]
    if (op in (Op.FINITE, Op.EXISTS)) is bool(value):
        raise _bad(text, f"'{op.value}' takes {'no' if value else 'a'} value")
    return _checked(Prediction(fact, op, _literal(value) if value else None), text)


def as_prediction(text: str) -> Prediction | None:
    """The prediction that a person's words make, or None when they are free text."""
    try:
        return parse(text)
    except BadInput:
        return None


def _checked(prediction: Prediction, text: str) -> Prediction:
    if prediction.op is Op.MATCH:
        try:
            re.compile(str(prediction.value))
        except re.error as error:
            raise _bad(text, f"the pattern does not compile: {error}") from None
    if prediction.op is Op.IN and not isinstance(prediction.value, list):
        raise _bad(text, "'in' takes a list, such as [0, 1]")
    return prediction


def _bad(text: str, why: str) -> BadInput:
    return BadInput("bad-prediction", f"Can't read the expectation {text!r}:", f"{why}.",
                    "write it like:  val_acc >= 0.8   exit == 0   stdout ~ \"^done\"   loss is finite")


def _literal(text: str) -> Json:
    words = {"True": True, "False": False, "None": None}
    if text in words:
        return words[text]
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text.strip("'\"")


def number(value: Json) -> float | None:
    """A measured value as a number, "nan" and "inf" included; None when it is none. Truth values are no numbers."""
    if isinstance(value, bool):
        return None
    if isinstance(value, (int, float)):
        return float(value)
    return float(value) if value in ("nan", "inf", "-inf") else None


def _compare(op: Op, measured: Json, value: Json) -> bool | None:
    if op is Op.FINITE:
        as_number = number(measured)
        return None if as_number is None else math.isfinite(as_number)
    if op is Op.MATCH:
        return re.search(str(value), measured, re.M) is not None if isinstance(measured, str) else None
    if op is Op.IN:
        return measured in value
    if op in (Op.EQ, Op.NE):
        return (measured == value) is (op is Op.EQ)
    return _order(op, number(measured), number(value))


def _order(op: Op, left: float | None, right: float | None) -> bool | None:
    if left is None or right is None:
        return None
    return {Op.LT: left < right, Op.LE: left <= right, Op.GT: left > right, Op.GE: left >= right}[op]
