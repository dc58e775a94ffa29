"""Where the keys of a document stand in the text that a person wrote: TOML or JSON.

The engine reads a document as one line of JSON, and counts columns there. `field_at` names the field that
stands at such a column; `line_of` finds that field in the text that was written.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hindmost import _engine
from hindmost.names import nearest

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
class Written:
    """A document's text, as a person wrote it; ``path``: its file, or the preset that it is."""

    text: str
    toml: bool
    path: str | None = None


@dataclass(frozen=True)
class Refusal:
    """Why the engine refused a document: a code, a sentence, and the fields of an error."""

    code: str
    text: str
    fields: dict[str, Any]


def explained(message: str, document: str, where: str, written: Written | None, within: str = "") -> str:
    """Say what the engine refused: the text of `located`."""
    return located(message, document, where, written, within).text


def located(
    message: str,
    document: str,
    where: str,
    written: Written | None,
    within: str = "",
    fields: Mapping[str, Any] | None = None,
) -> Refusal:
    """Say what the engine refused, by field, and by line of what was written.

    Where the field does not lie within what was written, the message is given back without its column.

    Parameters
    ----------
    message : str
        The engine's.
    document : str
        The JSON that it was given.
    where : str
        What the document is called.
    written : Written, optional
        What the document was read from.
    within : str
        The part of the document that was written; all of it by default.
    fields : mapping, optional
        Those of the engine's error: ``field``, ``value``, ``must``.
    """
    column, known = _COLUMN.search(message), _FIELD.search(message)
    path = known[1] if known else ""
    if column:
        path = _meant(document, field_at(document, int(column[1])), message)
        message = _UNREAD.sub("", message[: column.start()])
    code, found = _kind(message)
    if code == "bad-value" and found.get("known") and path.rpartition(".")[2] == found["value"]:
        code, found = "unknown-key", {"known": found["known"]}  # the kind of a law is its only key
    found = {name: value for name, value in (fields or {}).items() if name != "field"} | found
    if not within:
        text = f"clone field `{path}`: {message}{_near(message)}" if column and path else message
    elif path.partition(".")[0] != within:
        return Refusal(code, message, _keyed(code, path, found))
    else:
        path = path.removeprefix(within).removeprefix(".")
        text = _by_key(message, path) if column else message.replace(f"plan field `{within}.", "`")
    line = line_of(written.text, path, toml=written.toml) if written else None
    if written is not None and written.path is not None:
        found["path"] = written.path
    if line is not None:
        found["line"] = line
    told = f"{where}{'' if line is None else f', line {line}'}: {text}"
    return Refusal(code, told, _keyed(code, path, found))


def _kind(message: str) -> tuple[str, dict[str, Any]]:
    """Code and fields of a refusal, as far as its sentence tells."""
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


def _keyed(code: str, path: str, fields: dict[str, Any]) -> dict[str, Any]:
    """The fields with the whole key; a key that is unknown or missing may not be part of the path."""
    last = fields.pop("name", None)
    if last is not None and path.rpartition(".")[2] != last:
        path = f"{path}.{last}" if path else last
    return {"key": path, **fields} if path else fields


def _by_key(message: str, path: str) -> str:
    """Name the key first, and that which was meant."""
    found = _EXPECTED.search(message)
    if found is None:
        return f"`{path}`: {message}" if path and f"`{path}`" not in message else message
    unknown = "key" if found[1] == path.rpartition(".")[2] else f"`{path}`"
    return f"unknown {unknown} {found[1]}{nearest(found[1], _names(found[2]))}"


def _near(message: str) -> str:
    """The name that was meant, where one of those that the engine expected is near."""
    found = _EXPECTED.search(message)
    told = nearest(found[1], _names(found[2])) if found else ""
    return told if "mean" in told else ""


def _names(expected: str) -> list[str]:
    return re.findall("`([^`]+)`", expected)


def _meant(document: str, path: str, message: str) -> str:
    """Name the field within `path` that a message is about: of tagged laws the engine tells the end alone."""
    named, value, missing = _NAMED.search(message), _VALUE.search(message), _MISSING.search(message)
    needing = _needing(missing[1]) if missing else set()
    for name, begin, end in _json(document).found:
        if not name.startswith(path):
            continue
        last = name.rpartition(".")[2]
        if named and last in named.groups():
            return name
        table = json.loads(document[begin:end]) if missing and document[begin] == "{" else None
        if missing and table is not None and last in needing and missing[1] not in table:
            return name
        if value and document[begin:end].strip('"') == (value[1] or value[2]):
            return name
    return path


