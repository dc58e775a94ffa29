"""OpenAPI documents (3.x, Swagger 2.0): a request for each operation, by its examples and schemas.

What a document leaves open is drawn anew for each request where that is easy (whole numbers, UUIDs, names),
and written as its schema allows elsewhere. See what it came to before it is sent: ``hindmost workload FILE``.
"""

from __future__ import annotations

import marshal
import math
import re
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, cast
from urllib.parse import quote, unquote, urlsplit

from hindmost.errors import UsageError
from hindmost.plan.http import as_json, escape_braces, plain_name
from hindmost.plan.secrets import literal
from hindmost.plan.sources.entries import METHODS, Entries, LeftOut, Request, multipart
from hindmost.plan.sources.place import Place

_DEEPEST = 8
"""Schemas within schemas that are written out; one may hold itself."""
_MOST_VALUES = 20_000
"""Of one request: a schema of ten lines that refers to itself ten times on each level would have more than
memory holds."""
_MOST_IN_ALL = 2_000_000
"""Values of all requests together."""
_LARGEST = 2**53
"""A bound beyond it is that of the type, as generators write it, and means none."""
_LONGEST_DRAWN = 64
"""Letters of a text whose schema sets no smaller bound."""
_BOUNDARY = "hindmost-boundary"
_FORMATS = {
    "uuid": "{{uuid}}",
    "date": "2026-01-15",
    "date-time": "2026-01-15T12:00:00Z",
    "time": "12:00:00Z",
    "email": "{{string:8}}@example.org",
    "hostname": "{{string:8}}.example.org",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "uri": "https://example.org/{{string:8}}",
    "byte": "aGluZG1vc3Q=",
}
_COMPOSED = frozenset({"allOf", "oneOf", "anyOf"})
_EXAMPLES = frozenset({"example", "examples", "default", "const"})
_PATH_PARAMETER = re.compile(r"\{([^{}]+)\}")
Value = str | list[str] | dict[str, str]
"""A parameter's value in templates: one, several, or several with names."""


def from_openapi(document: dict[str, Any], place: Place) -> Entries:
    """Read one request for each operation.

    Raises
    ------
    UsageError
        If the document has no paths, or the URL of its server cannot be read.
    """
    reader = _Reader(document, place)
    entries = Entries(place, "see spec.openapis.org; references to other files are not read")
    paths = document.get("paths")
    if not isinstance(paths, dict):
        raise _misshapen(place, "paths", "it has no object paths")
    for path, item in paths.items():
        if str(path).startswith("x-"):
            continue
        at = Place(place.path, operation=str(path))
        try:
            item = reader.resolved(item or {})
        except LeftOut as why:
            entries.leave_out(at, why)
            continue
        for method in METHODS:
            if method.lower() in item:
                at = Place(place.path, operation=f"{method} {path}")
                entries.read(at, partial(reader.request, str(path), method, item))
    return entries


def _misshapen(place: Place, key: str, why: str) -> UsageError:
    return UsageError(
        "bad-file",
        f"{place} is not an OpenAPI document: {why}",
        hint="see spec.openapis.org",
        key=key,
        **place.fields(),
    )


