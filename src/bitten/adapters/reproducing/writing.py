"""What the guest told of a value, as source text that makes one like it. Knows no frame, and raises Cant for what can't be made."""

from __future__ import annotations

import ast
import keyword
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from . import tables
from .people import People
from .program import Cant, Needs, affordable

Spec = Sequence[Any]
LONG = {"int64": "", "float32": ""}
"""What torch makes by itself."""
SUFFIX = {"float64": ".double()", "float16": ".half()", "bfloat16": ".bfloat16()"}
OPEN = ("torch.nn.modules.", "torch.nn.parallel.", "torch.nn.quantized.")


@dataclass
class Writer:
    """Writes values; what they need is noted in `needs`."""

    people: People
    needs: Needs

    def text(self, spec: Spec) -> str:
        """Raises: Cant."""
        write: Callable[[Spec], str] | None = getattr(self, f"_{_NAMES.get(spec[0], '')}", None)
        if write is None:
            raise Cant(f"a {spec[1] if spec[0] == '?' and len(spec) > 1 else spec[0]} can't be made from what is known of it")
        return write(spec)

    # ------------------------------------------------------------------------------------------ plain values

    def _plain(self, spec: Spec) -> str:
        return repr(spec[1])

    def _number(self, spec: Spec) -> str:
        text = str(spec[1])
        return f'float("{text}")' if text.lstrip("-") in ("nan", "inf") else text

    def _head(self, spec: Spec) -> str:
        return repr(spec[1])

    def _hidden(self, spec: Spec) -> str:
        raise Cant("a secret is not kept")

    def _expression(self, spec: Spec) -> str:
        text = str(spec[1])
        if text.startswith("torch."):
            self.needs.add("import torch")
        return text.replace("torch.device(type=", "torch.device(")

    def _path(self, spec: Spec) -> str:
        self.needs.add("from pathlib import Path")
        return f"Path({spec[1]!r})"

    def _sequence(self, spec: Spec) -> str:
        kind, items, _total, own = spec
        parts = [self.text(item) for item in items]
        if own and not str(own[0]).startswith(("collections", "torch", "builtins")):
            return f"{self._class_named(own)}({', '.join(parts)})"
        if kind in ("set", "fset"):
            return f"{'set' if kind == 'set' else 'frozenset'}([{', '.join(parts)}])"
        if kind == "l":
            return "[" + ", ".join(parts) + "]"
        return "(" + ", ".join(parts) + ("," if len(parts) == 1 else "") + ")"

    def _mapping(self, spec: Spec) -> str:
        _, pairs, _total, own = spec
        if own and not str(own[0]).startswith(("collections", "builtins", "torch", "transformers")):
            raise Cant(f"a {own[1]} can't be made from its items")
        return "{" + ", ".join(f"{self.text(key)}: {self.text(item)}" for key, item in pairs) + "}"

    # ------------------------------------------------------------------------------------------ code

    def _module(self, spec: Spec) -> str:
        self.needs.add(f"import {spec[1]}")
        return str(spec[1])

    def _function(self, spec: Spec) -> str:
        _, module, qualname, file, _line, is_library, has_closure = spec
        if has_closure or "<" in qualname:
            raise Cant(f"{qualname} is made inside a function")
        return self._imported(module, qualname) if is_library else self.people.bring(module, qualname, file, self.needs)

    def _builtin(self, spec: Spec) -> str:
        return str(spec[2]) if spec[1] in ("builtins", "") else self._imported(spec[1], spec[2])

    def _class(self, spec: Spec) -> str:
        return self._class_named(spec[1:])

    def _class_named(self, own: Sequence[Any]) -> str:
        module, qualname, file, is_library = own[:4]
        if module == "builtins":
            return str(qualname)
        return self._imported(module, qualname) if is_library else self.people.bring(module, qualname, file, self.needs)

    def _imported(self, module: str, qualname: str) -> str:
        if not module or "<" in qualname:
            raise Cant(f"{qualname} has no name to import it by")
        if module.startswith("torch.nn.modules."):
            self.needs.add("import torch")
            return f"torch.nn.{qualname}"
        self.needs.add(f"from {module} import {qualname.partition('.')[0]}")
        return qualname

    def _method(self, spec: Spec) -> str:
        return f"{self.text(spec[1])}.{spec[2]}"

    # ------------------------------------------------------------------------------------------ torch

    def _tensor(self, spec: Spec) -> str:
        told = spec[1]
        if "layout" in told or told["dtype"].startswith(("q", "float8", "complex")):
            raise Cant(f"a tensor of {told.get('layout', told['dtype'])}")
        self.needs.add("import torch")
        affordable(math.prod(told["shape"]))
        made = _laid_out(told, lambda shape: self._filled(told, shape))
        return f"torch.nn.Parameter({made})" if told.get("param") else made

    def _filled(self, told: Mapping[str, Any], shape: Sequence[int]) -> str:
        dtype = "" if told["dtype"] in LONG else f", dtype=torch.{told['dtype']}"
        more = dtype + ("" if told["device"] == "cpu" else f", device={told['device']!r}")
        more += ", requires_grad=True" if told.get("grad") and "fn" not in told and not told.get("param") else ""
        size = tuple(shape)
        if told["dtype"] == "bool":
            return f"torch.tensor({told['vals']}{_but(more, dtype)})" if "vals" in told else f"torch.ones({size}{more})"
        if "float" in told["dtype"]:
            return _floats(told, size, more)
        return _integers(told, size, more)

    def _layer(self, spec: Spec) -> str:
        _, module, name, told = spec
        self.needs.add("import torch")
        affordable(told["count"])
        public = f"torch.nn.{name}" if module.startswith(OPEN) else f"{module}.{name}"
        made = f"{public}({self._layer_arguments(name, told)})"
        made += SUFFIX.get(told.get("dtype", ""), "")
        made += f".to({told['device']!r})" if told.get("device", "cpu") != "cpu" else ""
        return made if told["training"] else made + ".eval()"

    def _layer_arguments(self, name: str, told: Mapping[str, Any]) -> str:
        parts = told["parts"]
        if name == "Sequential" and all(each.isdecimal() for each in parts):
            return ", ".join(self.text(part) for part in parts.values())
        if name == "ModuleList":
            return "[" + ", ".join(self.text(part) for part in parts.values()) + "]"
        if name in ("Sequential", "ModuleDict"):
            return "{" + ", ".join(f"{key!r}: {self.text(part)}" for key, part in parts.items()) + "}"
        if told["words"]:
            return _call_words(told["words"])
        return ", ".join(f"{key}={self.text(each)}" for key, each in told["attrs"].items() if each[0] not in ("t", "m"))

    def _their_layer(self, spec: Spec) -> str:
        _, module, qualname, file, told = spec
        affordable(told["count"])
        made = self.made(module, qualname, file, {**told["attrs"], **told["parts"]}, told["takes"])
        made += SUFFIX.get(told.get("dtype", ""), "")
        made += f".to({told['device']!r})" if told.get("device", "cpu") != "cpu" else ""
        return made if told["training"] else made + ".eval()"

    # ------------------------------------------------------------------------------------------ other objects

    def _object(self, spec: Spec) -> str:
        _, module, qualname, file, is_library, attrs, takes, _id = spec
        if (module, qualname) in (("argparse", "Namespace"), ("types", "SimpleNamespace")):
            self.needs.add("from types import SimpleNamespace")
            return f"SimpleNamespace({self._named(attrs)})"
        if is_library:
            name = self._imported(module, qualname)
            self.needs.guessed = True  # what its class takes and what it keeps may differ
            return f"{name}({self._named({key: attrs[key] for key in takes if key in attrs})})"
        return self.made(module, qualname, file, attrs, takes)

    def _named(self, attrs: Mapping[str, Spec]) -> str:
        return ", ".join(f"{key}={self.text(each)}" for key, each in attrs.items() if not keyword.iskeyword(key))

    def made(self, module: str, qualname: str, file: str, attrs: Mapping[str, Spec], takes: Sequence[str]) -> str:
        """An object of the person's class, by the attributes that are named as its arguments; what has a default may be missing."""
        init = self.people.source(file).definition(f"{qualname}.__init__")
        name = self.people.bring(module, qualname, file, self.needs)
        if init is None or isinstance(init, ast.ClassDef):
            return f"{name}({self._named({key: attrs[key] for key in takes if key in attrs})})"
        count = len(init.args.args) - 1 - len(init.args.defaults)
        required = [each.arg for each in init.args.args[1 : count + 1]]
        if missing := [each for each in required if each not in attrs]:
            raise Cant(f"{qualname} was made with {missing[0]}, which it does not keep")
        given: dict[str, str] = {}
        for key in takes:
            try:
                given[key] = self.text(attrs[key])
            except (Cant, KeyError):
                if key in required:
                    raise
        return f"{name}({', '.join(f'{key}={each}' for key, each in given.items())})"

    # ------------------------------------------------------------------------------------------ arrays and tables

    def _array(self, spec: Spec) -> str:
        return tables.array(self, spec)

    def _scalar(self, spec: Spec) -> str:
        self.needs.add("import numpy as np")
        return f"np.{spec[1]}({self._number(['f', spec[2]])})"

    def _array_type(self, spec: Spec) -> str:
        self.needs.add("import numpy as np")
        return f"np.dtype({spec[1]!r})"

    def _frame(self, spec: Spec) -> str:
        return tables.frame(self, spec)

    def _series(self, spec: Spec) -> str:
        return tables.series(self, spec)

    def _index(self, spec: Spec) -> str:
        return tables.index(self, spec)

    def _estimator(self, spec: Spec) -> str:
        return tables.estimator(self, spec)


