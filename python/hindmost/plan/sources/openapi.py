"""OpenAPI documents (3.x, Swagger 2.0): a request for each operation, by its examples and schemas.

What a document leaves open is drawn anew for each request where that is easy (whole numbers, UUIDs, names),
and written as its schema allows elsewhere. See what it came to before it is sent: ``hindmost workload FILE``.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import quote, urlsplit

from hindmost.errors import UsageError
from hindmost.plan.http import as_json, quoted
from hindmost.plan.secrets import literal
from hindmost.plan.sources.place import Place

_METHODS = ("get", "put", "post", "delete", "options", "head", "patch")
_DEEPEST = 8
"""Schemas within schemas that are written out; one may hold itself."""


def from_openapi(document: dict[str, Any], place: Place) -> list[dict[str, Any]]:
    """One request for each operation.

    Raises
    ------
    UsageError
        If a reference leads nowhere, or the document has not the shape that it should.
    """
    reader = _Reader(document, place)
    found = []
    try:
        for path, item in document.get("paths", {}).items():
            item = reader.resolved(item)
            for method in _METHODS:
                if method in item:
                    shared = item.get("parameters", [])
                    found.append(reader.request(path, method, reader.resolved(item[method]), shared))
    except (AttributeError, TypeError, KeyError) as error:
        raise UsageError(
            "bad-file",
            f"{place} is not an OpenAPI document: {error!r}",
            hint="see spec.openapis.org",
            **place.fields(),
        ) from None
    return found


_MOST_VALUES = 20_000
"""A schema of ten lines that refers to itself ten times on each level would have more than memory holds."""


class _Reader:
    def __init__(self, document: dict[str, Any], place: Place) -> None:
        self.document, self.place = document, place
        self.values = 0
        servers = document.get("servers") or [{"url": document.get("basePath", "")}]
        self.base = urlsplit(str(servers[0].get("url", ""))).path.rstrip("/")

    def resolved(self, one: dict[str, Any]) -> dict[str, Any]:
        """What a reference within the document stands for."""
        for _ in range(_DEEPEST):
            if "$ref" not in one:
                return one
            found: Any = self.document
            for part in str(one["$ref"]).removeprefix("#/").split("/"):
                found = (
                    found.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(found, dict) else None
                )
            if not isinstance(found, dict):
                raise UsageError(
                    "bad-file",
                    f"{self.place}: {one['$ref']} is not in the document",
                    hint="references to other files are not read",
                    key=one["$ref"],
                    **self.place.fields(),
                )
            one = found
        raise UsageError(
            "bad-file",
            f"{self.place}: {one['$ref']} refers to itself",
            hint="correct the document",
            key=one["$ref"],
            **self.place.fields(),
        )

    def request(
        self, path: str, method: str, operation: dict[str, Any], shared: list[dict[str, Any]]
    ) -> dict[str, Any]:
        query, headers = [], {}
        body = operation.get("requestBody")
        own = [self.resolved(one) for one in operation.get("parameters", [])]
        known = {(one.get("name"), one.get("in")) for one in own}
        inherited = [self.resolved(one) for one in shared]
        every = [*own, *(one for one in inherited if (one.get("name"), one.get("in")) not in known)]
        for one in every:
            name, place = str(one.get("name", "")), one.get("in")
            if place == "path":
                path = path.replace(f"{{{name}}}", self.text(one))
            elif place == "query" and one.get("required"):
                query.append(f"{quote(name)}={self.text(one)}")
            elif place == "header" and one.get("required"):
                headers[name] = literal(self.text(one, escape=False))
            elif place == "body":
                body = {"content": {"application/json": {"schema": one.get("schema", {})}}}
        whole = self.base + path + ("?" + "&".join(query) if query else "")
        found: dict[str, Any] = {"method": method.upper(), "path": whole or "/"}
        if called := operation.get("operationId"):
            found["name"] = "".join("_" if c == "," or c.isspace() else c for c in str(called))
        if body is not None:
            kind, text = self.body(self.resolved(body))
            if kind:
                found["body"] = text
                headers["Content-Type"] = literal(kind)
        if codes := sorted(int(code) for code in map(str, operation.get("responses", {})) if _good(code)):
            found["accept"] = codes
        if headers:
            found["headers"] = headers
        return found

    def body(self, body: dict[str, Any]) -> tuple[str, str]:
        content = body.get("content", {})
        kind = next((one for one in content if "json" in one), None)
        if kind is None:
            return "", ""
        media = content[kind]
        if (example := _example(self.resolved(media))) is not None:
            return kind, quoted(as_json(example))
        return kind, self.value(media.get("schema", {}))

    def text(self, parameter: dict[str, Any], *, escape: bool = True) -> str:
        """A parameter's value, as a template."""
        schema = self.resolved(parameter.get("schema", parameter))
        example = _example(parameter)
        example = _example(schema) if example is None else example
        if example is not None:
            plain = str(example).lower() if isinstance(example, bool) else str(example)
            return quoted(quote(plain, safe="") if escape else plain)
        return self.value(schema).strip('"')

    def value(self, schema: dict[str, Any], depth: int = 0) -> str:
        """JSON that a schema allows, as a template."""
        self.values += 1
        if self.values > _MOST_VALUES:
            raise UsageError(
                "bad-file",
                f"{self.place}: its bodies have more than {_MOST_VALUES} values together",
                hint="give an example of each body, or leave requests out",
                limit=_MOST_VALUES,
                **self.place.fields(),
            )
        schema = self.resolved(schema)
        if (example := _example(schema)) is not None:
            return quoted(as_json(example))
        for key in ("allOf", "oneOf", "anyOf"):
            if parts := schema.get(key):
                parts = [self.resolved(one) for one in (parts if key == "allOf" else parts[:1])]
                together = {name: one for part in parts for name, one in part.get("properties", {}).items()}
                return self.value({**parts[0], **({"properties": together} if together else {})}, depth + 1)
        kind = schema.get("type", "object" if "properties" in schema else "string")
        if isinstance(kind, list):
            kind = next((one for one in kind if one != "null"), "null")
        if kind == "object":
            if depth > _DEEPEST:
                return "{ }"
            every = schema.get("properties", {})
            pairs = [f"{as_json(name)}:{self.value(one, depth + 1)}" for name, one in every.items()]
            return "{ " + ",".join(pairs) + " }"
        if kind == "array":
            return f"[{self.value(schema.get('items', {}), depth + 1)}]" if depth <= _DEEPEST else "[]"
        if kind in ("integer", "number"):
            low = int(schema.get("minimum", 1))
            return f"{{{{int:{low}..{max(low, int(schema.get('maximum', low + 999)))}}}}}"
        if kind == "boolean":
            return "{{choice:true|false}}"
        return "null" if kind == "null" else f'"{_words(schema)}"'


def _words(schema: dict[str, Any]) -> str:
    match schema.get("format"):
        case "uuid":
            return "{{uuid}}"
        case "date":
            return "2026-01-15"
        case "date-time":
            return "2026-01-15T12:00:00Z"
        case "email":
            return "{{string:8}}@example.org"
    low = max(1, int(schema.get("minLength", 8)))
    return f"{{{{string:{low}..{max(low, min(int(schema.get('maxLength', low)), 1 << 20))}}}}}"


def _example(one: dict[str, Any]) -> object:
    if "example" in one:
        return one["example"]
    if examples := one.get("examples"):
        first = next(iter(examples.values())) if isinstance(examples, dict) else examples[0]
        return first.get("value") if isinstance(examples, dict) and isinstance(first, dict) else first
    for key in ("default", "const"):
        if key in one:
            return one[key]
    return one["enum"][0] if one.get("enum") else None


def _good(code: str) -> bool:
    return code.isdecimal() and code.startswith(("2", "3"))
