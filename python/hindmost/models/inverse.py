"""Inverse questions: how many threads, which service time, how rare a pause make ``p99<500us`` hold.

The objective is looked at over the whole range first, all points under the same random numbers, so that what
differs is the parameter and not chance. Where it holds on one side only, the place is narrowed down; where it
comes and goes, beyond what intervals allow, that is said instead of an answer.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from hindmost.errors import UsageError
from hindmost.models.document import Clone
from hindmost.models.parameters import FACTOR, Value, applied, changes, value_at
from hindmost.models.simulation import Design, run_points
from hindmost.plan.units import Threshold
from hindmost.store.predictions import Found, Interval, Tried

GRID = 17
"""Points of the first look."""
FINER = 9
CLOSE = 1.005
"""A range of half a percent is narrow enough: intervals are not narrower."""
UNEVEN = 0.02
"""A latency that falls by more than this share where it should rise is not monotone."""
WHOLE = ("threads", "instances")
SHARES = ("probability", "share", "weight", "first")
MOST_SHARE = 0.999
"""A weight of 1 leaves nothing for the others."""
BOUNDS = {"threads": (1.0, 128.0), FACTOR: (0.01, 100.0), "instances": (1.0, 1024.0)}


@dataclass(frozen=True)
class Question:
    """What is asked: an objective, the parameter that is free, and its range.

    ``by``: ``rate``, ``threads``, ``service`` (a factor on all service times), or a path. ``between``: the
    range that is searched; one that follows from the present value when not given.
    """

    objective: Threshold
    by: str
    between: tuple[float, float] | None = None

    @property
    def path(self) -> str:
        """The parameter's path."""
        return FACTOR if self.by == "service" else self.by

    @property
    def whole(self) -> bool:
        """Whether it takes whole numbers only."""
        return self.path.rpartition(".")[2] in WHOLE


def answer(
    clone: Clone,
    question: Question,
    load: Mapping[str, float] | None,
    *,
    setting: Mapping[str, Value] | None = None,
    design: Design | None = None,
) -> Found:
    """Find the last value of a parameter at which an objective holds.

    Parameters
    ----------
    load
        ``rate_per_s`` or ``utilisation``; None where the rate is what is asked for.
    setting
        Other parameters that differ from the clone.

    Raises
    ------
    UsageError
        The parameter is unknown or not a number, or its range makes no sense.
    """
    search = _Search(clone, question, load, setting or {}, design or Design(requests=100_000))
    low, high = _range(clone, question, setting or {})
    search.look(_grid(low, high, points=GRID, whole=question.whole, linear=question.by == "rate"))
    for sure in (False, True):
        while (bracket := search.bracket(sure=sure)) and _wide(bracket, whole=question.whole):
            finer = _grid(*bracket, points=FINER, whole=question.whole, linear=question.by == "rate")
            if not search.look(finer):
                break
    return search.found()


