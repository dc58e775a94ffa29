"""Rows of one claim in one test: as telling as a parametrised one, for a small share of its cost."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any


def each_row(
    names: str | Sequence[str], rows: Iterable[Any], ids: object = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """As `pytest.mark.parametrize`, but one test that tries every row and names all that fail.

    For rows that need no fixture of their own: what a test gets from fixtures is shared by them.
    """
    several = not isinstance(names, str) or "," in names
    columns = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    listed = [tuple(row) if several else (row,) for row in rows]
    assert listed, "a claim without rows"

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def all_rows(**fixtures: Any) -> None:
            failed: list[BaseException] = []
            for row in listed:
                given = dict(zip(columns, row, strict=True))
                try:
                    test(**given, **fixtures)
                except Exception as error:
                    error.add_note(f"with {given!r}"[:500])
                    failed.append(error)
            if len(failed) == 1:
                raise failed[0]
            if failed:
                raise BaseExceptionGroup(f"{len(failed)} of {len(listed)} rows", failed)

        signature = inspect.signature(test)
        kept = [one for one in signature.parameters.values() if one.name not in columns]
        all_rows.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]
        return all_rows

    return decorate
