"""The search for the parameter value at which an objective stops holding."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hindmost.commands.clone.crossing import Crossing, Neighbourhood
from hindmost.commands.clone.document import Clone
from hindmost.commands.clone.documents.predictions import Interval
from hindmost.commands.clone.parameters import FACTOR, Value, changes
from hindmost.commands.clone.simulation import Design, Outcome, run_points
from hindmost.core.plan import Term

CLOSE = 1.005
"""A bracket of half a percent is narrow enough, because intervals are not narrower."""
UNEVEN = 0.02
"""A latency that falls by more than this share where it should rise counts as not monotone."""
WHOLE = ("threads", "instances")


@dataclass(frozen=True)
class Question:
    """An objective, the parameter to vary, and the range to search.

    ``by``: ``rate``, ``threads``, ``service`` (a factor on all service times), or a path. ``between``: the
    range to search; without it, the range follows from the current value.
    """

    objective: Term
    by: str
    between: tuple[float, float] | None = None

    @property
    def path(self) -> str:
        """Path of the parameter."""
        return FACTOR if self.by == "service" else self.by

    @property
    def whole(self) -> bool:
        """Whether the parameter takes only whole numbers."""
        return self.path.rpartition(".")[2] in WHOLE


class Search:
    """The values of a parameter tried so far, and the latency at each."""

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
        """Simulate the values that were not tried yet; return whether there were any."""
        new = [value for value in values if value not in self.tried]
        name = self.question.objective.name
        for value, outcome in zip(new, self.run(new, [self.design.seed]), strict=True):
            self.tried[value] = outcome.prediction.latency_us.get(name)
        return bool(new)

    def run(self, values: Sequence[float], seeds: Sequence[int]) -> list[Outcome]:
        """Simulate all values of the parameter under each seed."""
        points: list[dict[str, Any]] = []
        for value in values:
            if self.question.by == "rate":
                load: Mapping[str, float] = {"rate_per_s": value}
                setting = self.setting
            else:
                load = self.load or {}
                given: Value = int(value) if self.question.whole else value
                setting = {**self.setting, self.question.path: given}
            points.append({"set": changes(self.clone.document, setting), "load": dict(load)})
        seeded = [{**point, "seed": seed} for seed in seeds for point in points]
        return run_points(self.clone, seeded, self.design)

    def latency(self, value: float) -> float:
        """Return the latency at a tried value; infinite above the capacity."""
        found = self.tried[value]
        return math.inf if found is None else found.value

    def holds(self, value: float, *, sure: bool = False) -> bool:
        """Return whether the objective holds; if `sure`, the whole interval must lie below the limit."""
        found = self.tried[value]
        if found is None:
            return False
        reach = found.high if sure and found.high is not None else found.value
        return reach < self.question.objective.limit

    def crossings(self, *, sure: bool = False) -> list[tuple[float, float]]:
        """Return the neighbouring values of which one meets the objective and the other does not."""
        pairs = itertools.pairwise(sorted(self.tried))
        return [(a, b) for a, b in pairs if self.holds(a, sure=sure) != self.holds(b, sure=sure)]

    def bracket(self, *, sure: bool = False) -> tuple[float, float] | None:
        """Return the only crossing, or None if there are none or several."""
        found = self.crossings(sure=sure)
        return found[0] if len(found) == 1 else None

    def end(self, *, sure: bool = False) -> float | None:
        """Return the last value that meets the objective, next to the crossing."""
        found = self.crossings(sure=sure)
        if not found:
            return None
        return found[0][0] if self.holds(found[0][0], sure=sure) else found[-1][1]

    def changes_of_mind(self) -> list[tuple[float, float]]:
        """Return significant crossings: both whole intervals lie on different sides of the limit."""
        clear = [
            (value, self.holds(value))
            for value in sorted(self.tried)
            if self.holds(value, sure=True) or self.surely_fails(value)
        ]
        return [(a, b) for (a, before), (b, after) in itertools.pairwise(clear) if before != after]

    def uneven(self) -> list[float]:
        """Return the values at which the latency moves against its trend."""
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

    def again(self, last: float, *, at_most: bool) -> Crossing:
        """Repeat the search around the crossing with other random numbers."""
        objective, values = self.question.objective, sorted(self.tried)
        near = Neighbourhood(self.run, objective.name, objective.limit, self.design.seed, at_most)
        if self.question.whole:
            return near.whole(last, values[0], values[-1])
        holds = [value for value in values if self.holds(value, sure=True)]
        fails = [value for value in values if not self.holds(value) and self.surely_fails(value)]
        below = [one for one in (holds if at_most else fails) if one <= last] or [values[0]]
        above = [one for one in (fails if at_most else holds) if one >= last] or [values[-1]]
        return near.crossing((below[-1], above[0]), linear=self.question.by == "rate")

    def surely_fails(self, value: float) -> bool:
        """Return whether the whole interval lies above the limit, or the value above the capacity."""
        one = self.tried[value]
        low = math.inf if one is None else one.value if one.low is None else one.low
        return low >= self.question.objective.limit


def make_grid(low: float, high: float, *, points: int, whole: bool, linear: bool) -> list[float]:
    """Return values from low to high, spaced linearly or logarithmically."""
    steps = [step / (points - 1) for step in range(points)]
    if linear:
        values = [low + (high - low) * step for step in steps]
    else:
        values = [low * (high / low) ** step for step in steps]
    values = [low, *values[1:-1], high]
    return sorted({float(round(value)) for value in values} if whole else set(values))


def is_wide(bracket: tuple[float, float], *, whole: bool) -> bool:
    """Return whether the bracket is wide enough to be searched further."""
    low, high = bracket
    return high - low > 1.0 if whole else high / low > CLOSE