def _needing(key: str) -> set[str]:
    """Names of objects in a plan that must have this key, as the plan's schema says."""
    schema = json.loads(_engine.plan_schema())
    kinds = {f"#/$defs/{name}" for name, one in schema["$defs"].items() if key in one.get("required", ())}

    def found(part: object) -> set[str]:
        if not isinstance(part, dict | list):
            return set()
        inner = part.values() if isinstance(part, dict) else part
        own = part.get("properties", {}) if isinstance(part, dict) else {}
        named = {name for name, one in own.items() if isinstance(one, dict) and one.get("$ref") in kinds}
        return named.union(*map(found, inner))

    return found(schema)


@dataclass
class _Fields:
    """Fields with the places of their keys and values in a text."""

    text: str
    found: list[tuple[str, int, int]] = field(default_factory=list)

    def blank(self, at: int) -> int:
        found = _BLANK.match(self.text, at)
        return found.end() if found else at

    def value(self, at: int, path: str) -> int:
        """Note the value that begins here, and all that is in it; where it ends."""
        opening = self.text[at : at + 1]
        end = self.inside(at + 1, path, opening) if opening in ("[", "{") else self.plain(at)
        self.found.append((path, at, end))
        return end

    def plain(self, at: int) -> int:
        found = _TEXT.match(self.text, at) or _PLAIN.match(self.text, at)
        return found.end() if found else at + 1

    def inside(self, at: int, path: str, opening: str) -> int:
        """The elements of an array, or the fields of a table in braces."""
        number = 0
        while (at := self.blank(at)) < len(self.text) and self.text[at] not in "]}":
            at = self.value(at, f"{path}[{number}]") if opening == "[" else self.pair(at, path)
            number += 1
        return at + 1

    def pair(self, at: int, path: str) -> int:
        """A key and its value."""
        key = _KEY.match(self.text, at)
        if key is None:
            return self.plain(at)
        names = [part.strip("\"'") for part in _PART.findall(key[0].rstrip(":= \t"))]
        own = ".".join([*([path] if path else []), *names])
        self.found.append((own, at, len(key[0].rstrip(":= \t")) + at))
        return self.value(self.blank(key.end()), own)


def _json(text: str) -> _Fields:
    fields = _Fields(text)
    fields.value(fields.blank(0), "")
    return fields


def _toml(text: str) -> _Fields:
    fields, at, path = _Fields(text), 0, ""
    counts: dict[str, int] = {}
    while (at := fields.blank(at)) < len(text):
        table = _TABLE.match(text, at)
        if table is None:
            at = fields.pair(at, path)
            continue
        path = ""
        names = [part.strip("\"'") for part in _PART.findall(table[2])]
        for place, name in enumerate(names):
            path = f"{path}.{name}" if path else name
            if table[1] == "[[" and place == len(names) - 1:
                counts[path] = counts.get(path, -1) + 1
            if path in counts:
                path = f"{path}[{counts[path]}]"
        fields.found.append((path, at, table.end()))
        at = table.end()
    return fields


def field_at(text: str, column: int) -> str:
    """Name the field that stands before a column of one line of JSON, counted from 1; empty if none does.

    >>> field_at('{"law": {"kind": "gamma", "mean": 3}}', 35)
    'law.mean'
    """
    around = [one for one in _json(text).found if one[1] < column <= one[2]]
    return min(around, key=lambda one: one[2] - one[1], default=("", 0, 0))[0]


def line_of(text: str, path: str, *, toml: bool) -> int | None:
    r"""Find the line of a field, or of the nearest above it that the text has; None where it has none.

    >>> line_of('name = "a"\n[[service]]\nweight = 2\n', "service[0].weight", toml=True)
    3
    """
    places = {name: begin for name, begin, _ in reversed((_toml if toml else _json)(text).found)}
    while path and path not in places:
        path = path[: max(path.rfind("."), path.rfind("["), 0)]
    return text.count("\n", 0, places[path]) + 1 if path else None
