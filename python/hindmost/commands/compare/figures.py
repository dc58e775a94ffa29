"""Figures of an arm's runs: mean, standard deviation and percentiles of latency, one value a round."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from msgspec.structs import asdict

from hindmost._engine import Histogram
from hindmost.commands.compare.documents import targets as documents
from hindmost.commands.measure import pictures
from hindmost.core.plan import MeasurePlan
from hindmost.core.run.figure_cache import run_figures
from hindmost.core.run.figures import RunFigures, Totals
from hindmost.core.run.readings import plan_of
from hindmost.core.store import Study
from hindmost.core.store.estimates import Value, number, to_value
from hindmost.core.store.measure import Curve
from hindmost.stats import Contrast, Middle, middle_interval

Columns = dict[str, list[float]]
"""Figure to one value a round, in microseconds."""


@dataclass(frozen=True, slots=True)
class ArmFigures:
    """Figures of an arm in the rounds that count.

    Attributes
    ----------
    rounds : tuple of int
        Numbers of the rounds.
    columns : dict
        ``mean``, ``sd`` (standard deviation within a run) and percentiles, in the order of `rounds`.
    totals : Totals
        Distributions over all rounds.
    runs : list of RunFigures
        In the order of `rounds`.
    """

    rounds: tuple[int, ...]
    columns: Columns
    totals: Totals = field(default_factory=Totals)
    runs: list[RunFigures] = field(default_factory=list)

    def with_isolated(self, names: Sequence[str]) -> ArmFigures:
        """Return the figures with isolated latency in place of latency for these percentiles."""
        columns = dict(self.columns)
        for name in names:
            columns[name] = [one.isolated.values[name] for one in self.runs if one.isolated is not None]
        return replace(self, columns=columns)

    def select(self, rounds: Sequence[int]) -> Columns:
        """Return the figures of these rounds alone."""
        places = [self.rounds.index(number) for number in rounds]
        return {name: [values[place] for place in places] for name, values in self.columns.items()}

    @property
    def distribution(self) -> Curve:
        """The quantile function of all requests."""
        return pictures.curve(self.totals.whole["latency"])


def read_figures(study: Study, rounds: Sequence[int]) -> ArmFigures:
    """Read the runs of an arm in these rounds."""
    plan = plan_of(study)
    found = ArmFigures(tuple(rounds), {})
    for round_number in rounds:
        stored = study.run(round_number)
        assert stored is not None
        run = run_figures(stored, plan)
        found.totals.merge(run.totals)
        found.runs.append(run)
        for name, value in {**run.values["latency"], "sd": moments(run.latency)[1] / 1e3}.items():
            found.columns.setdefault(name, []).append(value)
    return found


def decides_isolated(plan: MeasurePlan, by: str) -> bool:
    """Whether isolated latency decides about the figure `by`; the mean has none."""
    return plan.decide_on == "isolated" and by != "mean"


def figure_text(name: str, isolated: Collection[str]) -> str:
    """Return the name of a figure in a sentence."""
    return f"isolated {name}" if name in isolated else name


def isolated_names(arms: Iterable[ArmFigures]) -> list[str]:
    """Return the percentiles whose isolated latency every run of every arm has."""
    runs = [run for arm in arms for run in arm.runs]
    sets = [run.isolated.values.keys() if run.isolated is not None else set[str]() for run in runs]
    return [name for name in (runs[0].values["latency"] if runs else ()) if all(name in one for one in sets)]


def summarise(columns: Columns, middle: Middle) -> dict[str, Value]:
    """Summarise the runs of each figure."""
    return {name: to_value(middle_interval(values, middle)) for name, values in columns.items()}


def ratio_document(contrast: Contrast) -> documents.Ratio:
    """Return the ratio of a contrast as documents have it."""
    within_low, within_high = map(number, contrast.within)
    return documents.Ratio(**asdict(to_value(contrast.ratio)), within_low=within_low, within_high=within_high)


def lowest(values: Mapping[int, float | None]) -> int | None:
    """Return the key of the lowest finite value; None if no value is finite."""
    known = [(value, place) for place, value in values.items() if value is not None and value < math.inf]
    return min(known)[1] if known else None


def moments(histogram: Histogram) -> tuple[float, float]:
    """Return mean and standard deviation, from the middles of bins.

    Both are infinite if a request was never answered.
    """
    if histogram.count == 0 or histogram.censored:
        return math.inf, math.inf
    low, high, counts = (np.frombuffer(part, dtype=np.uint64).astype(float) for part in histogram.bins())
    middle = (low + high) / 2.0
    mean = float(np.average(middle, weights=counts))
    return mean, math.sqrt(float(np.average((middle - mean) ** 2, weights=counts)))
