"""What is wrong with a file that people wrote, in words that name line, key and value."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError

from hindmost.names import nearest
from hindmost.plan.positions import Written, line_of

Models = Mapping[tuple[str, ...], type[BaseModel]]
"""The model of each table, by the keys that lead to it; numbers of list items left out."""


def problems_of(error: ValidationError, models: Models, where: str, written: Written | None) -> str:
    """All that pydantic found, by line of what was written; one line each where there are several.

    Parameters
    ----------
    models : mapping
        Which keys a table knows, to name the nearest.
    where : str
        What the document is called.
    written : Written, optional
        What it was read from.
    """
    found = [
        (_line(problem["loc"], written), _explain(problem, models))
        for problem in error.errors(include_url=False)
    ]
    if len(found) == 1:
        line, text = found[0]
        return f"{where}{f', line {line}' if line else ''}: {text}"
    told = [f"line {line}: {text}" if line else text for line, text in found]
    return f"{where}, {len(found)} problems:\n  " + "\n  ".join(told)


def _line(location: Sequence[int | str], written: Written | None) -> int | None:
    """The line of a key, or of the nearest table above it that was written."""
    if written is None:
        return None
    path = ""
    for part in location:
        if part != "[key]":
            path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else part
    return line_of(written.text, path, toml=written.toml)


def _explain(problem: Any, models: Models) -> str:  # noqa: ANN401 (pydantic's ErrorDetails)
    location = [str(part) for part in problem["loc"] if part != "[key]"]
    key = ".".join(location)
    if problem["type"] == "extra_forbidden":
        model = models.get(tuple(part for part in location[:-1] if not part.isdecimal()))
        return f"unknown key {key}{nearest(location[-1], model.model_fields if model else [])}"
    if problem["type"] == "missing":
        return f"{key} is missing"
    message = problem["msg"].removeprefix("Value error, ")
    value = problem["input"]
    if isinstance(value, dict) or not key:  # a contradiction: the message names the keys itself
        return f"{key}: {message}" if key else message
    return f"{key} = {_short(value)}: {message}"


def _short(value: object) -> str:
    text = json.dumps(value, default=str)
    return text if len(text) <= 60 else text[:57] + "..."
