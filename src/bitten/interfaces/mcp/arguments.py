"""Whether arguments have the form that their tool's schema tells, in words that say what to mend. Knows the schema's words that we use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

KINDS: Mapping[str, Any] = {"object": dict, "array": list, "string": str, "integer": int}


def faults(value: Any, schema: Mapping[str, Any], name: str) -> Iterator[str]:
    kind = schema["type"]
    if not isinstance(value, KINDS[kind]) or isinstance(value, bool):
        yield f"{name} should be {'a' if kind == 'string' else 'an'} {kind}"
    elif kind == "object":
        yield from (f"{each} is missing" for each in schema["required"] if each not in value)
        for each, inner in value.items():
            known = schema["properties"].get(each)
            yield from faults(inner, known, each) if known else [f"{each[:40]!r} is unknown; there are: {', '.join(schema['properties'])}"]
    elif kind == "integer":
        if value < schema["minimum"]:
            yield f"{name} is {schema['minimum']} at least"
    else:
        yield from _size(value, schema, name, "Items" if kind == "array" else "Length")
        if kind == "array":
            for number, each in enumerate(value[: schema["maxItems"]]):
                yield from faults(each, schema["items"], f"{name}[{number}]")


def _size(value: Any, schema: Mapping[str, Any], name: str, of: str) -> Iterator[str]:
    least, most = schema.get(f"min{of}", 0), schema[f"max{of}"]
    if not least <= len(value) <= most:
        yield f"{name} has {len(value)} {'entries' if of == 'Items' else 'characters'}; {least} to {most}"
