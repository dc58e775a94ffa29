"""Files of other tools that hold requests: a ``vegeta`` targets file, a HAR file, an OpenAPI document."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

from hindmost.errors import UsageError
from hindmost.plan.http import called
from hindmost.plan.sources.har import from_har
from hindmost.plan.sources.openapi import from_openapi
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
    what = f"file of requests {path}"
    try:
        if path.stat().st_size > _LARGEST_BYTES:
            raise UsageError(
                "todo", f"{what} is larger than {_LARGEST_BYTES >> 20} MiB", hint="leave some of it out"
            )
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise UsageError("todo", f"{what} cannot be read: {why}", hint=f"ls -l {path}") from None
    document = _document(path, text, what)
    if isinstance(document, dict) and "log" in document:
        requests = from_har(document, what)
    elif isinstance(document, dict) and ("openapi" in document or "swagger" in document):
        requests = from_openapi(document, what)
    else:
        requests = from_vegeta(text, path.absolute().parent, what)
    if not requests:
        raise UsageError("todo", f"{what} holds no request", hint="see hindmost measure --help, --requests")
    return {"kind": "http", "requests": _counted(requests)}


def _document(path: Path, text: str, what: str) -> object:
    if path.suffix in (".yaml", ".yml"):
        try:
            yaml: Any = import_module("yaml")
        except ImportError:
            raise UsageError(
                "todo", f"{what} is YAML, which needs PyYAML", hint="pip install pyyaml, or write it as JSON"
            ) from None
        try:
            return yaml.safe_load(text)
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            line = "" if mark is None else f", line {mark.line + 1}"
            why = getattr(error, "problem", None) or "no YAML"
            raise UsageError("todo", f"{what}{line}: {why}", hint="an OpenAPI document") from None
    if not text.lstrip().startswith("{"):
        return None
    try:
        return json.loads(text)
    except ValueError as error:
        if path.suffix in (".har", ".json") and "\n{" not in text:
            raise UsageError(
                "todo", f"{what} is not JSON: {error}", hint="a HAR file or an OpenAPI document"
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
