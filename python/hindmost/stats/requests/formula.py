"""Model formulas in Wilkinson's notation, as in R and statsmodels. The library formulaic reads them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from hindmost.errors import ArgumentError, UsageError

_INTERCEPT = "Intercept"


@dataclass(frozen=True, slots=True)
class Formula:
    """A formula, with the categories of the data to which it was fitted.

    ``terms``: names of each term's columns, without the intercept. ``response``, ``design``: formulaic's
    specifications of both sides.
    """

    text: str
    has_intercept: bool
    terms: Mapping[str, tuple[str, ...]]
    response: Any
    design: Any

    def columns(self, data: Any) -> Any:  # noqa: ANN401 (a pandas frame)
        """Return the model's columns for rows of data, without the intercept, as a pandas frame."""
        with _refusals(self.text, "X"):
            return _without_intercept(self.design.get_model_matrix(_to_pandas(data, "X")))

    def samples(self, data: Any) -> Any:  # noqa: ANN401 (a pandas series)
        """Return the response of rows of data."""
        with _refusals(self.text, "X"):
            return self.response.get_model_matrix(_to_pandas(data, "X")).iloc[:, 0]


def read_formula(text: str, data: Any) -> tuple[Formula, Any, Any]:  # noqa: ANN401
    """Return a formula, its columns for the data as a pandas frame, and its response.

    Raises
    ------
    UsageError
        formulaic is not installed.
    ArgumentError
        The formula has no single response, names a column that the data lack, or a value is missing.
    """
    try:
        formulaic = import_module("formulaic")
    except ImportError:
        raise UsageError(
            "missing-library",
            "formulas need formulaic, which is not installed",
            hint="pip install 'hindmost[formula]'",
            name="formulaic",
        ) from None
    frame = _to_pandas(data, "data")
    with _refusals(text, "formula"):
        parsed = formulaic.Formula(text)
        left, right = (getattr(parsed, side, None) for side in ("lhs", "rhs"))
        if left is None or isinstance(right, tuple):
            raise ValueError("it must have one response and one right side, like latency ~ threads")
        found = parsed.get_model_matrix(frame, output="pandas", na_action="raise")
        response, design = found.lhs, found.rhs
        if response.shape[1] != 1:
            raise ValueError(f"{left} must be one column of numbers")
    names = design.model_spec.column_names
    terms = {
        str(term): tuple(names[at] for at in places)
        for term, places in design.model_spec.term_indices.items()
        if [names[at] for at in places] not in ([], [_INTERCEPT])
    }
    formula = Formula(text, _INTERCEPT in names, terms, response.model_spec, design.model_spec)
    return formula, _without_intercept(design), response.iloc[:, 0]


def _without_intercept(design: Any) -> Any:  # noqa: ANN401
    return design.drop(columns=_INTERCEPT, errors="ignore")


@contextmanager
def _refusals(text: str, argument: str) -> Iterator[None]:
    """Turn formulaic's errors, and its warning of an unknown category, into errors that name the formula."""
    errors = import_module("formulaic.errors")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", errors.DataMismatchWarning)
            yield
    except (errors.FormulaicError, errors.DataMismatchWarning, ValueError) as error:
        raise ArgumentError(
            "bad-argument", f"formula {text!r}: {error}", argument=argument, value=text
        ) from error


def _to_pandas(data: Any, argument: str) -> Any:  # noqa: ANN401
    """Return a data frame, or columns by name, as a frame of pandas, which formulaic reads."""
    pandas = import_module("pandas")
    if isinstance(data, pandas.DataFrame):
        return data
    if not isinstance(data, Mapping) and not hasattr(data, "columns"):
        raise ArgumentError(
            "bad-argument",
            f"{argument} must be a data frame (pandas, polars) or columns by name, got {type(data).__name__}",
            argument=argument,
        )
    names = list(data) if isinstance(data, Mapping) else list(data.columns)
    return pandas.DataFrame({name: _column(data[name], pandas) for name in names})


def _column(values: Any, pandas: Any) -> Any:  # noqa: ANN401
    """Return a column as pandas has it; an Enum of polars keeps the order of its categories."""
    dtype: Any = getattr(values, "dtype", None)
    if type(dtype).__name__ == "Enum":
        return pandas.Categorical(np.asarray(values), categories=list(dtype.categories))
    return np.asarray(values)
