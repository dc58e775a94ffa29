"""Clone documents as TOML text, with the most important entries first and points on short lines."""

from __future__ import annotations

import json
from typing import Any

from hindmost.commands.clone.document import Clone

HEAD = ("schema", "name", "note", "threads", "queue", "arrival_us", "wake_us", "outside_us")
ARRAYS = ("service", "kinds", "locks", "disturbances")
TABLES = ("load", "order", "origin")


def clone_text(clone: Clone) -> str:
    """Return the document as TOML.

    Examples
    --------
    >>> import tomllib
    >>> from hindmost.commands.clone.document import load_clone
    >>> silo = load_clone("silo")
    >>> tomllib.loads(clone_text(silo)) == silo.document
    True
    """
    document = clone.document
    lines = [f"{key} = {_value(document[key])}" for key in HEAD if key in document]
    for name in ARRAYS:
        for entry in document.get(name, ()):
            lines += ["", f"[[{name}]]", *_entry(entry, name)]
    for name in TABLES:
        if name in document:
            lines += ["", f"[{name}]", *_entry(document[name], name)]
    return "\n".join(lines) + "\n"


def _entry(entry: dict[str, Any], name: str) -> list[str]:
    """Write plain keys first, then the tables of kinds and of long values."""
    lines, later = [], []
    for key, value in entry.items():
        if key == "service":
            for component in value:
                later += ["", f"[[{name}.service]]", *_entry(component, f"{name}.service")]
        elif key == "intervals":
            later += ["", f"[{name}.intervals]"]
            later += [f"{_key(inner)} = {_value(both)}" for inner, both in value.items()]
        elif key == "unknown":
            lines += _list(key, [_value(one) for one in value])
        elif isinstance(value, dict) and "points" in value:
            later += ["", f"[{name}.{key}]", f"kind = {_value(value['kind'])}"]
            later += _list("points", [_value(point) for point in value["points"]], 4)
        else:
            lines.append(f"{key} = {_value(value)}")
    return lines + later


def _list(key: str, values: list[str], to_a_line: int = 1) -> list[str]:
    if not values:
        return [f"{key} = []"]
    rows = [values[at : at + to_a_line] for at in range(0, len(values), to_a_line)]
    return [f"{key} = [", *(f"  {', '.join(row)}," for row in rows), "]"]


def _key(key: str) -> str:
    return json.dumps(key)


def _value(value: Any) -> str:  # noqa: ANN401 (any value of a document)
    if isinstance(value, dict):
        inner = ", ".join(f"{key} = {_value(one)}" for key, one in value.items() if one is not None)
        return f"{{ {inner} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(_value(one) for one in value)}]"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return f"{value:.1f}"
    return json.dumps(value, ensure_ascii=False)
