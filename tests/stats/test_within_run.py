"""The interval within one run covers under autocorrelation, and reports when a run is too short for it.

Seeded. Bounds on coverage allow 4 standard errors (1 in 30,000 a side) around the band of .93 to .97.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from messages import raises
from rows import each_row

from hindmost.errors import ArgumentError
from hindmost.stats import RunInterval, run_interval
from hindmost.stats.series.within_run import MIN_EFFECTIVE, _dispersion

Floats = npt.NDArray[np.float64]
LEVELS = (0.5, 0.95, 0.99, 0.999)
NORMAL = {
    0.5: 0.0,
    0.95: 1.6448536,
    0.99: 2.3263479,
    0.999: 3.0902323,
}  # quantiles of the standard normal law


class Run:
    """The latencies of one run in time order, in sections, with the queries of the engine's histograms."""

    def __init__(self, latencies: Floats, edges: npt.NDArray[np.int64]) -> None:
        self.whole = np.sort(latencies)
        self.sections = [np.sort(part) for part in np.split(latencies, edges)]
        self.counts = [part.size for part in self.sections]

    def quantile_at(self, level: float) -> float:
        rank = math.ceil(level * self.whole.size - 1e-9)
        return float(self.whole[min(max(rank, 1), self.whole.size) - 1])

    def above(self, latency: float) -> list[int]:
        return [part.size - int(np.searchsorted(part, latency, side="right")) for part in self.sections]

    def interval(self, level: float) -> RunInterval:
        return run_interval(level, self.quantile_at, self.above, self.counts)

    def plain_interval(self, level: float) -> tuple[float, float]:
        """From order statistics, as if requests were independent (what Lancet reports)."""
        n = self.whole.size
        reach = 1.96 * math.sqrt(level * (1.0 - level) / n)
        return self.quantile_at(level - reach), self.quantile_at(min(1.0, level + reach))


def tenths(times: Floats) -> npt.NDArray[np.int64]:
    """Start of ten equal spans of time, except the first."""
    return np.asarray(np.searchsorted(times, times[-1] * np.arange(1, 10) / 10), dtype=np.int64)


def iid(g: np.random.Generator, n: int) -> Run:
    return Run(np.exp(0.6 * g.standard_normal(n)), tenths(np.cumsum(g.exponential(1.0, n))))


def ar(g: np.random.Generator, n: int) -> Run:
    """exp(.6 z) where z is AR(1) with coefficient .9 and variance 1."""
    from scipy.signal import lfilter  # type: ignore[import-untyped, unused-ignore]

    noise = math.sqrt(0.19) * g.standard_normal(n)
    noise[0] = g.standard_normal()
    return Run(np.exp(0.6 * lfilter([1.0], [1.0, -0.9], noise)), tenths(np.cumsum(g.exponential(1.0, n))))


def mm1(g: np.random.Generator, n: int) -> Run:
    """Sojourn times at 70 % load, stationary from the start: Lindley's recursion as a minimum."""
    gaps = g.exponential(1.0 / 0.7, n)
    service = g.exponential(1.0, n)
    steps = np.empty(n)
    steps[0] = g.exponential(1.0 / 0.3) if g.random() < 0.7 else 0.0
    steps[1:] = service[:-1] - gaps[1:]
    walk = np.cumsum(steps)
    return Run(walk - np.minimum(np.minimum.accumulate(walk), 0.0) + service, tenths(np.cumsum(gaps)))


DRAW: dict[str, Callable[[np.random.Generator, int], Run]] = {"iid": iid, "ar": ar, "mm1": mm1}


def truth(law: str, level: float) -> float:
    return -math.log(1.0 - level) / 0.3 if law == "mm1" else math.exp(0.6 * NORMAL[level])


@cache
def trials(law: str, requests: int, level: float, runs: int, seed: int = 1) -> tuple[float, float, float]:
    """Coverage among runs that got an interval, share reported as too short, coverage of the plain interval."""
    g = np.random.default_rng([seed, requests])
    true = truth(law, level)
    hits, short, plain = 0, 0, 0
    for _ in range(runs):
        run = DRAW[law](g, requests)
        interval = run.interval(level)
        low, high = run.plain_interval(level)
        plain += low <= true <= high
        short += interval.too_short
        hits += interval.estimate.low <= true <= interval.estimate.high  # NaN ends never hit
    return hits / max(1, runs - short), short / runs, plain / runs


