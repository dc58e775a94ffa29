"""Inverse questions: how many threads, which service time, or how rare a pause meets ``p99<500us``.

First the objective is evaluated over the whole range, with the same random numbers for all points, so that
differences are due to the parameter and not to chance. If it holds on one side only, the crossing is narrowed
down. It is then searched again with other random numbers, which gives an interval (`crossing`). If it crosses
several times beyond the intervals, the answer says that instead.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal

from hindmost.commands.clone.bracketing import Question, Search, is_wide, make_grid
from hindmost.commands.clone.document import Clone
from hindmost.commands.clone.documents.predictions import Interval, InverseAnswer, SimulatedValue
from hindmost.commands.clone.parameters import FACTOR, Value, apply_changes, value_at
from hindmost.commands.clone.simulation import Design
from hindmost.core.store.estimates import bounds
from hindmost.errors import UsageError
from hindmost.stats import Estimate

__all__ = ["Question", "answer"]

GRID = 17
"""Points of the first evaluation."""
FINER = 9
SHARES = ("probability", "share", "weight", "first")
MOST_SHARE = 0.999
"""A weight of 1 leaves nothing for the others."""
BOUNDS = {"threads": (1.0, 128.0), FACTOR: (0.01, 100.0), "instances": (1.0, 1024.0)}


def answer(
    clone: Clone,
    question: Question,
    load: Mapping[str, float] | None,
    *,
    setting: Mapping[str, Value] | None = None,
    design: Design | None = None,
) -> InverseAnswer:
    """Find the last value of a parameter that meets an objective.

    Parameters
    ----------
    load
        ``rate_per_s`` or ``utilisation``; None if the rate itself is searched.
    setting
        Other parameters that differ from the clone.

    Raises
    ------
    UsageError
        The parameter is unknown or not a number, or its range is invalid.
    """
    search = Search(clone, question, load, setting or {}, design or Design(requests=100_000))
    low, high = _range(clone, question, setting or {})
    search.look(make_grid(low, high, points=GRID, whole=question.whole, linear=question.by == "rate"))
    for sure in (False, True):
        while (bracket := search.bracket(sure=sure)) and is_wide(bracket, whole=question.whole):
            finer = make_grid(*bracket, points=FINER, whole=question.whole, linear=question.by == "rate")
            if not search.look(finer):
                break
    return _answer_document(search)


def _answer_document(search: Search) -> InverseAnswer:
    """Return the result of the search as a document."""
    clear = search.changes_of_mind()
    crossings = clear if len(clear) > 1 else search.crossings()
    values = sorted(search.tried)
    at_most = search.holds(values[0])
    state: Literal["found", "always", "never", "not_monotone"]
    if len(clear) > 1:
        state = "not_monotone"
    elif len(crossings) % 2 == 0:  # the ends agree; any crossings between them are due to chance
        state = "always" if at_most else "never"
    else:
        state = "found"
    last, surely = (search.end(), search.end(sure=True)) if state == "found" else (None, None)
    again = None if last is None else search.again(last, at_most=at_most)
    objective = search.question.objective

    def number(value: float | None) -> float | int | None:
        return int(value) if value is not None and search.question.whole else value

    return InverseAnswer(
        objective=objective.text,
        figure=objective.name,
        limit_us=objective.limit,
        by=search.question.by,
        set=dict(search.setting),
        load=dict(search.load) if search.load else None,
        state=state,
        value=number(last),
        surely=number(surely),
        side="at_most" if at_most else "at_least",
        safe=None if again is None else number(again.safe),
        low=None if again is None else number(again.low),
        high=None if again is None else number(again.high),
        safe_latency_us=None if again is None else _interval(again.latency),
        latency_us=None if last is None else search.tried[last],
        crossings=[list(pair) for pair in crossings],
        uneven_at=search.uneven(),
        tried=[SimulatedValue(value=value, latency_us=search.tried[value]) for value in values],
    )


def _interval(found: Estimate | None) -> Interval | None:
    return None if found is None else Interval(value=found.value, **bounds(found.low, found.high))


def _range(clone: Clone, question: Question, setting: Mapping[str, Value]) -> tuple[float, float]:
    if question.by == "rate":
        capacity = Clone.from_document(apply_changes(clone.document, setting)).capacity_per_s
        if capacity is None:
            raise UsageError(
                "no-capacity",
                f"{clone.name} takes no time, so the objective holds at every rate",
                hint="hindmost clone show CLONE",
                name=clone.name,
            )
        low, high = question.between or (0.01 * capacity, 0.995 * capacity)
    else:
        now = value_at(clone.document, question.path)
        if isinstance(now, (str, bool)):
            raise UsageError(
                "bad-value",
                f"--by {question.by} cannot be searched: its value {now!r} is not a number",
                hint=f"--vary {question.by}=VALUE,VALUE tries values",
                option="--by",
                key=question.by,
                value=now,
            )
        name = question.path.rpartition(".")[2]
        if question.between:
            low, high = question.between
        elif name in BOUNDS:
            low, high = BOUNDS[name]
        elif now:
            low, high = now / 100.0, now * 100.0
            high = min(high, MOST_SHARE) if name in SHARES else high
        else:
            raise UsageError(
                "unknown-range",
                f"{question.by} is {now or 0:g} now, which does not tell where to search",
                hint="--between 1..100",
                option="--between",
                key=question.by,
                value=now or 0,
            )
    if not (math.isfinite(low) and math.isfinite(high) and 0.0 < low < high):
        raise UsageError(
            "bad-value",
            f"--between {low:g}..{high:g} is not a rising range above 0",
            hint="--between 1..100",
            option="--between",
            value=f"{low:g}..{high:g}",
        )
    return low, high
