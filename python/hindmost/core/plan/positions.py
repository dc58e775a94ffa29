"""Positions of a document's keys in its source text: TOML or JSON.

The engine reads a document as one line of JSON and reports columns of it. `field_at` names the field at such
a column; `line_of` finds that field in the source text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hindmost import _engine
from hindmost.core.names import nearest

_BLANK = re.compile(r"(?:[\s,]|#[^\n]*)*")
_NAME = r"""(?:[\w-]+|"(?:[^"\\]|\\.)*"|'[^']*')"""
_KEY = re.compile(rf"{_NAME}(?:\s*\.\s*{_NAME})*\s*[:=]")
_PLAIN = re.compile(r"[^\s,\]}#]+")
_TEXT = re.compile(
    r'"""(?:[^\\]|\\.)*?"""|' + r"'''.*?'''|" + r'"(?:[^"\\\n]|\\.)*"|' + r"'[^'\n]*'", re.DOTALL
)
_TABLE = re.compile(r"(\[\[?)\s*([^\[\]\n]+?)\s*\]\]?")
_PART = re.compile(_NAME)


_COLUMN = re.compile(r" at line 1 column (\d+)$")
_FIELD = re.compile(r"(?:clone|plan) field `([^`]+)`")
_UNREAD = re.compile(r"the (?:clone document|plan) cannot be read: ")
_EXPECTED = re.compile(r"unknown (?:field|variant) `([^`]+)`, expected (?:one of )?(.*)")
_NAMED = re.compile(r"(?:unknown|duplicate) field `([^`]+)`|^[^`]*: `([^`]+)` is neither")
_UNKNOWN = re.compile(r"unknown (field|variant) `([^`]+)`")
_MISSING = re.compile(r"missing field `([^`]+)`")
_VALUE = re.compile(r"""unknown variant `([^`]+)`|invalid (?:type|value): \w+(?: point)? [`"]([^`"]*)[`"]""")


@dataclass(frozen=True)
class SourceText:
    """The text of a document as written by a user; ``path``: its file, or its preset."""

    text: str
    toml: bool
    path: str | None = None


@dataclass(frozen=True)
class Refusal:
    """Why the engine refused a document: a code, a sentence, and the fields of an error."""

    code: str
    text: str
    fields: dict[str, Any]


def locate_refusal(
    message: str,
    document: str,
    where: str,
    source: SourceText | None,
    within: str = "",
    fields: Mapping[str, Any] | None = None,
) -> Refusal:
    """Explain what the engine refused, by field and by line of the source text.

    If the field is not in the source text, the message is returned without its column.

    Parameters
    ----------
    message : str
        The engine's message.
    document : str
        The JSON given to the engine.
    where : str
        Name of the document in messages.
    source : SourceText, optional
        The text that the document was read from.
    within : str
        The part of the document that comes from the source text; default: all of it.
    fields : mapping, optional
        Fields of the engine's error: ``field``, ``value``, ``must``.
    """
    column, field = _COLUMN.search(message), _FIELD.search(message)
    path = field[1] if field else ""
    if column:
        path = _find_field(document, field_at(document, int(column[1])), message)
        message = _UNREAD.sub("", message[: column.start()])
    code, details = _kind(message)
    if code == "bad-value" and details.get("known") and path.rpartition(".")[2] == details["value"]:
        code, details = "unknown-key", {"known": details["known"]}  # the kind of a law is its only key
    details = {name: value for name, value in (fields or {}).items() if name != "field"} | details
    if not within:
        text = f"clone field `{path}`: {message}{_near(message)}" if column and path else message
    elif path.partition(".")[0] != within:
        return Refusal(code, message, _with_key(code, path, details))
    else:
        path = path.removeprefix(within).removeprefix(".")
        text = _by_key(message, path) if column else message.replace(f"plan field `{within}.", "`")
    line = line_of(source.text, path, toml=source.toml) if source else None
    if source is not None and source.path is not None:
        details["path"] = source.path
    if line is not None:
        details["line"] = line
    text = f"{where}{'' if line is None else f', line {line}'}: {text}"
    return Refusal(code, text, _with_key(code, path, details))


def _kind(message: str) -> tuple[str, dict[str, Any]]:
    """Return code and fields of a refusal, as far as its sentence shows them."""
    if unknown := _UNKNOWN.search(message):
        expected = _EXPECTED.search(message)
        known = _names(expected[2]) if expected else []
        if unknown[1] == "field":
            return "unknown-key", {"name": unknown[2], "known": known}
        return "bad-value", {"value": unknown[2], "known": known}
    if missing := _MISSING.search(message):
        return "missing-argument", {"name": missing[1]}
    value = _VALUE.search(message)
    return "bad-value", {"value": value[1] or value[2]} if value else {}


