"""What is wrong with a file that people wrote, in words that name key and value."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ValidationError

from hindmost.names import nearest

Models = Mapping[tuple[str, ...], type[BaseModel]]
"""The model of each table, by the keys that lead to it; numbers of list items left out."""


def problems_of(error: ValidationError, models: Models) -> list[str]:
    """All that pydantic found, one line each.

    Parameters
    ----------
    models : mapping
        Which keys a table knows, to name the nearest.
    """
    return [_explain(problem, models) for problem in error.errors(include_url=False)]


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
