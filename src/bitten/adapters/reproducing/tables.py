"""Arrays, tables, columns and estimators as source text: of many rows only their kind, their range and what is missing. Knows no frame."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .program import Cant, affordable

if TYPE_CHECKING:
    from .writing import Spec, Writer

CLASSES = 6


def array(writer: Writer, spec: Spec) -> str:
    told = spec[1]
    writer.needs.add("import numpy as np")
    shape = tuple(told["shape"])
    affordable(math.prod(shape))
    dtype = "" if told["dtype"] in ("float64", "int64") else f", dtype={told['dtype']!r}"
    if "items" in told:
        return f"np.array({writer.text(told['items'])}{dtype if told['kind'] == 'O' else ''})"
    if told["kind"] == "f":
        return _floats(told, shape, dtype)
    if told["kind"] == "b":
        return f"np.ones({shape}, dtype=bool)"
    if told["kind"] not in "iu":
        raise Cant(f"an array of {told['dtype']}")
    if "vals" in told and len(told["vals"]) <= 60:
        return f"np.array({told['vals']}{dtype})"
    low, high = int(told.get("min", 0)), int(told.get("max", 0))
    if len(shape) == 1 and high > low:
        return f"np.arange({shape[0]}) % {high - low + 1}" + (f" + {low}" if low else "")
    return f"np.full({shape}, {high}{dtype})"


def _floats(told: Mapping[str, Any], shape: tuple[int, ...], dtype: str) -> str:
    text = told.get("vals", "")
    if told.get("nan") or "nan" in text:
        return f"np.full({shape}, np.nan{dtype})"
    if "inf" in text or "inf" in str(told.get("min", "")) + str(told.get("max", "")):
        return f"np.full({shape}, np.inf{dtype})"
    if text and len(text) <= 40:
        return f"np.array({text}{dtype})"
    made = f"np.random.rand({', '.join(map(str, shape))})"
    return made + (f".astype({told['dtype']!r})" if dtype else "")


def frame(writer: Writer, spec: Spec) -> str:
    """Columns by name; two of one name can't be told apart so."""
    _, columns, shape, index_told = spec
    writer.needs.add("import pandas as pd")
    names = [writer.text(name) for name, _ in columns]
    if len(set(names)) != len(names):
        raise Cant("a table with two columns of one name")
    cells = ", ".join(f"{name}: {_column(writer, told)}" for name, (_, told) in zip(names, columns, strict=True))
    return f"pd.DataFrame({{{cells}}}{_rows(writer, index_told, shape[0])})"


def series(writer: Writer, spec: Spec) -> str:
    _, name, told, index_told = spec
    writer.needs.add("import pandas as pd")
    named = "" if name == ["v", None] else f", name={writer.text(name)}"
    return f"pd.Series({_column(writer, told)}{named}{_rows(writer, index_told, told['rows'])})"


def index(writer: Writer, spec: Spec) -> str:
    writer.needs.add("import pandas as pd")
    return f"pd.Index([{', '.join(writer.text(item) for item in spec[1])}])"


def _rows(writer: Writer, told: Sequence[Any], count: int) -> str:
    """The index, where it is not the plain one."""
    if told[0] == "range":
        first, step = told[1], told[2]
        return "" if (first, step) == (0, 1) else f", index=range({first}, {first + count * step}, {step})"
    if "Datetime" in told[0]:
        return f', index=pd.date_range("2024", periods={count})'
    if count == len(told[2]):
        return f", index=[{', '.join(writer.text(item) for item in told[2])}]"
    return ""


def _column(writer: Writer, told: Mapping[str, Any]) -> str:
    """Every value of a short column; of a long one its kind, its range and how many are missing."""
    rows, nulls, kind = told["rows"], told.get("nulls", 0), told["dtype"]
    affordable(8 * rows)
    items = told.get("items", [])
    if kind.startswith("datetime"):
        return f'pd.date_range("2024", periods={rows})'
    if rows == len(items):
        return "[" + ", ".join(writer.text(item) for item in items) + "]"
    if kind.startswith(("int", "uint")):
        low, high = int(told.get("min", 0)), int(told.get("max", 1))
        repeated = f" % {high - low + 1}" if high - low + 1 < rows else ""
        return _numpy(writer, f"np.arange({rows}){repeated}" + (f" + {low}" if low else ""))
    if kind.startswith("float"):
        return _numpy(writer, f"np.where(np.arange({rows}) < {nulls}, np.nan, 1.0)" if nulls else f"np.linspace(0, 1, {rows})")
    if kind == "bool":
        return f"[True, False] * {rows // 2}" if rows % 2 == 0 else f"[True] * {rows}"
    if not items:
        raise Cant(f"a column of {kind}")
    few = [writer.text(item) for item in items if item != ["v", None]][:2]
    return f"[None] * {nulls} + {_repeated(few, rows - nulls)}" if nulls else _repeated(few, rows)


def _repeated(items: Sequence[str], rows: int) -> str:
    if len(items) == 2 and rows % 2 == 0:
        return f"[{', '.join(items)}] * {rows // 2}"
    return f"[{items[0] if items else None}] * {rows}"


def _numpy(writer: Writer, text: str) -> str:
    writer.needs.add("import numpy as np")
    return text


def estimator(writer: Writer, spec: Spec) -> str:
    """With what it was made with; fitted on a few rows with the columns and classes that it was fitted on."""
    _, module, name, made, fitted, was_fitted = spec
    public = ".".join(part for part in module.split(".") if not part.startswith("_"))
    writer.needs.add(f"from {public} import {name}")
    text = f"{name}({', '.join(f'{key}={writer.text(each)}' for key, each in made.items() if key != 'self')})"
    if not was_fitted or "n_features_in_" not in fitted:
        return text
    return f"{text}.fit({_fitted_on(writer, fitted)}, {_classes(writer, fitted)})"


def _fitted_on(writer: Writer, fitted: Mapping[str, Any]) -> str:
    count = fitted["n_features_in_"][-1]
    writer.needs.add("import numpy as np")
    names = fitted.get("feature_names_in_")
    if names is None:
        return f"np.random.rand(4, {count})"
    writer.needs.add("import pandas as pd")
    told = names[1].get("items")
    if told is None:
        raise Cant("an estimator fitted on many columns")
    return f"pd.DataFrame(np.random.rand(4, {count}), columns={writer.text(told)})"


def _classes(writer: Writer, fitted: Mapping[str, Any]) -> str:
    told = fitted.get("classes_")
    if told is None or told[0] != "a" or not ("vals" in told[1] or "items" in told[1]):
        return "[0, 1, 0, 1]"
    text = told[1].get("vals") or writer.text(told[1]["items"])
    return f"({text} * 4)[:4]"
