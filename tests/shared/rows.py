"""Many rows of one claim in one test: as specific as parametrised tests, at a small share of their cost."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any


def each_row(
    names: str | Sequence[str], rows: Iterable[Any], ids: object = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Like `pytest.mark.parametrize`, but one test that tries every row and names all that fail.

    For rows that need no separate fixtures: all rows share the fixtures of the test.
    """
    several = not isinstance(names, str) or "," in names
    columns = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    table = [tuple(row) if several else (row,) for row in rows]
    assert table, "a claim without rows"

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def all_rows(**fixtures: Any) -> None:
            errors: list[BaseException] = []
            for row in table:
                arguments = dict(zip(columns, row, strict=True))
                try:
                    test(**arguments, **fixtures)
                except Exception as error:
                    error.add_note(f"with {arguments!r}"[:500])
                    errors.append(error)
            if len(errors) == 1:
                raise errors[0]
            if errors:
                raise BaseExceptionGroup(f"{len(errors)} of {len(table)} rows", errors)

        signature = inspect.signature(test)
        parameters = [item for item in signature.parameters.values() if item.name not in columns]
        all_rows.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        return all_rows

    return decorate