def slack(level: float, replications: float) -> float:
    return 4.0 * math.sqrt(level * (1.0 - level) / replications)


@pytest.mark.parametrize(("law", "level"), [("iid", 0.99), ("ar", 0.5), ("mm1", 0.5)])
def test_interval_covers_whether_or_not_requests_come_in_bursts(law: str, level: float) -> None:
    coverage, short, _ = trials(law, 5_000, level, 400)
    assert 0.93 - slack(0.93, 400) <= coverage <= 0.97 + slack(0.97, 400)
    assert short < 0.02


def test_order_statistics_for_independent_requests_undercover_in_bursts() -> None:
    """Lancet's interval. 400 runs, 4 standard errors: .10; truth .95, .41, .45 (p95 of M/M/1: .29)."""
    assert trials("iid", 5_000, 0.99, 400)[2] > 0.90
    assert trials("ar", 5_000, 0.5, 400)[2] < 0.52
    assert trials("mm1", 5_000, 0.5, 400)[2] < 0.56


def test_a_burst_counts_once() -> None:
    """50 bursts of 20 slow requests each are worth about 50, not 1,000: chi-square of 9 allows .2 to 3.3."""
    g = np.random.default_rng(4)
    x = g.uniform(1.0, 2.0, 100_000)
    for start in g.integers(0, 99_980, 50):
        x[start : start + 20] = g.uniform(5.0, 6.0)
    interval = Run(x, np.arange(10_000, 100_000, 10_000)).interval(0.99)
    assert 15.0 < interval.effective < 250.0


@each_row(
    ("law", "requests", "level", "short"),
    [
        ("iid", 5_000, 0.999, True),  # 5 requests above
        ("iid", 60_000, 0.999, False),  # 60, independent
        ("ar", 20_000, 0.999, True),  # 20, in bursts of 3
        ("mm1", 60_000, 0.999, True),  # 60, in bursts of 30
        ("mm1", 40_000, 0.95, False),
    ],
)
def test_run_reports_when_it_is_too_short(law: str, requests: int, level: float, short: bool) -> None:
    """20 seeded runs, at most one in the other direction; measured rates are below 1 %."""
    g = np.random.default_rng(7)
    intervals = [DRAW[law](g, requests).interval(level) for _ in range(20)]
    assert sum(interval.too_short is short for interval in intervals) >= 19
    for interval in intervals:
        assert interval.estimate.known is not interval.too_short
        assert (interval.need > 1.0) is interval.too_short


def test_a_run_of_the_length_it_needed_gets_its_interval() -> None:
    g = np.random.default_rng(9)
    short = iid(g, 5_000).interval(0.999)
    assert short.too_short
    assert 5.0 < short.need < 20.0
    longer = [iid(g, int(5_000 * short.need)).interval(0.999) for _ in range(20)]
    assert sum(interval.too_short for interval in longer) <= 4  # 5 % each: 1 in 400


def test_few_effective_requests_stretch_the_far_end_only() -> None:
    g = np.random.default_rng(3)
    ends = [iid(g, 3_500).interval(0.99) for _ in range(200)]
    estimates = [e.estimate for e in ends if not e.too_short]
    far = float(np.mean([e.high - e.value for e in estimates]))
    near = float(np.mean([e.value - e.low for e in estimates]))
    assert far > 1.5 * near


def test_interval_keeps_its_unit_and_its_mirror_image() -> None:
    g = np.random.default_rng(2)
    x = g.normal(size=20_000)
    edges = np.arange(2_000, 20_000, 2_000)
    run, scaled_run, mirror = Run(x, edges), Run(1_000.0 * x, edges), Run(-x, edges)
    p95, p5 = run.interval(0.95).estimate, mirror.interval(0.05).estimate
    assert scaled_run.interval(0.95).estimate.high == pytest.approx(1_000.0 * p95.high)
    assert (-p5.high, -p5.value, -p5.low) == pytest.approx((p95.low, p95.value, p95.high), abs=0.002)