def _with_key(code: str, path: str, fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields with the whole key; an unknown or missing key may not be part of the path."""
    last = fields.pop("name", None)
    if last is not None and path.rpartition(".")[2] != last:
        path = f"{path}.{last}" if path else last
    return {"key": path, **fields} if path else fields


def _by_key(message: str, path: str) -> str:
    """Name the key first, and the key that was probably intended."""
    match = _EXPECTED.search(message)
    if match is None:
        return f"`{path}`: {message}" if path and f"`{path}`" not in message else message
    unknown = "key" if match[1] == path.rpartition(".")[2] else f"`{path}`"
    return f"unknown {unknown} {match[1]}{nearest(match[1], _names(match[2]))}"


def _near(message: str) -> str:
    """Suggest one of the names that the engine expected, if one is similar."""
    match = _EXPECTED.search(message)
    suggestion = nearest(match[1], _names(match[2])) if match else ""
    return suggestion if "mean" in suggestion else ""


def _names(expected: str) -> list[str]:
    return re.findall("`([^`]+)`", expected)


def _find_field(document: str, path: str, message: str) -> str:
    """Find the field within `path` that a message is about: for tagged laws the engine reports its end."""
    named, value, missing = _NAMED.search(message), _VALUE.search(message), _MISSING.search(message)
    owners = _owners_of(missing[1]) if missing else set()
    for name, begin, end in _json(document).positions:
        if not name.startswith(path):
            continue
        last = name.rpartition(".")[2]
        if named and last in named.groups():
            return name
        table = json.loads(document[begin:end]) if missing and document[begin] == "{" else None
        if missing and table is not None and last in owners and missing[1] not in table:
            return name
        if value and document[begin:end].strip('"') == (value[1] or value[2]):
            return name
    return path


def _owners_of(key: str) -> set[str]:
    """Return the names of objects in a plan that require this key, by the plan's schema."""
    schema = json.loads(_engine.plan_schema())
    kinds = {
        f"#/$defs/{name}"
        for name, definition in schema["$defs"].items()
        if key in definition.get("required", ())
    }

    def collect(part: object) -> set[str]:
        if not isinstance(part, dict | list):
            return set()
        inner = part.values() if isinstance(part, dict) else part
        own = part.get("properties", {}) if isinstance(part, dict) else {}
        named = {
            name for name, value in own.items() if isinstance(value, dict) and value.get("$ref") in kinds
        }
        return named.union(*map(collect, inner))

    return collect(schema)


@dataclass
class _Fields:
    """Fields with the positions of their keys and values in a text."""

    text: str
    positions: list[tuple[str, int, int]] = field(default_factory=list)

    def skip_blank(self, at: int) -> int:
        match = _BLANK.match(self.text, at)
        return match.end() if match else at

    def value(self, at: int, path: str) -> int:
        """Record the value that begins here and everything in it; return its end."""
        opening = self.text[at : at + 1]
        end = self.inside(at + 1, path, opening) if opening in ("[", "{") else self.plain(at)
        self.positions.append((path, at, end))
        return end

    def plain(self, at: int) -> int:
        match = _TEXT.match(self.text, at) or _PLAIN.match(self.text, at)
        return match.end() if match else at + 1

    def inside(self, at: int, path: str, opening: str) -> int:
        """Record the elements of an array, or the fields of a table in braces."""
        number = 0
        while (at := self.skip_blank(at)) < len(self.text) and self.text[at] not in "]}":
            at = self.value(at, f"{path}[{number}]") if opening == "[" else self.pair(at, path)
            number += 1
        return at + 1

    def pair(self, at: int, path: str) -> int:
        """Record a key and its value."""
        key = _KEY.match(self.text, at)
        if key is None:
            return self.plain(at)
        names = [part.strip("\"'") for part in _PART.findall(key[0].rstrip(":= \t"))]
        own = ".".join([*([path] if path else []), *names])
        self.positions.append((own, at, len(key[0].rstrip(":= \t")) + at))
        return self.value(self.skip_blank(key.end()), own)


def _json(text: str) -> _Fields:
    fields = _Fields(text)
    fields.value(fields.skip_blank(0), "")
    return fields


def _toml(text: str) -> _Fields:
    fields, at, path = _Fields(text), 0, ""
    counts: dict[str, int] = {}
    while (at := fields.skip_blank(at)) < len(text):
        table = _TABLE.match(text, at)
        if table is None:
            at = fields.pair(at, path)
            continue
        path = ""
        names = [part.strip("\"'") for part in _PART.findall(table[2])]
        for index, name in enumerate(names):
            path = f"{path}.{name}" if path else name
            if table[1] == "[[" and index == len(names) - 1:
                counts[path] = counts.get(path, -1) + 1
            if path in counts:
                path = f"{path}[{counts[path]}]"
        fields.positions.append((path, at, table.end()))
        at = table.end()
    return fields


def field_at(text: str, column: int) -> str:
    """Name the field before a column of one line of JSON, counted from 1; empty if there is none.

    >>> field_at('{"law": {"kind": "gamma", "mean": 3}}', 35)
    'law.mean'
    """
    enclosing = [field for field in _json(text).positions if field[1] < column <= field[2]]
    return min(enclosing, key=lambda field: field[2] - field[1], default=("", 0, 0))[0]


def line_of(text: str, path: str, *, toml: bool) -> int | None:
    r"""Return the line of a field, or of the nearest field above it in the text; None if there is none.

    >>> line_of('name = "a"\n[[service]]\nweight = 2\n', "service[0].weight", toml=True)
    3
    """
    places = {name: begin for name, begin, _ in reversed((_toml if toml else _json)(text).positions)}
    while path and path not in places:
        path = path[: max(path.rfind("."), path.rfind("["), 0)]
    return text.count("\n", 0, places[path]) + 1 if path else None