_NAMES = {"v": "plain", "f": "number", "s": "head", "hid": "hidden", "e": "expression", "path": "path", "l": "sequence", "u": "sequence",
          "set": "sequence", "fset": "sequence", "d": "mapping", "mod": "module", "fn": "function", "bi": "builtin", "cls": "class",
          "meth": "method", "t": "tensor", "m": "layer", "um": "their_layer", "o": "object", "a": "array", "n": "scalar",
          "npd": "array_type", "df": "frame", "ser": "series", "ix": "index", "est": "estimator"}  # fmt: skip


def _but(text: str, part: str) -> str:
    return text.replace(part, "", 1)


def _call_words(words: str) -> str:
    """A layer's own words for itself, where they are what it is called with."""
    try:
        ast.parse(f"f({words})", mode="eval")
    except SyntaxError:
        raise Cant(f"a layer that calls itself {words[:40]!r}") from None
    return words


def _floats(told: Mapping[str, Any], size: tuple[int, ...], more: str) -> str:
    text = told.get("vals", "")
    low, high = str(told.get("min", "")), str(told.get("max", ""))
    if "nan" in text or told.get("nan"):
        return f'torch.full({size}, float("nan"){more})'
    if "inf" in text or "inf" in low + high:
        return f'torch.full({size}, float("inf"){more})'
    if text and 0 < len(text) <= 40 and "e" not in text:
        return f"torch.tensor({text}{more})"
    if not text and low and float(low) >= 0.0 and float(high) <= 1.0:
        return f"torch.rand({size}{more})"
    return f"torch.randn({size}{more})"