class _Search:
    def __init__(
        self,
        clone: Clone,
        question: Question,
        load: Mapping[str, float] | None,
        setting: Mapping[str, Value],
        design: Design,
    ) -> None:
        self.clone, self.question, self.load, self.setting = clone, question, load, setting
        level = question.objective.level
        quantiles = design.quantiles if level is None else tuple(sorted({*design.quantiles, level}))
        self.design = Design(**{**design.__dict__, "quantiles": quantiles})
        self.tried: dict[float, Interval | None] = {}

    def look(self, values: Sequence[float]) -> bool:
        """Try values that are new; whether there were any."""
        new = [value for value in values if value not in self.tried]
        points: list[dict[str, Any]] = []
        for value in new:
            if self.question.by == "rate":
                load: Mapping[str, float] = {"rate_per_s": value}
                setting = self.setting
            else:
                load = self.load or {}
                given: Value = int(value) if self.question.whole else value
                setting = {**self.setting, self.question.path: given}
            points.append({"set": changes(self.clone.document, setting), "load": dict(load)})
        name = self.question.objective.name
        for value, outcome in zip(new, run_points(self.clone, points, self.design), strict=True):
            done = outcome.prediction["state"] == "done"
            self.tried[value] = outcome.prediction["latency_us"][name] if done else None
        return bool(new)

    def latency(self, value: float) -> float:
        found = self.tried[value]
        return math.inf if found is None else found["value"]

    def holds(self, value: float, *, sure: bool = False) -> bool:
        """Whether the objective holds; surely, if the whole interval lies below the limit."""
        found = self.tried[value]
        if found is None:
            return False
        reach = found["high"] if sure and found["high"] is not None else found["value"]
        return reach < self.question.objective.limit_us

    def crossings(self, *, sure: bool = False) -> list[tuple[float, float]]:
        """Neighbours of which one holds and the other does not."""
        pairs = itertools.pairwise(sorted(self.tried))
        return [(a, b) for a, b in pairs if self.holds(a, sure=sure) != self.holds(b, sure=sure)]

    def bracket(self, *, sure: bool = False) -> tuple[float, float] | None:
        """Neighbours between which it changes, if it does so once."""
        found = self.crossings(sure=sure)
        return found[0] if len(found) == 1 else None

    def end(self, *, sure: bool = False) -> float | None:
        """The last value that holds before the first change, seen from the side that holds."""
        found = self.crossings(sure=sure)
        if not found:
            return None
        return found[0][0] if self.holds(found[0][0], sure=sure) else found[-1][1]

    def changes_of_mind(self) -> list[tuple[float, float]]:
        """Values between which it changes beyond chance: whole intervals on different sides of the limit."""
        limit = self.question.objective.limit_us
        clear: list[tuple[float, bool]] = []
        for value in sorted(self.tried):
            one = self.tried[value]
            low = math.inf if one is None else one["value"] if one["low"] is None else one["low"]
            if self.holds(value, sure=True) or low >= limit:
                clear.append((value, self.holds(value)))
        return [(a, b) for (a, before), (b, after) in itertools.pairwise(clear) if before != after]

    def uneven(self) -> list[float]:
        """Values at which the latency goes back against its trend."""
        values = sorted(self.tried)
        latencies = [self.latency(value) for value in values]
        rises = latencies[-1] >= latencies[0]
        ahead = latencies if rises else latencies[::-1]
        most, out = -math.inf, []
        for value, latency in zip(values if rises else values[::-1], ahead, strict=True):
            if latency < most * (1.0 - UNEVEN):
                out.append(value)
            most = max(most, latency)
        return sorted(out)

    def found(self) -> Found:
        clear = self.changes_of_mind()
        crossings = clear if len(clear) > 1 else self.crossings()
        values = sorted(self.tried)
        at_most = self.holds(values[0])
        state: Literal["found", "always", "never", "not_monotone"]
        if len(clear) > 1:
            state = "not_monotone"
        elif len(crossings) % 2 == 0:  # as at the beginning, so at the end; between, at most chance
            state = "always" if at_most else "never"
        else:
            state = "found"
        last, surely = (self.end(), self.end(sure=True)) if state == "found" else (None, None)
        whole = self.question.whole
        tried: list[Tried] = [{"value": value, "latency_us": self.tried[value]} for value in values]
        return {
            "objective": self.question.objective.text,
            "figure": self.question.objective.name,
            "limit_us": self.question.objective.limit_us,
            "by": self.question.by,
            "set": dict(self.setting),
            "load": dict(self.load) if self.load else None,
            "state": state,
            "value": int(last) if last is not None and whole else last,
            "surely": int(surely) if surely is not None and whole else surely,
            "side": "at_most" if at_most else "at_least",
            "latency_us": None if last is None else self.tried[last],
            "crossings": [list(pair) for pair in crossings],
            "uneven_at": self.uneven(),
            "tried": tried,
        }


def _range(clone: Clone, question: Question, setting: Mapping[str, Value]) -> tuple[float, float]:
    if question.by == "rate":
        capacity = Clone.of(applied(clone.document, setting)).capacity_per_s
        if capacity is None:
            raise UsageError(
                f"{clone.name} takes no time at all, so every rate holds", hint="hindmost synth show CLONE"
            )
        low, high = question.between or (0.01 * capacity, 0.995 * capacity)
    else:
        now = value_at(clone.document, question.path)
        if isinstance(now, (str, bool)):
            raise UsageError(
                f"{question.by} is {now!r}, no number to be searched", hint="--vary tries values"
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
                f"{question.by} is {now or 0:g} now, which says nothing of where to search",
                hint="--between 1..100",
            )
    if not (math.isfinite(low) and math.isfinite(high) and 0.0 < low < high):
        raise UsageError(f"--between {low:g}..{high:g} is no range above 0", hint="--between 1..100")
    return low, high


def _grid(low: float, high: float, *, points: int, whole: bool, linear: bool) -> list[float]:
    steps = [step / (points - 1) for step in range(points)]
    if linear:
        values = [low + (high - low) * step for step in steps]
    else:
        values = [low * (high / low) ** step for step in steps]
    values = [low, *values[1:-1], high]
    return sorted({float(round(value)) for value in values} if whole else set(values))


def _wide(bracket: tuple[float, float], *, whole: bool) -> bool:
    low, high = bracket
    return high - low > 1.0 if whole else high / low > CLOSE