class _Reader:
    def __init__(self, document: dict[str, Any], place: Place) -> None:
        self.document = document
        self.values = self.before = 0
        self.bodies: dict[tuple[str, bytes], tuple[tuple[str, str], int]] = {}
        try:
            self.base = _base(document.get("servers") or [{"url": document.get("basePath") or ""}])
        except (LeftOut, LookupError, TypeError, AttributeError) as error:
            why = error if isinstance(error, LeftOut) else f"servers: {error!r}"
            raise _misshapen(place, "servers", str(why)) from None

    def resolved(self, one: Any) -> dict[str, Any]:  # noqa: ANN401 (whatever stands in the document)
        """What a reference within the document stands for; a schema ``true`` allows anything."""
        if isinstance(one, bool):
            return {}
        if not isinstance(one, dict):
            raise LeftOut(f"{str(one)[:40]!r} stands in place of an object", value=str(one)[:40])
        for _ in range(_DEEPEST):
            if "$ref" not in one:
                return cast("dict[str, Any]", one)
            key = str(one["$ref"])
            if not key.startswith("#"):
                raise LeftOut(f"it refers to another file, {key}", "unsupported", key=key)
            found: Any = self.document
            for part in key.removeprefix("#/").split("/"):
                part = unquote(part).replace("~1", "/").replace("~0", "~")
                found = found.get(part) if isinstance(found, dict) else None
            if not isinstance(found, dict):
                raise LeftOut(f"{key} is not in the document", key=key)
            one = found
        raise LeftOut(f"{one['$ref']} refers to itself", key=one["$ref"])

    def request(self, path: str, method: str, item: dict[str, Any]) -> tuple[str, Request]:
        """Return the request of one operation."""
        self.before, self.values = self.before + self.values, 0
        operation = self.resolved(item[method.lower()] or {})
        every = [*(item.get("parameters") or []), *(operation.get("parameters") or [])]
        parameters = [self.resolved(one) for one in every]
        last = {(str(one["name"]), one.get("in")): one for one in parameters}  # the operation's own come last
        query: list[str] = []
        headers: dict[str, str] = {}
        cookies: list[str] = []
        form = {name: one for (name, place), one in last.items() if place == "formData"}
        whole = next((one for (_, place), one in last.items() if place == "body"), None)
        of_path = {name: one for (name, place), one in last.items() if place == "path"}
        for (name, place), one in last.items():
            if not one.get("required"):
                continue
            if place == "query":
                query += _in_query(name, one, self.parameter(one))
            elif place == "header":
                headers[name] = literal(_simple(one, self.parameter(one, escape=False)))
            elif place == "cookie":
                cookies += _in_query(name, one, self.parameter(one))
        if cookies:
            headers["Cookie"] = literal("; ".join(cookies))

        def in_path(found: re.Match[str]) -> str:
            if (one := of_path.get(found[1])) is None:
                raise LeftOut(f"the path parameter {found[1]} is not described", key=found[1])
            return _simple(one, self.parameter(one))

        servers = operation.get("servers") or item.get("servers")
        base = _base(servers) if servers else self.base
        written = base + _PATH_PARAMETER.sub(in_path, _escaped_path("/" + path.removeprefix("/")))
        if query:
            written += ("&" if "?" in written else "?") + "&".join(query)
        found: Request = {"method": method, "path": written}
        if operation_id := operation.get("operationId"):
            found["name"] = plain_name(str(operation_id))
        body = operation.get("requestBody")
        kinds = operation.get("consumes") or self.document.get("consumes") or []
        if whole is not None:
            kind = next((one for one in kinds if "json" in one), kinds[0] if kinds else "application/json")
            body = {"content": {kind: {"schema": whole.get("schema", {})}}}
        elif form:
            usual = "multipart/form-data" if any(one.get("type") == "file" for one in form.values()) else ""
            kind = usual or (kinds[0] if kinds else "application/x-www-form-urlencoded")
            body = {"content": {kind: {"schema": {"type": "object", "properties": form}}}}
        if body:
            kind, found["body"] = self.body(self.resolved(body))
            headers["Content-Type"] = literal(kind)
        if codes := [code for one in map(str, operation.get("responses") or {}) if (code := _good(one))]:
            found["accept"] = sorted(codes, key=str)
        if headers:
            found["headers"] = headers
        return "", found

    def body(self, body: dict[str, Any]) -> tuple[str, str]:
        """Return Content-Type and text of a body, in the first media type that can be written."""
        content = body.get("content") or {}
        why = LeftOut("its body has no media type", key="requestBody")
        for kind in sorted(content, key=lambda one: "json" not in one):
            try:
                return self.written_once("application/json" if kind == "*/*" else kind, content[kind])
            except LeftOut as refused:
                why = refused
        raise why

    def written_once(self, kind: str, media: Any) -> tuple[str, str]:  # noqa: ANN401 (whatever stands there)
        """Return Content-Type and text of one media type; many operations have the same."""
        try:
            key = (kind, marshal.dumps(media, 2))
        except ValueError:  # a date of YAML, or too deep
            return self.written(kind, self.resolved(media))
        if key not in self.bodies:
            before = self.values
            self.bodies[key] = self.written(kind, self.resolved(media)), self.values - before
            return self.bodies[key][0]
        found, values = self.bodies[key]
        self.count(values)
        return found

    def written(self, kind: str, media: dict[str, Any]) -> tuple[str, str]:
        """Return Content-Type and text of one media type."""
        schema = self.resolved(media.get("schema", {}))
        example = _example(media)
        example = _example(schema) if example is None else example
        if "json" in kind:
            return kind, self.value(schema) if example is None else escape_braces(as_json(example))
        if kind == "application/x-www-form-urlencoded" and not isinstance(example, str):
            return kind, "&".join(
                pair for name, one in self.fields(schema, example) for pair in _in_query(name, {}, one)
            )
        if kind.startswith("multipart/form-data") and not isinstance(example, str):
            parts = [
                (name, text, "file" if binary else None, None)
                for name, one, binary in self.parts(schema, example)
                for text in (one if isinstance(one, list) else [one])
            ]
            return f"multipart/form-data; boundary={_BOUNDARY}", multipart(parts, _BOUNDARY)
        if isinstance(example, str):
            return kind, escape_braces(example)
        if schema.get("type") == "string" or kind.startswith("text/"):
            return kind, self.scalar(schema)
        raise LeftOut(f"its body is {kind}, without an example", "unsupported", value=kind)

    def fields(self, schema: dict[str, Any], example: object) -> Iterator[tuple[str, Value]]:
        """Names and values of a form, escaped as in a query."""
        if isinstance(example, Mapping):
            for name, value in example.items():
                yield str(name), _values(value, escape=True)
        else:
            for name, one in self.properties(schema):
                yield name, self.parameter(one)

    def parts(self, schema: dict[str, Any], example: object) -> Iterator[tuple[str, Any, bool]]:
        """Names and values of a multipart form, and whether each is a file."""
        if isinstance(example, Mapping):
            for name, value in example.items():
                yield str(name), _values(value, escape=False), False
            return
        for name, one in self.properties(schema):
            binary = one.get("format") == "binary" or one.get("type") == "file"
            if self.whole(one).get("type") == "object":
                yield name, self.value(one), binary
            else:
                yield name, self.parameter(one, escape=False), binary

    def properties(self, schema: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
        """What a request sends of an object: all properties but those that only replies have."""
        for name, one in (self.whole(schema).get("properties") or {}).items():
            if one is not False and not (found := self.resolved(one)).get("readOnly"):
                yield str(name), found

    def whole(self, schema: Any, depth: int = 0) -> dict[str, Any]:  # noqa: ANN401 (whatever stands there)
        """A schema with what it is composed of: all of ``allOf``, the first of ``oneOf`` and ``anyOf``."""
        self.count()
        found = self.resolved(schema)
        if depth > _DEEPEST or _COMPOSED.isdisjoint(found):
            return found
        schema = found
        parts = [
            *(schema.get("allOf") or []),
            *(schema.get("oneOf") or [])[:1],
            *(schema.get("anyOf") or [])[:1],
        ]
        found = {}
        own = {name: value for name, value in schema.items() if name not in _COMPOSED}
        for part in (*(self.whole(one, depth + 1) for one in parts), own):
            if part is not own and len(parts) + bool(own) > 1:  # an example of a part is none of the whole
                part = {name: value for name, value in part.items() if name not in _EXAMPLES}
            together = {**(found.get("properties") or {}), **(part.get("properties") or {})}
            found = {**found, **part, **({"properties": together} if together else {})}
        return found

    def count(self, values: int = 1) -> None:
        """Count values.

        Raises
        ------
        LeftOut
            If there are too many.
        """
        self.values += values
        if self.values > _MOST_VALUES or self.before + self.values > _MOST_IN_ALL:
            raise LeftOut(f"its body has more than {_MOST_VALUES} values", limit=_MOST_VALUES)

    def parameter(self, one: dict[str, Any], *, escape: bool = True) -> Value:
        """Return a parameter's value."""
        schema = self.resolved(one.get("schema", one))
        example = _example(one)
        if content := one.get("content"):
            media = self.resolved(next(iter(content.values())))
            example = _example(media)
            if example is None:
                raise LeftOut(f"its parameter {one.get('name')} has no example", "unsupported")
            text = example if isinstance(example, str) else as_json(example)
            return _values(text, escape=escape)
        schema = self.whole(schema)
        example = _example(schema) if example is None else example
        if example is not None:
            return _values(example, escape=escape)
        kind = _type(schema)
        if kind == "array":
            return [self.scalar(schema.get("items", {}))]
        if kind == "object":
            return {name: self.scalar(one) for name, one in self.properties(schema)}
        return self.scalar(schema)

    def scalar(self, schema: Any) -> str:  # noqa: ANN401 (whatever stands in the document)
        """Return one value that is no list and no object."""
        schema = self.whole(schema)
        if (example := _example(schema)) is not None:
            found = _values(example, escape=True)
        elif _type(schema) in ("array", "object"):
            found = []
        else:
            found = self.value(schema).strip('"')
        if not isinstance(found, str):
            raise LeftOut("a list or an object stands within a parameter", "unsupported")
        return found

    def value(self, schema: Any, depth: int = 0) -> str:  # noqa: ANN401 (whatever stands in the document)
        """Return JSON that a schema allows, as a template."""
        schema = self.whole(schema)
        if (example := _example(schema)) is not None:
            return escape_braces(as_json(example))
        kind = _type(schema)
        if kind == "object":
            if depth > _DEEPEST:
                return "{ }"
            pairs = [
                f"{escape_braces(as_json(name))}:{self.value(one, depth + 1)}"
                for name, one in self.properties(schema)
            ]
            return "{ " + ",".join(pairs) + " }"
        if kind == "array":
            return f"[{self.value(schema.get('items', {}), depth + 1)}]" if depth <= _DEEPEST else "[]"
        if kind in ("integer", "number"):
            return _number(schema, whole=kind == "integer")
        if kind == "boolean":
            return "{{choice:true|false}}"
        return "null" if kind == "null" else f'"{_text(schema)}"'


def _base(servers: Any) -> str:  # noqa: ANN401 (whatever stands in the document)
    """The path of the first server, its variables replaced by their defaults."""
    server = servers[0]
    variables = server.get("variables") or {}

    def default(found: re.Match[str]) -> str:
        one = variables.get(found[1]) or {}
        if (value := one.get("default", (one.get("enum") or [None])[0])) is None:
            raise LeftOut(f"the variable {found[1]} of its server has no default", key=found[1])
        return str(value)

    url = _PATH_PARAMETER.sub(default, str(server.get("url") or ""))
    try:
        path = urlsplit(url).path
    except ValueError:
        raise LeftOut(f"the URL of its server, {url[:60]!r}, is not a URL", value=url[:60]) from None
    return _escaped_path("/" + path.strip("/")) if path.strip("/") else ""


def _escaped_path(path: str) -> str:
    """A path as it is sent, with the braces of its parameters."""
    return escape_braces(quote(path.partition("#")[0], safe="{}/?:@!$&'()*+,;=%"))


def _in_query(name: str, parameter: dict[str, Any], value: Value) -> list[str]:
    """A parameter in a query, a cookie or a form, by its style (OpenAPI 3.0.3, 4.7.12.2)."""
    if isinstance(value, str):
        return [f"{quote(name)}={value}"]
    style = parameter.get("style") or parameter.get("collectionFormat") or ""
    between = {
        "spaceDelimited": "%20",
        "ssv": "%20",
        "pipeDelimited": "%7C",
        "pipes": "%7C",
        "tsv": "%09",
    }.get(style, ",")
    apart = bool(parameter.get("explode", style in ("", "form", "deepObject", "multi")))
    if "schema" not in parameter and "type" in parameter and style != "multi":  # Swagger 2.0
        apart = False
    if isinstance(value, list):
        return (
            [f"{quote(name)}={one}" for one in value] if apart else [f"{quote(name)}={between.join(value)}"]
        )
    if style == "deepObject":
        return [f"{quote(name)}%5B{quote(key)}%5D={one}" for key, one in value.items()]
    if apart:
        return [f"{quote(key)}={one}" for key, one in value.items()]
    return [f"{quote(name)}={between.join(f'{quote(key)}{between}{one}' for key, one in value.items())}"]


def _simple(parameter: dict[str, Any], value: Value) -> str:
    """A parameter in a path or a header."""
    if (style := parameter.get("style", "simple")) != "simple":
        raise LeftOut(f"its parameter {parameter.get('name')} is written in style {style}", "unsupported")
    if isinstance(value, dict):
        between = "=" if parameter.get("explode") else ","
        value = [f"{key}{between}{one}" for key, one in value.items()]
    return value if isinstance(value, str) else ",".join(value)


def _values(example: object, *, escape: bool) -> Value:
    def plain(one: object) -> str:
        if isinstance(one, list | dict):
            raise LeftOut("a list or an object stands within a parameter", "unsupported")
        text = as_json(one) if one is None or isinstance(one, bool | float) else str(one)
        return escape_braces(quote(text, safe="") if escape else text)

    if isinstance(example, dict):
        return {str(name): plain(one) for name, one in example.items()}
    return [plain(one) for one in example] if isinstance(example, list) else plain(example)


def _type(schema: dict[str, Any]) -> str:
    kind = schema.get("type") or ("object" if schema.get("properties") else "string")
    return str(next((one for one in kind if one != "null"), "null") if isinstance(kind, list) else kind)


def _bound(schema: dict[str, Any], name: str) -> float | None:
    """A bound; none where it is that of the type."""
    value = schema.get(name)
    if value is None or isinstance(value, bool):
        return None
    try:
        bound = float(value)
    except (TypeError, ValueError):
        raise LeftOut(
            f"{name} is {str(value)[:40]!r}, not a number", key=name, value=str(value)[:40]
        ) from None
    return bound if abs(bound) < _LARGEST else None


def _number(schema: dict[str, Any], *, whole: bool) -> str:
    """A number within its bounds (JSON Schema, Validation, 6.2): one of a thousand where an end is open."""
    low, high = _bound(schema, "minimum"), _bound(schema, "maximum")
    above, below = _bound(schema, "exclusiveMinimum"), _bound(schema, "exclusiveMaximum")
    if schema.get("exclusiveMinimum") is True:  # OpenAPI 3.0
        above = low
    if schema.get("exclusiveMaximum") is True:
        below = high
    step = _bound(schema, "multipleOf") or 0.0
    least = max((one for one in (low, above) if one is not None), default=None)
    most = min((one for one in (high, below) if one is not None), default=None)
    start = 1.0 if least is None and (most is None or most >= 1.0) else least
    start = most - 999 if start is None and most is not None else start
    assert start is not None
    end = start + 999 if most is None else most
    if step > 0.0:
        found = math.ceil(start / step) * step
        found += step if found == above else 0.0
        if found > end or found == below:
            raise LeftOut("no number is within its bounds", key="multipleOf")
        return as_json(int(found) if found == int(found) else found)
    first = math.ceil(start) + (above is not None and math.ceil(start) == above)
    last = math.floor(end) - (below is not None and math.floor(end) == below)
    if first <= last:
        return f"{{{{int:{first}..{last}}}}}"
    between = (start + end) / 2
    if whole or start > end or between in (above, below):
        raise LeftOut("no number is within its bounds", key="minimum")
    return as_json(between)


def _text(schema: dict[str, Any]) -> str:
    if (known := _FORMATS.get(str(schema.get("format")))) is not None:
        return known
    least, most = _bound(schema, "minLength"), _bound(schema, "maxLength")
    high = max(least or 0, _LONGEST_DRAWN)
    high = int(high if most is None else min(most, high))
    low = int(min(8, high) if least is None else max(1, least))
    if high < 1:
        return ""
    if low > high:
        raise LeftOut("no text is within its bounds", key="minLength")
    return f"{{{{string:{low}..{low if most is None else high}}}}}"


def _example(one: dict[str, Any]) -> object:
    if one.get("example") is not None:
        return one["example"]
    if examples := one.get("examples"):
        first = next(iter(examples.values())) if isinstance(examples, dict) else examples[0]
        return first.get("value") if isinstance(examples, dict) and isinstance(first, dict) else first
    for key in ("default", "const"):
        if one.get(key) is not None:
            return one[key]
    return one["enum"][0] if one.get("enum") else None


def _good(code: str) -> int | str | None:
    """A status code, or a class of them, that is a success; None for all others."""
    if code.upper() in ("2XX", "3XX"):
        return code.lower()
    return int(code) if re.fullmatch(r"[23]\d\d", code) else None
