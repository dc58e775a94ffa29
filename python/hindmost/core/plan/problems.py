"""Problems in files that users wrote: by line, key and value."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError

from hindmost.core.names import nearest
from hindmost.core.plan.positions import SourceText, line_of
from hindmost.errors import ArgumentError, UsageError

Models = Mapping[tuple[str, ...], type[BaseModel]]
"""The model of each table, by the keys that lead to it; indexes of list items left out."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem: a code, a sentence, and fields such as ``key``, ``value``, ``line``."""

    code: str
    text: str
    fields: dict[str, Any]


def to_usage_error(
    error: ValidationError, models: Models, where: str, source: SourceText | None, *, hint: str
) -> UsageError:
    """Return an error that names all problems found by pydantic, by line of the source text.

    A single problem gives its code and fields. Several give ``bad-file`` with a list ``problems``.

    Parameters
    ----------
    models : mapping
        The known keys of each table, to suggest similar ones.
    where : str
        Name of the document in messages.
    source : SourceText, optional
        The text that it was read from.
    hint : str
        How to write such a file.
    """
    problems = find_problems(error, models, source)
    path: dict[str, Any] = {} if source is None or source.path is None else {"path": source.path}
    text = problems_of(error, models, where, source)
    if len(problems) == 1:
        return UsageError(problems[0].code, text, hint=hint, **path | problems[0].fields)
    listed = [{"code": problem.code, **problem.fields} for problem in problems]
    return UsageError("bad-file", text, hint=hint, **path, problems=listed)


def problems_of(error: ValidationError, models: Models, where: str, source: SourceText | None) -> str:
    """List all problems found by pydantic, by line of the source text; one line each if there are several."""
    problems = find_problems(error, models, source)
    if len(problems) == 1:
        line = problems[0].fields.get("line")
        return f"{where}{f', line {line}' if line else ''}: {problems[0].text}"
    texts = [f"line {p.fields['line']}: {p.text}" if "line" in p.fields else p.text for p in problems]
    return f"{where}, {len(problems)} problems:\n  " + "\n  ".join(texts)


def find_problems(error: ValidationError, models: Models, source: SourceText | None) -> list[Problem]:
    """List all problems found by pydantic, each with its key, value and line."""
    problems = []
    for detail in error.errors(include_url=False):
        problem = _problem(detail, models)
        if (line := _line(detail["loc"], source)) is not None:
            problem.fields["line"] = line
        problems.append(problem)
    return problems


def _line(location: Sequence[int | str], source: SourceText | None) -> int | None:
    """Return the line of a key, or of the nearest table above it in the text."""
    if source is None:
        return None
    path = ""
    for part in location:
        if part != "[key]":
            path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else part
    return line_of(source.text, path, toml=source.toml)


def _problem(problem: Any, models: Models) -> Problem:  # noqa: ANN401 (pydantic's ErrorDetails)
    location = [str(part) for part in problem["loc"] if part != "[key]"]
    key, value = ".".join(location), problem["input"]
    if problem["type"] == "extra_forbidden":
        model = models.get(tuple(part for part in location[:-1] if not part.isdecimal()))
        known = list(model.model_fields) if model else []
        text = f"unknown key {key}{nearest(location[-1], known)}"
        return Problem("unknown-key", text, {"key": key, "known": known})
    if problem["type"] == "missing":
        return Problem("missing-argument", f"{key} is missing", {"key": key})
    message = problem["msg"].removeprefix("Value error, ")
    context = problem.get("ctx", {})
    own = context.get("error")
    code = own.code if isinstance(own, ArgumentError) else "bad-value"
    fields: dict[str, Any] = {"key": key} if key else {}
    if "expected" in context:
        fields["known"] = re.findall(r"'([^']*)'", context["expected"])
    if not isinstance(value, dict):
        fields["value"] = value
    if isinstance(own, ArgumentError):
        fields |= own.fields
    if isinstance(value, dict) or not key:  # a contradiction: the message itself names the keys
        return Problem(code, f"{key}: {message}" if key else message, fields)
    return Problem(code, f"{key} = {_short(value)}: {message}", fields)


def _short(value: object) -> str:
    text = json.dumps(value, default=str)
    return text if len(text) <= 60 else text[:57] + "..."
