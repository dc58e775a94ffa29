"""Python's types of the documents that Rust writes, made from the JSON Schemas that the engine tells.

A struct becomes a ``Document``, an enum a ``Literal``, documentation stays documentation. Only the forms
that the engine's structs have are known; any other stops the generator.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

HEAD = '''\
"""The documents that Rust writes, as types: generated from its structs by ``docs/generate.py``; do not edit.

What a type or a field means is documented beside the struct, in ``crates/``. Results of earlier builds lack
fields that may be ``UNSET``.
"""

from typing import Literal

from msgspec import UNSET, UnsetType

from hindmost.core.store.types import Count, Document, Share
'''
WIDTH = 108
PREFIX = "#/$defs/"
Schema = Mapping[str, Any]


def engine_types() -> str:
    """Write the module ``hindmost.core.store.engine``."""
    from hindmost import _engine

    types: dict[str, Schema] = json.loads(_engine.written_schemas())["$defs"]
    return "\n\n".join([HEAD, *(_declared(name, types[name]) for name in _in_order(types))])


def _in_order(types: Mapping[str, Schema]) -> list[str]:
    """Every type after those that it is made of."""
    done: list[str] = []

    def place(name: str) -> None:
        if name not in done:
            for other in _references(types[name]):
                place(other)
            done.append(name)

    for name in sorted(types):
        place(name)
    return done


def _references(schema: object) -> Iterator[str]:
    if isinstance(schema, dict):
        if "$ref" in schema:
            yield schema["$ref"].removeprefix(PREFIX)
        for part in schema.values():
            yield from _references(part)
    elif isinstance(schema, list):
        for part in schema:
            yield from _references(part)


def _declared(name: str, schema: Schema) -> str:
    if "properties" not in schema:
        return f"{name} = {_written(schema)}\n{_doc(schema, '')}"
    fields: Mapping[str, Schema] = schema["properties"]
    required: list[str] = schema.get("required", [])
    kept = [f"    {field}: {_written(fields[field])}\n" for field in required]
    others = [field for field in fields if field not in required]
    later = [f"    {field}: {_or_unset(_written(fields[field]))} = UNSET\n" for field in others]
    return f"class {name}(Document):\n{_doc(schema, '    ')}\n{''.join(kept + later)}"


def _or_unset(annotation: str) -> str:
    nullable = annotation.endswith(" | None")
    return f"{annotation.removesuffix(' | None')} | UnsetType" + (" | None" if nullable else "")


def _doc(schema: Schema, indent: str) -> str:
    """A docstring: on one line, or its first sentence, and the rest below."""
    words = " ".join(schema["description"].replace("[`", "`").replace("`]", "`").split())
    if len(indent) + len(words) + 6 <= WIDTH:
        return f'{indent}"""{words}"""\n'
    summary, _, rest = words.partition(". ")
    paragraphs = [f'"""{summary.rstrip(".")}.', *([rest] if rest else [])]
    filled = [textwrap.indent(textwrap.fill(one, WIDTH - len(indent)), indent) for one in paragraphs]
    return "\n\n".join(filled) + f'\n{indent}"""\n'


def _written(schema: Schema) -> str:
    """A schema as an annotation."""
    match schema:
        case {"$ref": reference}:
            return str(reference).removeprefix(PREFIX)
        case {"enum": values}:
            return _literal(values)
        case {"const": value}:
            return _literal([value])
        case {"oneOf": [*variants]}:
            return _literal([one["const"] for one in variants])
        case {"anyOf": [*variants]}:
            return " | ".join(_written(one) for one in variants)
        case {"type": [kind, "null"]}:
            return f"{_written({**schema, 'type': kind})} | None"
        case {"prefixItems": items}:
            return f"tuple[{', '.join(_written(one) for one in items)}]"
        case {"type": "array", "items": items}:
            return f"list[{_written(items)}]"
        case {"type": "object", "additionalProperties": values}:
            return f"dict[str, {_written(values)}]"
        case {"type": "integer", "minimum": 0}:
            return "Count"
        case {"type": "number", "minimum": _, "maximum": _}:
            return "Share"
        case {"type": kind}:
            return {"integer": "int", "number": "float", "string": "str", "boolean": "bool", "null": "None"}[
                str(kind)
            ]
    raise ValueError(f"the engine has a form that docs/engine_types.py does not know: {json.dumps(schema)}")


def _literal(values: list[str | None]) -> str:
    words = ", ".join(json.dumps(value) for value in values if value is not None)
    return f"Literal[{words}]" + (" | None" if None in values else "")
