"""OpenAPI documents (3.x, Swagger 2.0): one request per operation, from its examples and schemas.

Values that a document leaves open are drawn for each request if that is easy (integers, UUIDs, names), and
otherwise fixed to a value that the schema allows. ``hindmost workload FILE`` shows the requests before they
are sent.
"""

from __future__ import annotations

import marshal
import math
import re
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, cast
from urllib.parse import quote, unquote, urlsplit

from hindmost.core.plan.http import as_json, escape_braces, plain_name
from hindmost.core.plan.secrets import literal
from hindmost.core.plan.sources.entries import METHODS, Entries, LeftOut, Request, multipart
from hindmost.core.plan.sources.place import Place
from hindmost.errors import UsageError

_DEEPEST = 8
"""Most nested schemas that are written out; a schema may contain itself."""
_MOST_VALUES = 20_000
"""Most values of one request. Without it, a schema of ten lines that refers to itself ten times on each level
would exceed the memory."""
_MOST_IN_ALL = 2_000_000
"""Most values of all requests together."""
_LARGEST = 2**53
"""A larger bound is only the limit of a type, written by a generator, and is ignored."""
_LONGEST_DRAWN = 64
"""Maximum length of a text whose schema sets no smaller limit."""
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
            item = reader.resolve(item or {})
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

    def resolve(self, item: Any) -> dict[str, Any]:  # noqa: ANN401 (any value of the document)
        """Follow a reference within the document; the schema ``true`` allows anything."""
        if isinstance(item, bool):
            return {}
        if not isinstance(item, dict):
            raise LeftOut(f"{str(item)[:40]!r} is not an object", value=str(item)[:40])
        for _ in range(_DEEPEST):
            if "$ref" not in item:
                return cast("dict[str, Any]", item)
            key = str(item["$ref"])
            if not key.startswith("#"):
                raise LeftOut(f"it refers to another file, {key}", "unsupported", key=key)
            target: Any = self.document
            for part in key.removeprefix("#/").split("/"):
                part = unquote(part).replace("~1", "/").replace("~0", "~")
                target = target.get(part) if isinstance(target, dict) else None
            if not isinstance(target, dict):
                raise LeftOut(f"{key} is not in the document", key=key)
            item = target
        raise LeftOut(f"{item['$ref']} refers to itself", key=item["$ref"])

    def request(self, path: str, method: str, item: dict[str, Any]) -> tuple[str, Request]:
        """Return the request of one operation."""
        self.before, self.values = self.before + self.values, 0
        operation = self.resolve(item[method.lower()] or {})
        shared, own = item.get("parameters") or [], operation.get("parameters") or []
        parameters = [self.resolve(parameter) for parameter in (*shared, *own)]
        last = {(str(each["name"]), each.get("in")): each for each in parameters}  # own parameters override
        query: list[str] = []
        headers: dict[str, str] = {}
        cookies: list[str] = []
        form = {name: parameter for (name, place), parameter in last.items() if place == "formData"}
        body_parameter = next((parameter for (_, place), parameter in last.items() if place == "body"), None)
        of_path = {name: parameter for (name, place), parameter in last.items() if place == "path"}
        for (name, place), parameter in last.items():
            if not parameter.get("required"):
                continue
            if place == "query":
                query += _in_query(name, parameter, self.parameter(parameter))
            elif place == "header":
                headers[name] = literal(_simple(parameter, self.parameter(parameter, escape=False)))
            elif place == "cookie":
                cookies += _in_query(name, parameter, self.parameter(parameter))
        if cookies:
            headers["Cookie"] = literal("; ".join(cookies))

        def fill_path(match: re.Match[str]) -> str:
            if (parameter := of_path.get(match[1])) is None:
                raise LeftOut(f"the path parameter {match[1]} is not described", key=match[1])
            return _simple(parameter, self.parameter(parameter))

        servers = operation.get("servers") or item.get("servers")
        base = _base(servers) if servers else self.base
        url = base + _PATH_PARAMETER.sub(fill_path, _escaped_path("/" + path.removeprefix("/")))
        if query:
            url += ("&" if "?" in url else "?") + "&".join(query)
        request: Request = {"method": method, "path": url}
        if operation_id := operation.get("operationId"):
            request["name"] = plain_name(str(operation_id))
        body = operation.get("requestBody")
        media_types = operation.get("consumes") or self.document.get("consumes") or []
        if body_parameter is not None:
            kind = next(
                (each for each in media_types if "json" in each),
                media_types[0] if media_types else "application/json",
            )
            body = {"content": {kind: {"schema": body_parameter.get("schema", {})}}}
        elif form:
            usual = (
                "multipart/form-data" if any(field.get("type") == "file" for field in form.values()) else ""
            )
            kind = usual or (media_types[0] if media_types else "application/x-www-form-urlencoded")
            body = {"content": {kind: {"schema": {"type": "object", "properties": form}}}}
        if body:
            kind, request["body"] = self.body(self.resolve(body))
            headers["Content-Type"] = literal(kind)
        if codes := [
            code for each in map(str, operation.get("responses") or {}) if (code := _success_code(each))
        ]:
            request["accept"] = sorted(codes, key=str)
        if headers:
            request["headers"] = headers
        return "", request

    def body(self, body: dict[str, Any]) -> tuple[str, str]:
        """Return Content-Type and text of a body, in the first media type that can be written."""
        content = body.get("content") or {}
        why = LeftOut("its body has no media type", key="requestBody")
        for kind in sorted(content, key=lambda one: "json" not in one):
            try:
                return self.encode_once("application/json" if kind == "*/*" else kind, content[kind])
            except LeftOut as refused:
                why = refused
        raise why

    def encode_once(self, kind: str, media: Any) -> tuple[str, str]:  # noqa: ANN401 (any value of the document)
        """Return Content-Type and text of one media type, encoded once: many operations share it."""
        try:
            key = (kind, marshal.dumps(media, 2))
        except ValueError:  # a date of YAML, or too deep
            return self.encode(kind, self.resolve(media))
        if key not in self.bodies:
            before = self.values
            self.bodies[key] = self.encode(kind, self.resolve(media)), self.values - before
            return self.bodies[key][0]
        encoded, values = self.bodies[key]
        self.count(values)
        return encoded

    def encode(self, kind: str, media: dict[str, Any]) -> tuple[str, str]:
        """Return Content-Type and text of one media type."""
        schema = self.resolve(media.get("schema", {}))
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
        """Yield names and values of a form, escaped as in a query."""
        if isinstance(example, Mapping):
            for name, value in example.items():
                yield str(name), _values(value, escape=True)
        else:
            for name, one in self.properties(schema):
                yield name, self.parameter(one)

    def parts(self, schema: dict[str, Any], example: object) -> Iterator[tuple[str, Any, bool]]:
        """Yield names and values of a multipart form, and whether each is a file."""
        if isinstance(example, Mapping):
            for name, value in example.items():
                yield str(name), _values(value, escape=False), False
            return
        for name, one in self.properties(schema):
            binary = one.get("format") == "binary" or one.get("type") == "file"
            if self.merge(one).get("type") == "object":
                yield name, self.value(one), binary
            else:
                yield name, self.parameter(one, escape=False), binary

    def properties(self, schema: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the properties of an object that requests send: all that are not ``readOnly``."""
        for name, one in (self.merge(schema).get("properties") or {}).items():
            if one is not False and not (found := self.resolve(one)).get("readOnly"):
                yield str(name), found

    def merge(self, schema: Any, depth: int = 0) -> dict[str, Any]:  # noqa: ANN401 (any value of the document)
        """Merge a composed schema: all of ``allOf``, the first of ``oneOf`` and ``anyOf``."""
        self.count()
        found = self.resolve(schema)
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
        for part in (*(self.merge(one, depth + 1) for one in parts), own):
            if part is not own and len(parts) + bool(own) > 1:  # examples of a part do not fit the whole
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
        schema = self.resolve(one.get("schema", one))
        example = _example(one)
        if content := one.get("content"):
            media = self.resolve(next(iter(content.values())))
            example = _example(media)
            if example is None:
                raise LeftOut(f"its parameter {one.get('name')} has no example", "unsupported")
            text = example if isinstance(example, str) else as_json(example)
            return _values(text, escape=escape)
        schema = self.merge(schema)
        example = _example(schema) if example is None else example
        if example is not None:
            return _values(example, escape=escape)
        kind = _type(schema)
        if kind == "array":
            return [self.scalar(schema.get("items", {}))]
        if kind == "object":
            return {name: self.scalar(one) for name, one in self.properties(schema)}
        return self.scalar(schema)

    def scalar(self, schema: Any) -> str:  # noqa: ANN401 (any value of the document)
        """Return one value that is neither a list nor an object."""
        schema = self.merge(schema)
        if (example := _example(schema)) is not None:
            found = _values(example, escape=True)
        elif _type(schema) in ("array", "object"):
            found = []
        else:
            found = self.value(schema).strip('"')
        if not isinstance(found, str):
            raise LeftOut("a list or an object is nested in a parameter", "unsupported")
        return found

    def value(self, schema: Any, depth: int = 0) -> str:  # noqa: ANN401 (any value of the document)
        """Return JSON that a schema allows, as a template."""
        schema = self.merge(schema)
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


def _base(servers: Any) -> str:  # noqa: ANN401 (any value of the document)
    """Return the path of the first server, with variables replaced by their defaults."""
    server = servers[0]
    variables = server.get("variables") or {}

    def default(match: re.Match[str]) -> str:
        variable = variables.get(match[1]) or {}
        if (value := variable.get("default", (variable.get("enum") or [None])[0])) is None:
            raise LeftOut(f"the variable {match[1]} of its server has no default", key=match[1])
        return str(value)

    url = _PATH_PARAMETER.sub(default, str(server.get("url") or ""))
    try:
        path = urlsplit(url).path
    except ValueError:
        raise LeftOut(f"the URL of its server, {url[:60]!r}, is not a URL", value=url[:60]) from None
    return _escaped_path("/" + path.strip("/")) if path.strip("/") else ""


def _escaped_path(path: str) -> str:
    """Return a path as sent, with the braces of its parameters."""
    return escape_braces(quote(path.partition("#")[0], safe="{}/?:@!$&'()*+,;=%"))


def _in_query(name: str, parameter: dict[str, Any], value: Value) -> list[str]:
    """Write a parameter for a query, a cookie or a form, by its style (OpenAPI 3.0.3, 4.7.12.2)."""
    if isinstance(value, str):
        return [f"{quote(name)}={value}"]
    style = parameter.get("style") or parameter.get("collectionFormat") or ""
    separator = {
        "spaceDelimited": "%20",
        "ssv": "%20",
        "pipeDelimited": "%7C",
        "pipes": "%7C",
        "tsv": "%09",
    }.get(style, ",")
    exploded = bool(parameter.get("explode", style in ("", "form", "deepObject", "multi")))
    if "schema" not in parameter and "type" in parameter and style != "multi":  # Swagger 2.0
        exploded = False
    if isinstance(value, list):
        return (
            [f"{quote(name)}={item}" for item in value]
            if exploded
            else [f"{quote(name)}={separator.join(value)}"]
        )
    if style == "deepObject":
        return [f"{quote(name)}%5B{quote(key)}%5D={item}" for key, item in value.items()]
    if exploded:
        return [f"{quote(key)}={item}" for key, item in value.items()]
    return [
        f"{quote(name)}={separator.join(f'{quote(key)}{separator}{item}' for key, item in value.items())}"
    ]


def _simple(parameter: dict[str, Any], value: Value) -> str:
    """Write a parameter for a path or a header."""
    if (style := parameter.get("style", "simple")) != "simple":
        raise LeftOut(f"its parameter {parameter.get('name')} is written in style {style}", "unsupported")
    if isinstance(value, dict):
        separator = "=" if parameter.get("explode") else ","
        value = [f"{key}{separator}{one}" for key, one in value.items()]
    return value if isinstance(value, str) else ",".join(value)


def _values(example: object, *, escape: bool) -> Value:
    def plain(item: object) -> str:
        if isinstance(item, list | dict):
            raise LeftOut("a list or an object is nested in a parameter", "unsupported")
        text = as_json(item) if item is None or isinstance(item, bool | float) else str(item)
        return escape_braces(quote(text, safe="") if escape else text)

    if isinstance(example, dict):
        return {str(name): plain(item) for name, item in example.items()}
    return [plain(item) for item in example] if isinstance(example, list) else plain(example)


def _type(schema: dict[str, Any]) -> str:
    kind = schema.get("type") or ("object" if schema.get("properties") else "string")
    return str(next((one for one in kind if one != "null"), "null") if isinstance(kind, list) else kind)


def _bound(schema: dict[str, Any], name: str) -> float | None:
    """Return a bound; None if it is only the limit of the type."""
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
    """Return a number within its bounds (JSON Schema, Validation, 6.2): one of 1,000 if an end is open."""
    low, high = _bound(schema, "minimum"), _bound(schema, "maximum")
    above, below = _bound(schema, "exclusiveMinimum"), _bound(schema, "exclusiveMaximum")
    if schema.get("exclusiveMinimum") is True:  # OpenAPI 3.0
        above = low
    if schema.get("exclusiveMaximum") is True:
        below = high
    step = _bound(schema, "multipleOf") or 0.0
    least = max((bound for bound in (low, above) if bound is not None), default=None)
    most = min((bound for bound in (high, below) if bound is not None), default=None)
    start = 1.0 if least is None and (most is None or most >= 1.0) else least
    start = most - 999 if start is None and most is not None else start
    assert start is not None
    end = start + 999 if most is None else most
    if step > 0.0:
        number = math.ceil(start / step) * step
        number += step if number == above else 0.0
        if number > end or number == below:
            raise LeftOut("no number is within its bounds", key="multipleOf")
        return as_json(int(number) if number == int(number) else number)
    first = math.ceil(start) + (above is not None and math.ceil(start) == above)
    last = math.floor(end) - (below is not None and math.floor(end) == below)
    if first <= last:
        return f"{{{{int:{first}..{last}}}}}"
    middle = (start + end) / 2
    if whole or start > end or middle in (above, below):
        raise LeftOut("no number is within its bounds", key="minimum")
    return as_json(middle)


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


def _example(schema: dict[str, Any]) -> object:
    if schema.get("example") is not None:
        return schema["example"]
    if examples := schema.get("examples"):
        first = next(iter(examples.values())) if isinstance(examples, dict) else examples[0]
        return first.get("value") if isinstance(examples, dict) and isinstance(first, dict) else first
    for key in ("default", "const"):
        if schema.get(key) is not None:
            return schema[key]
    return schema["enum"][0] if schema.get("enum") else None


def _success_code(code: str) -> int | str | None:
    """Return a successful status code or class; None for all others."""
    if code.upper() in ("2XX", "3XX"):
        return code.lower()
    return int(code) if re.fullmatch(r"[23]\d\d", code) else None
