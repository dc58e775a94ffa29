"""Request files of other tools: a ``vegeta`` targets file, a HAR file, an OpenAPI document."""

from __future__ import annotations

import json
import re
from importlib import import_module
from pathlib import Path
from typing import Any

from hindmost.core.documents import parse_json, read_text
from hindmost.core.notes import Note
from hindmost.core.plan.sources.har import from_har
from hindmost.core.plan.sources.openapi import from_openapi
from hindmost.core.plan.sources.place import Place
from hindmost.core.plan.sources.vegeta import from_vegeta, from_vegeta_list
from hindmost.errors import UsageError

__all__ = ["read_requests"]

_LARGEST_BYTES = 256 << 20


def read_requests(path: Path) -> tuple[dict[str, Any], tuple[Note, ...]]:
    """Read a request file of any supported tool as a workload of kind ``http``.

    Returns
    -------
    workload : dict
    notes : tuple of Note
        Which entries were left out and why; which are counted together.

    Raises
    ------
    UsageError
        If the file cannot be read, has another format, or contains no request that can be sent; names the
        place.
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
        text = read_text(path, _LARGEST_BYTES)
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
        return from_har(document, place).workload()
    if isinstance(document, dict) and ("openapi" in document or "swagger" in document):
        return from_openapi(document, place).workload()
    if isinstance(document, list):
        return from_vegeta_list(document, place).workload()
    return from_vegeta(text, path.absolute().parent, place).workload()


_DEEPEST = 200
"""Most levels of brackets; PyYAML needs time quadratic in them."""


def _depth(text: str) -> int:
    """Return the maximum number of open brackets."""
    deepest = open_brackets = 0
    for bracket in re.finditer(r"[\[{]|[\]}]", text):
        open_brackets = open_brackets + 1 if bracket[0] in "[{" else max(0, open_brackets - 1)
        deepest = max(deepest, open_brackets)
    return deepest


def _document(path: Path, text: str, place: Place) -> object:
    written_as_yaml = path.suffix in (".yaml", ".yml")
    if written_as_yaml and _depth(text) > _DEEPEST:
        raise UsageError(
            "bad-file",
            f"{place} is nested more than {_DEEPEST} levels deep",
            hint="flatten the document",
            limit=_DEEPEST,
            **place.fields(),
        )
    if written_as_yaml:
        return _parse_yaml(text, place)
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        return parse_json(text)
    except json.JSONDecodeError as error:
        if path.suffix in (".har", ".json") and "\n{" not in text:
            raise UsageError(
                "bad-file",
                f"{place.at_line(error.lineno)} is not JSON: {error.msg}",
                hint="give a HAR file or an OpenAPI document",
                **place.at_line(error.lineno).fields(),
            ) from None
        return None


_ALIAS = re.compile(r"[\s\[{,:-]\*[^\s*]")
"""A possible alias; only a scan of the whole document shows whether it is one."""
_CORE = (
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("int", r"[-+]?[0-9]+|0x[0-9a-fA-F]+", "-+0123456789"),
    (
        "float",
        r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)",
        "-+.0123456789",
    ),
    ("null", r"~|null|Null|NULL|", "~nN\0"),
    ("merge", "<<", "<"),
)
"""The core schema of YAML 1.2 (10.3), which OpenAPI requires: dates, ``no`` and ``12:30`` are text."""


def _parse_yaml(text: str, place: Place) -> object:
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
    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class Loader(base):  # type: ignore[misc]
        yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012

        def construct_yaml_int(self, node: Any) -> int:  # noqa: ANN401
            value = self.construct_scalar(node)
            return int(value, 16) if value.startswith("0x") else int(value)

    for tag, pattern, first in _CORE:
        Loader.add_implicit_resolver(
            f"tag:yaml.org,2002:{tag}",
            re.compile(rf"(?:{pattern})$"),
            ["" if c == "\0" else c for c in first],
        )
    Loader.add_constructor("tag:yaml.org,2002:int", Loader.construct_yaml_int)
    try:
        # Nested aliases grow exponentially; OpenAPI has references instead.
        if _ALIAS.search(text) and any(
            isinstance(token, yaml.AliasToken) for token in yaml.scan(text, Loader=base)
        ):
            raise yaml.YAMLError("an alias (*name)")
        return yaml.load(text, Loader=Loader)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        line = None if mark is None else mark.line + 1
        why = getattr(error, "problem", None) or str(error) or "not YAML"
        raise UsageError(
            "bad-file",
            f"{place.at_line(line)}: {why}",
            hint="write an OpenAPI document",
            **place.at_line(line).fields(),
        ) from None