def test_infinitely_late_requests_make_the_high_end_infinite() -> None:
    x = np.random.default_rng(5).exponential(1.0, 10_000)
    x[::105] = math.inf  # .96 %: p99 is barely finite
    edges = np.arange(1_000, 10_000, 1_000)
    estimate = Run(x, edges).interval(0.99).estimate
    assert math.isfinite(estimate.low)
    assert math.isfinite(estimate.value)
    assert estimate.high == math.inf
    x[1:2_000:105] = math.inf  # 1.15 %
    beyond = Run(x, edges).interval(0.99).estimate
    assert (beyond.value, beyond.high) == (math.inf, math.inf)
    assert math.isfinite(beyond.low)
    x[::2] = math.inf
    mostly_lost = Run(x, edges).interval(0.99)
    assert (mostly_lost.estimate.known, mostly_lost.estimate.value, mostly_lost.too_short) == (
        False,
        math.inf,
        False,
    )


def test_equal_latencies_have_an_interval_of_zero_width() -> None:
    interval = Run(np.full(10_000, 7.0), np.arange(1_000, 10_000, 1_000)).interval(0.99)
    assert (interval.estimate.low, interval.estimate.high, interval.dispersion) == (7.0, 7.0, 1.0)


def test_dispersion_is_one_for_independent_requests() -> None:
    """2,000 runs: standard error .011."""
    g = np.random.default_rng(6)
    counts = np.full(10, 500.0)
    mean = np.mean([_dispersion(list(g.binomial(500, 0.05, 10)), counts) for _ in range(2_000)])
    assert mean == pytest.approx(1.0, abs=0.05)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from([1.0, 2.0, 2.0, 3.0, 50.0, math.inf]), min_size=1, max_size=400),
    st.lists(st.integers(0, 400), min_size=9, max_size=9),
    st.floats(0.001, 0.999),
)
def test_any_run_gets_an_interval_around_its_value_or_none(
    latencies: list[float], edges: list[int], level: float
) -> None:
    run = Run(np.array(latencies), np.sort(np.array(edges)))
    interval = run.interval(level)
    assert interval.estimate.value == run.quantile_at(level)
    assert interval.too_short or interval.effective >= MIN_EFFECTIVE or interval.estimate.value == math.inf


@each_row(
    ("level", "above", "counts", "argument"),
    [
        (1.0, [1] * 10, [10] * 10, "level"),
        (0.9, [1] * 4, [10] * 4, "counts"),
        (0.9, [1] * 9, [10] * 10, "above"),
        (0.9, [11] * 10, [10] * 10, "above"),
        (0.9, [0] * 10, [0] * 10, "counts"),
    ],
)
def test_impossible_runs_are_refused(
    level: float, above: list[int], counts: list[int], argument: str
) -> None:
    with raises(ArgumentError, "bad-argument", argument=argument):
        run_interval(level, lambda _: 1.0, lambda _: above, counts)


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("law", "requests", "level"),
    [
        *(("iid", 20_000, q) for q in (0.5, 0.95, 0.99)),
        *(("ar", 20_000, q) for q in (0.5, 0.95, 0.99)),
        *(("mm1", 20_000, q) for q in (0.5, 0.95)),
        ("iid", 50_000, 0.999),
        ("mm1", 100_000, 0.99),
        ("ar", 200_000, 0.999),
    ],
)
def test_interval_covers_as_documented(law: str, requests: int, level: float) -> None:
    """2,000 runs with a separate seed: 93 to 97 %, allowing 2 standard errors (.011; .008) outside."""
    coverage, short, plain = trials(law, requests, level, 2_000, seed=11)
    assert 0.93 - slack(0.93, 2_000) / 2 <= coverage <= 0.97 + slack(0.97, 2_000) / 2
    assert short < 0.25
    assert plain > 0.93 if law == "iid" else plain < 0.75


@pytest.mark.nightly
@pytest.mark.parametrize("law", ["iid", "ar", "mm1"])
@pytest.mark.parametrize("level", [0.95, 0.99])
def test_an_interval_seldom_misses_however_short_the_run(law: str, level: float) -> None:
    """1,000 runs at each length: 5 % may miss, 4 standard errors are .028."""
    for requests in (1_000, 2_000, 5_000, 10_000):
        coverage, short, _ = trials(law, requests, level, 1_000, seed=12)
        assert (1.0 - coverage) * (1.0 - short) <= 0.05 + slack(0.05, 1_000)
