"""What the sides of a study of batching say: figures, ratios by round, and which is best at each rate."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hindmost import __version__
from hindmost._engine import Histogram
from hindmost.errors import StudyError
from hindmost.notes import Note
from hindmost.plan.batching import Batching, batching_text
from hindmost.plan.units import format_us
from hindmost.report.common import numbers
from hindmost.run.batches import batches
from hindmost.run.figure_cache import run_figures
from hindmost.run.figures import RunFigures, Totals
from hindmost.run.readings import plan_of
from hindmost.stats import Middle, contrasts, least_pairs, over_runs
from hindmost.store import Study, now_utc
from hindmost.store import batching as documents
from hindmost.store.estimates import Value, to_value, without_nan
from hindmost.studies.batching.asked import Asked, name_of_side
from hindmost.studies.comparison.runs import unsound
from hindmost.studies.kind import again
from hindmost.studies.measure import pictures
from hindmost.studies.sides import unsound_rounds

MARGIN = 0.05
LEAST_ROUNDS = 2
Columns = dict[str, list[float]]


@dataclass(slots=True)
class Tried:
    """One side with the runs of the rounds that count, read."""

    batching: Batching
    study: Study
    runs: list[RunFigures]
    totals: Totals
    columns: Columns
    service_cv: list[float]


def answer(study: Study) -> documents.Batching:
    """Everything that the runs say, read anew.

    Raises
    ------
    StudyError
        If no round is complete.
    """
    plan = plan_of(study)
    asked = Asked.of(study, plan)
    parts = {side: Study.open(study.folder / name_of_side(*side)) for side in asked.sides}
    made = _complete(list(parts.values()))
    if not made:
        raise StudyError(
            "no-finished-runs",
            f"{study.folder} has no complete round",
            hint=again(study),
            path=str(study.folder),
        )
    aside = unsound_rounds(parts.values(), made, unsound)
    rounds = [number for number in made if number not in aside]
    # Where none counts, all are shown, and the headline says so.
    counted = rounds or made
    rates = [_rate(asked, rate, parts, counted) for rate in asked.rates]
    target = next(iter(parts.values())).run(counted[-1])
    assert target is not None
    document: documents.Batching = {
        "schema": "hindmost.batching/1",
        "version": __version__,
        "created": now_utc(),
        "headline": _headline(asked, rates, rounds, aside),
        "study": study.folder.resolve().name,
        "target": target.record["target"],
        "connections": plan.connections,
        "by": asked.by,
        "margin": MARGIN,
        "rounds": len(rounds),
        "least_rounds": _least_rounds(asked),
        "aside": {str(number): why.document() for number, why in aside.items()},
        "rates": rates,
    }
    return without_nan(document)


def _complete(parts: Sequence[Study]) -> list[int]:
    """Rounds that every side has a run of."""
    of_each = [{run.number for run in part.runs()} for part in parts]
    return sorted(set.intersection(*of_each)) if of_each else []


def _rate(
    asked: Asked, rate: float, parts: Mapping[tuple[float, Batching], Study], counted: Sequence[int]
) -> documents.BatchingRate:
    tried = [_read(asked, side, parts[side], counted) for side in asked.sides if side[0] == rate]
    named = [one for one in tried if isinstance(one.batching, str)]
    base: dict[Batching, Columns] = {one.batching: one.columns for one in named}
    sides = [_side(asked, rate, one, base, list(counted)) for one in tried]
    typical = [side["latency_us"][asked.by]["value"] for side in sides]
    best = _lowest(typical, range(len(sides)))
    intervals = [place for place, one in enumerate(tried) if not isinstance(one.batching, str)]
    near = []
    if best is not None and len(counted) >= LEAST_ROUNDS:
        mine = {asked.by: tried[best].columns[asked.by]}
        for place, one in enumerate(tried):
            found = contrasts(
                mine, {asked.by: one.columns[asked.by]}, MARGIN, paired=True, comparisons=len(tried) - 1
            )
            if place != best and found and found[asked.by].word in ("same", "undecided"):
                near.append(place)
    return {
        "rate_per_s": rate,
        "sides": sides,
        "best": best,
        "best_interval": _lowest(typical, intervals),
        "not_told": near,
    }


def _lowest(values: Sequence[float | None], places: Sequence[int] | range) -> int | None:
    known = [(value, place) for place in places if (value := values[place]) is not None and value < math.inf]
    return min(known)[1] if known else None


def _read(asked: Asked, side: tuple[float, Batching], study: Study, counted: Sequence[int]) -> Tried:
    plan, totals = asked.plan_of(*side), Totals()
    columns: Columns = {}
    runs, spread = [], []
    for number in counted:
        stored = study.run(number)
        assert stored is not None
        run = run_figures(stored, plan)
        totals.merge(run.totals)
        runs.append(run)
        spread.append(_cv(run.totals.whole["service"]) or math.nan)
        values = run.values["latency"] | {"sd": _sd(run.latency) / 1e3}
        for name, value in values.items():
            columns.setdefault(name, []).append(value)
    return Tried(side[1], study, runs, totals, columns, spread)


def _side(
    asked: Asked, rate: float, one: Tried, base: Mapping[Batching, Columns], counted: list[int]
) -> documents.BatchingSide:
    plan = asked.plan_of(rate, one.batching)
    account = batches(one.runs, plan, one.totals.writes)
    return {
        "batching": one.batching,
        "folder": one.study.folder.name,
        "rounds": counted,
        "latency_us": {
            name: to_value(over_runs(column, plan.middle)) for name, column in one.columns.items()
        },
        "values_us": {name: list(column) for name, column in one.columns.items()},
        "requests_per_write": one.totals.writes.mean,
        "requests_per_segment": None if account is None else account["requests_per_segment"],
        "size_cv": _cv(one.totals.writes),
        "service_cv": _over_known_runs(one.service_cv, plan.middle),
        "against": {
            name: _against(base[name], one.columns, asked)
            for name in ("none", "nagle")
            if name in base and name != one.batching and len(counted) >= LEAST_ROUNDS
        },
        "distribution": pictures.curve(one.totals.whole["latency"]),
        "sizes": {"requests": [], "share": []} if account is None else account["sizes"],
    }


def _over_known_runs(values: Sequence[float], middle: Middle) -> Value:
    """Summarise the runs that have a value; a run without any reply has none, neither zero nor infinite."""
    known = [value for value in values if not math.isnan(value)]
    return to_value(over_runs(known, middle)) if known else {"value": None, "low": None, "high": None}


def _against(first: Columns, second: Columns, asked: Asked) -> dict[str, documents.Against]:
    names = {"mean", "p99", "sd", asked.by} & first.keys()
    found = contrasts(
        {name: first[name] for name in names},
        {name: second[name] for name in names},
        MARGIN,
        paired=True,
        comparisons=len(asked.sides) // max(1, len(asked.rates)) - 1,
    )
    return {
        name: {
            "ratio": {
                "value": one.ratio.value,
                "low": one.ratio.low,
                "high": one.ratio.high,
                "within_low": one.within[0],
                "within_high": one.within[1],
            },
            "word": one.word,
        }
        for name, one in found.items()
    }


def _moments(histogram: Histogram) -> tuple[float, float]:
    """Mean and standard deviation, by the middles of bins; infinite where something was infinitely late."""
    if histogram.count == 0 or histogram.censored:
        return math.inf, math.inf
    low, high, counts = (np.frombuffer(part, dtype=np.uint64).astype(float) for part in histogram.bins())
    middle = (low + high) / 2.0
    mean = float(np.average(middle, weights=counts))
    return mean, math.sqrt(float(np.average((middle - mean) ** 2, weights=counts)))


def _sd(histogram: Histogram) -> float:
    return _moments(histogram)[1]


def _cv(histogram: Histogram) -> float | None:
    mean, sd = _moments(histogram)
    return sd / mean if math.isfinite(sd) and mean > 0.0 else None


def _headline(
    asked: Asked, rates: Sequence[documents.BatchingRate], rounds: Sequence[int], aside: Mapping[int, Note]
) -> str:
    ways, least = _ways(asked), _least_rounds(asked)
    told = [_told(asked, rate, enough=len(rounds) >= least) for rate in rates]
    if not rounds:
        why = next(iter(aside.values()))
        return f"no round counts ({why}); as they stand: {'; '.join(told)}"
    if len(rounds) < least:
        counted = numbers.plural(len(rounds), "round")
        told.append(f"{counted} cannot tell {ways} ways apart; at least {least} are needed")
    return "; ".join(told)


def _ways(asked: Asked) -> int:
    return len(asked.sides) // len(asked.rates)


def _least_rounds(asked: Asked) -> int:
    """So few rounds can tell the ways at one rate apart."""
    return least_pairs(_ways(asked) - 1)


def _told(asked: Asked, rate: documents.BatchingRate, *, enough: bool) -> str:
    """What is best at one rate; and what is not told from it, where rounds are enough to tell."""
    at = numbers.rate(rate["rate_per_s"])
    if rate["best"] is None:
        return f"at {at} every way is infinitely late"
    side = rate["sides"][rate["best"]]
    value = side["latency_us"][asked.by]["value"]
    assert value is not None
    text = f"at {at} {_way(side['batching'])} has the lowest {asked.by}, {format_us(value)}"
    for name, found in side["against"].items():
        one = found.get(asked.by)
        if one is not None and one["ratio"]["value"] is not None:
            low, high = one["ratio"]["low"], one["ratio"]["high"]
            known = low is not None and high is not None and math.isfinite(low)
            ends = f" [{low:.2f}, {numbers.number(high, 2)}]" if known else ""
            text += f", {numbers.number(one['ratio']['value'], 2)}{ends} of {_way(name)}"
    if rate["not_told"] and enough:
        near = ", ".join(_way(rate["sides"][place]["batching"]) for place in rate["not_told"])
        text += f"; not told from it: {near}"
    return text


def _way(batching: Batching) -> str:
    if batching == "none":
        return "no batching"
    return "Nagle's" if batching == "nagle" else f"an interval of {batching_text(batching)}"
