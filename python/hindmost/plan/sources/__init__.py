"""Files of other tools that hold requests: a ``vegeta`` targets file, a HAR file, an OpenAPI document."""

from __future__ import annotations

import json
import re
from importlib import import_module
from pathlib import Path
from typing import Any

from hindmost.documents import parse_json, read_bytes
from hindmost.errors import UsageError
from hindmost.plan.http import called
from hindmost.plan.sources.har import from_har
from hindmost.plan.sources.openapi import from_openapi
from hindmost.plan.sources.place import Place
from hindmost.plan.sources.vegeta import from_vegeta

__all__ = ["read_requests"]

_LARGEST_BYTES = 256 << 20
_MOST_KINDS = 60
"""Names of requests whose figures are kept apart: the engine takes 64."""


def read_requests(path: Path) -> dict[str, Any]:
    """Read a file of requests, whichever tool wrote it, as a workload of kind ``http``.

    Raises
    ------
    UsageError
        If it cannot be read, is none of these, or holds no request; names the line where there is one.
    """
    place = Place(path)
    try:
        if path.stat().st_size > _LARGEST_BYTES:
            raise UsageError(
                "bad-file",
                f"{place} is larger than {_LARGEST_BYTES >> 20} MiB",
                hint="leave some requests out",
                limit=_LARGEST_BYTES,
                **place.fields(),
            )
        text = read_bytes(path, _LARGEST_BYTES).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise UsageError(
            "unreadable-file" if path.exists() else "no-such-file",
            f"{place}: cannot be read: {why}",
            hint=f"ls -l {path}",
            **place.fields(),
        ) from None
    document = _document(path, text, place)
    if isinstance(document, dict) and "log" in document:
        requests = from_har(document, place)
    elif isinstance(document, dict) and ("openapi" in document or "swagger" in document):
        requests = from_openapi(document, place)
    else:
        requests = from_vegeta(text, path.absolute().parent, place)
    if not requests:
        raise UsageError(
            "bad-file",
            f"{place} holds no request",
            hint="see hindmost measure --help, --requests",
            **place.fields(),
        )
    return {"kind": "http", "requests": _counted(requests)}


_DEEPEST = 200
"""Levels of brackets; PyYAML takes the square of them."""


def _depth(text: str) -> int:
    """At most so many brackets are open at a time."""
    deepest = now = 0
    for found in re.finditer(r"[\[{]|[\]}]", text):
        now = now + 1 if found[0] in "[{" else max(0, now - 1)
        deepest = max(deepest, now)
    return deepest


def _document(path: Path, text: str, place: Place) -> object:
    written_as_yaml = path.suffix in (".yaml", ".yml")
    if written_as_yaml and _depth(text) > _DEEPEST:
        raise UsageError(
            "bad-file",
            f"{place} is nested more than {_DEEPEST} levels deep",
            hint="leave out what is so deep",
            limit=_DEEPEST,
            **place.fields(),
        )
    if written_as_yaml:
        try:
            yaml: Any = import_module("yaml")
        except ImportError:
            raise UsageError(
                "missing-library",
                f"{place} is YAML, which needs PyYAML",
                hint="pip install pyyaml, or write it as JSON",
                name="PyYAML",
                **place.fields(),
            ) from None
        try:
            # An alias of an alias of an alias grows without end; OpenAPI has references instead.
            if any(isinstance(one, yaml.AliasToken) for one in yaml.scan(text, Loader=yaml.SafeLoader)):
                raise yaml.YAMLError("an alias (*name)")
            return yaml.safe_load(text)
        except (yaml.YAMLError, RecursionError) as error:
            mark = getattr(error, "problem_mark", None)
            line = None if mark is None else mark.line + 1
            why = getattr(error, "problem", None) or str(error) or "not YAML"
            raise UsageError(
                "bad-file",
                f"{place.at(line)}: {why}",
                hint="write an OpenAPI document",
                **place.at(line).fields(),
            ) from None
    if not text.lstrip().startswith("{"):
        return None
    try:
        return parse_json(text)
    except json.JSONDecodeError as error:
        if path.suffix in (".har", ".json") and "\n{" not in text:
            raise UsageError(
                "bad-file",
                f"{place.at(error.lineno)} is not JSON: {error.msg}",
                hint="give a HAR file or an OpenAPI document",
                **place.at(error.lineno).fields(),
            ) from None
        return None


def _counted(requests: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Requests that are alike once, with their number as weight; names by method where there are too many."""
    alike: dict[str, dict[str, Any]] = {}
    for one in requests:
        known = alike.setdefault(json.dumps(one, sort_keys=True), one | {"weight": 0})
        known["weight"] += 1
    found = list(alike.values())
    named = {called(one) for one in found}
    if len(named) > _MOST_KINDS:
        return [one | {"name": one["method"].lower(), **_accepted(one, found)} for one in found]
    return found


def _accepted(one: dict[str, Any], every: list[dict[str, Any]]) -> dict[str, Any]:
    """What all requests of one method accept, where any says it: those of one name accept the same."""
    alike = [other.get("accept", ["2xx"]) for other in every if other["method"] == one["method"]]
    if all(codes == alike[0] for codes in alike):
        return {}
    return {"accept": sorted({code for codes in alike for code in codes}, key=str)}
