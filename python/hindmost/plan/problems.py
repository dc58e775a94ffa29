"""What is wrong with a file that people wrote: by line, key and value."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError

from hindmost.errors import ArgumentError, UsageError
from hindmost.names import nearest
from hindmost.plan.positions import Written, line_of

Models = Mapping[tuple[str, ...], type[BaseModel]]
"""The model of each table, by the keys that lead to it; numbers of list items left out."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong: a code, a sentence, and fields such as ``key``, ``value``, ``line``."""

    code: str
    text: str
    fields: dict[str, Any]


def refused(
    error: ValidationError, models: Models, where: str, written: Written | None, *, hint: str
) -> UsageError:
    """An error that names all that pydantic found, by line of what was written.

    A single problem gives its code and fields. Several give ``bad-file`` with a list ``problems``.

    Parameters
    ----------
    models : mapping
        Which keys a table knows, to name the nearest.
    where : str
        What the document is called.
    written : Written, optional
        What it was read from.
    hint : str
        How such a file is written.
    """
    found = find_problems(error, models, written)
    path: dict[str, Any] = {} if written is None or written.path is None else {"path": written.path}
    text = problems_of(error, models, where, written)
    if len(found) == 1:
        return UsageError(found[0].code, text, hint=hint, **path | found[0].fields)
    problems = [{"code": one.code, **one.fields} for one in found]
    return UsageError("bad-file", text, hint=hint, **path, problems=problems)


def problems_of(error: ValidationError, models: Models, where: str, written: Written | None) -> str:
    """Write all that pydantic found, by line of what was written; one line each where there are several."""
    found = find_problems(error, models, written)
    if len(found) == 1:
        line = found[0].fields.get("line")
        return f"{where}{f', line {line}' if line else ''}: {found[0].text}"
    told = [f"line {one.fields['line']}: {one.text}" if "line" in one.fields else one.text for one in found]
    return f"{where}, {len(found)} problems:\n  " + "\n  ".join(told)


def find_problems(error: ValidationError, models: Models, written: Written | None) -> list[Problem]:
    """List all that pydantic found, each with its key, value and line."""
    found = []
    for problem in error.errors(include_url=False):
        one = _problem(problem, models)
        if (line := _line(problem["loc"], written)) is not None:
            one.fields["line"] = line
        found.append(one)
    return found


def _line(location: Sequence[int | str], written: Written | None) -> int | None:
    """The line of a key, or of the nearest table above it that was written."""
    if written is None:
        return None
    path = ""
    for part in location:
        if part != "[key]":
            path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else part
    return line_of(written.text, path, toml=written.toml)


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
    if isinstance(value, dict) or not key:  # a contradiction: the message names the keys itself
        return Problem(code, f"{key}: {message}" if key else message, fields)
    return Problem(code, f"{key} = {_short(value)}: {message}", fields)


def _short(value: object) -> str:
    text = json.dumps(value, default=str)
    return text if len(text) <= 60 else text[:57] + "..."
