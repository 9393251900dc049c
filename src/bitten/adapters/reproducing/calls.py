"""The library's own calls below the person's last line, made anew from their arguments: functions, methods, layers. Reads no source."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from .boundary import Boundary, Frame, Spec
from .people import People
from .program import Cant, Needs, Program
from .writing import Writer

PLUMBING = frozenset({"_call_impl", "_wrapped_call_impl", "wrapper", "inner", "decorate_context", "_fn", "wrapped", "inner_f",
                      "__torch_function__", "handle_torch_function", "new_func"})
SMALL = ("v", "f", "e", "hid", "s", "bi", "cls", "fn", "n")
FAMILIES = ("t", "a", "m", "um", "df", "ser", "est", "l", "u", "d", "ix", "set", "fset", "o")


def calls(boundary: Boundary, people: People) -> Iterator[Program]:
    """Outermost first."""
    for depth, frame in enumerate(boundary.below, 1):
        if frame.function in PLUMBING or frame.function.startswith("<"):
            continue
        for public in (True, False):
            try:
                yield replace(_call(frame, people, public), depth=depth)
            except Cant:
                continue


def _call(frame: Frame, people: People, public: bool) -> Program:
    writer = Writer(people, Needs())
    if frame.at_top:
        return _function(frame, writer, public)
    if not frame.arguments or frame.arguments[0] not in frame.values or "." not in frame.name or "<" in frame.name:
        raise Cant("what it is called on is not known")
    return _made(frame, writer, public) if frame.function == "__init__" else _method(frame, writer)


def _function(frame: Frame, writer: Writer, public: bool) -> Program:
    module = public_name(frame.module) if public else frame.module
    writer.needs.add(f"from {module} import {frame.function}")
    values, words = _arguments(frame, writer, frame.arguments)
    return writer.needs.program(values, [f"{frame.function}({words})"])


def _made(frame: Frame, writer: Writer, public: bool) -> Program:
    """`__init__` is called by its class."""
    name = frame.name.split(".")[0]
    writer.needs.add(f"from {public_name(frame.module) if public else frame.module} import {name}")
    values, words = _arguments(frame, writer, frame.arguments[1:])
    return writer.needs.program(values, [f"{name}({words})"])


def _method(frame: Frame, writer: Writer) -> Program:
    owner = frame.values[frame.arguments[0]]
    if owner[0] not in FAMILIES:
        raise Cant("what it is called on can't be made anew")
    name = {"m": "layer", "um": "model", "df": "df", "ser": "column", "est": "model", "t": "x", "a": "x"}.get(owner[0], "it")
    values, words = _arguments(frame, writer, frame.arguments[1:])
    made = f"{name} = {writer.text(owner)}"
    if owner[0] in ("m", "um") and frame.function == "forward":
        return writer.needs.program([made, *values], [f"{name}({words})"])
    return writer.needs.program([made, *values], [f"{name}.{frame.function}({words})"])


def _arguments(frame: Frame, writer: Writer, names: tuple[str, ...]) -> tuple[list[str], str]:
    """A line for each argument that is no plain value, and the words of the call. What is None is left out: it mostly is by default."""
    values: list[str] = []
    words: list[str] = []
    skipped = False
    for name in names:
        spec = frame.values.get(name, ["?", "unknown"])
        if spec == ["v", None]:
            skipped = True
            continue
        text = writer.text(spec)
        if spec[0] not in SMALL:
            values.append(f"{name} = {text}")
            text = name
        keyword = skipped or frame.arguments.index(name) >= frame.positional or spec[0] in SMALL
        skipped = skipped or keyword
        words.append(f"{name}={text}" if keyword else text)
    values, more = _starred(frame, writer, values)
    if frame.star and more:  # what comes before starred arguments has no keyword
        words = [word.partition("=")[2] or word for word in words]
    return values, ", ".join([*words, *more])


def _starred(frame: Frame, writer: Writer, values: list[str]) -> tuple[list[str], list[str]]:
    words = []
    for at, item in enumerate(_items(frame.values.get(frame.star))):
        values.append(f"{frame.star}{at} = {writer.text(item)}")
        words.append(f"{frame.star}{at}")
    stars = frame.values.get(frame.stars)
    for key, item in stars[1] if stars and stars[0] == "d" else ():
        words.append(f"{key[1]}={writer.text(item)}")
    return values, words


def _items(spec: Spec | None) -> Spec:
    return spec[1] if spec and spec[0] == "u" else ()


def public_name(module: str) -> str:
    """The part of a module's name before what is marked as private."""
    parts = module.split(".")
    hidden = next((at for at, part in enumerate(parts) if part.startswith("_")), len(parts))
    return ".".join(parts[:hidden]) or module