def _integers(told: Mapping[str, Any], size: tuple[int, ...], more: str) -> str:
    named = f", dtype=torch.{told['dtype']}"
    whole = more if named in more else named + more
    if "vals" in told and told["vals"] != "[]":
        return f"torch.tensor({told['vals']}{more})"
    if "min" not in told:
        return f"torch.zeros({size}{whole})"
    low, high = int(told["min"]), int(told["max"])
    return f"torch.full({size}, {high if abs(high) >= abs(low) else low}{more})"


def _laid_out(told: Mapping[str, Any], filled: Callable[[Sequence[int]], str]) -> str:
    """A tensor with its strides, where they are not the plain ones: expanded, or with its dimensions in another order."""
    shape, stride = told["shape"], told.get("stride")
    if not stride or not shape:
        return filled(shape)
    if 0 in stride:
        base = [1 if step == 0 else size for size, step in zip(shape, stride, strict=True)]
        return f"{filled(base)}.expand{tuple(shape)}"
    order = sorted(range(len(shape)), key=lambda i: -stride[i])
    base, count = [shape[i] for i in order], 1
    for at in reversed(order):
        if stride[at] != count and shape[at] != 1:
            return filled(shape)  # a slice of something bigger: its steps seldom matter
        count *= shape[at]
    return f"{filled(base)}.permute{tuple(order.index(i) for i in range(len(shape)))}"
