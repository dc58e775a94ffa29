"""Comparisons of short runs on hosts with 1, 5 and 10 % interference: false alarms, and how soon a tenth is found.

Each run is a simulated queue with interruptions of 3 ms, whose isolated latency is estimated as in a measurement.
Studies draw their runs from a pool of such runs. Restarts make a server faster or slower as a whole. ``python -m
tests.stats.test_short_comparisons`` prints the table of docs/benchmarks.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest

from hindmost.commands.compare.arms import BETWEEN_S
from hindmost.commands.compare.targets.decision import needs_rounds
from hindmost.commands.compare.targets.request import SHORTEST_S, WARM_SHARE
from hindmost.stats import Dependence, Interruptions, IsolatedLatency, Service, contrasts, isolated_latency
from hindmost.stats.runs.contrast import Word
from hindmost.stats.runs.looks import error_of_look, plan_looks
from tests.stats.interference_worlds import SCV, SERVICE_NS, World, simulate

LEVELS = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
REQUESTS = 20_000
"""In a run of 1.5 s at 15,000 requests/s, 20,000 are stored."""
RESTART = 0.02
"""Standard deviation between restarts of a server."""
ROUND_S = 2.0 * (SHORTEST_S * (1.0 + WARM_SHARE) + BETWEEN_S)
INDEPENDENT = Dependence(False, 1.0, math.nan, 0, "")
DIFFERENT: tuple[Word, ...] = ("slower", "faster")


@dataclass(frozen=True)
class Pool:
    """Isolated quantiles of runs, their errors within the run, and the latency quantiles, by percentile."""

    values: Mapping[str, np.ndarray]
    errors: Mapping[str, np.ndarray]
    raw: Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Outcome:
    """The words at the end, and when each percentile was first found to differ."""

    words: Mapping[str, Word]
    found_s: Mapping[str, float]


@cache
def make_pool(share: float, runs: int) -> Pool:
    world = World("exponential", 0.3, share, 3.0)
    service = Service(world.rho, SERVICE_NS, SCV[world.law])
    columns = np.empty((3, len(LEVELS), runs))
    for run in range(runs):
        simulated = simulate(world, REQUESTS, seed=1_000 * round(100 * share) + run, warmup=5_000)
        interruptions = Interruptions.from_times(simulated.on, simulated.off)
        found = isolated_latency(
            simulated.scheduled,
            simulated.done,
            interruptions,
            service,
            list(LEVELS.values()),
            least_spells=1,
            dependence=INDEPENDENT,
        )
        assert isinstance(found, IsolatedLatency)
        for place, quantile in enumerate(found.quantiles):
            assert quantile.estimate is not None
            low, high = quantile.estimate.low, quantile.estimate.high
            columns[0, place, run] = quantile.estimate.value
            columns[1, place, run] = math.log(high / low) / (2.0 * 1.96) if 0.0 < low < high else math.nan
        columns[2, :, run] = np.quantile(simulated.done - simulated.scheduled, list(LEVELS.values()))
    return Pool(*(dict(zip(LEVELS, part, strict=True)) for part in columns))


def compare_services(pool: Pool, factor: float, seed: int, names: Sequence[str] = tuple(LEVELS)) -> Outcome:
    """Compare two services of which the second takes `factor` times as long, until all is decided."""
    g = np.random.default_rng(seed)
    looks = plan_looks(len(names))
    first, second = g.integers(pool.values["p50"].size, size=(2, looks[-1]))
    restarts = np.exp(g.normal(0.0, RESTART, (2, looks[-1])))
    found_s: dict[str, float] = {}
    for place, look in enumerate(looks):
        rounds = slice(look)
        found = contrasts(
            {name: (pool.values[name][first] * restarts[0])[rounds] for name in names},
            {name: (factor * pool.values[name][second] * restarts[1])[rounds] for name in names},
            paired=True,
            errors={
                name: np.hypot(pool.errors[name][first], pool.errors[name][second])[rounds] for name in names
            },
            level=error_of_look(place),
            seed=seed,
        )
        words = {name: one.word for name, one in found.items()}
        for name, word in words.items():
            if word in DIFFERENT:
                found_s.setdefault(name, look * ROUND_S)
        if not any(needs_rounds(one.word, one.more, looks[-1]) for one in found.values()):
            break
    return Outcome(words, found_s)


def share_of(outcomes: Sequence[Outcome], name: str, within_s: float) -> float:
    """The share of studies in which a percentile was found to differ within this time."""
    return float(np.mean([one.found_s.get(name, math.inf) <= within_s for one in outcomes]))


def false_alarms(outcomes: Sequence[Outcome]) -> float:
    return float(np.mean([any(word in DIFFERENT for word in one.words.values()) for one in outcomes]))


@pytest.mark.parametrize(
    ("share", "runs", "studies"),
    [
        pytest.param(0.05, 24, 15, id="5 %"),
        *(
            pytest.param(
                share,
                300,
                400,
                marks=[pytest.mark.nightly, pytest.mark.timeout(3600)],
                id=f"{share:.0%}, many",
            )
            for share in (0.01, 0.05, 0.1)
        ),
    ],
)
def test_equal_services_seldom_differ_and_a_tenth_is_found_in_minutes(
    share: float, runs: int, studies: int
) -> None:
    pool = make_pool(share, runs)
    assert np.median(pool.raw["p99"]) > 1.5 * np.median(pool.values["p99"]), (
        "interference dominates raw latency"
    )
    alike = [compare_services(pool, 1.0, seed) for seed in range(studies)]
    assert false_alarms(alike) <= 0.05 + 4.0 * math.sqrt(0.05 * 0.95 / studies)
    slower = [compare_services(pool, 1.1, studies + seed) for seed in range(studies)]
    slack = 4.0 * math.sqrt(0.1 * 0.9 / studies)
    assert share_of(slower, "p50", 60.0) >= 0.9 - slack
    assert share_of(slower, "p99", 300.0) >= 0.9 - slack


def print_table(studies: int = 400, runs: int = 300) -> None:
    """Print the table of docs/benchmarks.md."""
    print("| interference | false alarms | p50 in 1 min | p99 in 1 min | p99 in 2 min | p99 in 5 min |")
    print("| --- | --- | --- | --- | --- | --- |")
    for share in (0.01, 0.05, 0.1):
        pool = make_pool(share, runs)
        alike = [compare_services(pool, 1.0, seed) for seed in range(studies)]
        slower = [compare_services(pool, 1.1, studies + seed) for seed in range(studies)]
        found = [
            share_of(slower, name, seconds)
            for name, seconds in (("p50", 60.0), ("p99", 60.0), ("p99", 120.0), ("p99", 300.0))
        ]
        cells = [f"{false_alarms(alike):.1%}", *(f"{one:.0%}" for one in found)]
        print(f"| {share:.0%} | {' | '.join(cells)} |")


if __name__ == "__main__":
    print_table()
