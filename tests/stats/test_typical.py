"""Studies with outlying runs: the mean's interval fails as documented, the median's covers, with and without stopping.

Seeded; bounds allow 4 standard errors.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from messages import raises
from rows import each_row

from hindmost.errors import ArgumentError
from hindmost.stats import PrecisionRule, mean_interval, outlying_runs, positive_mean_interval, summarise_runs
from hindmost.stats.runs.intervals import mean_bounds
from tests.stats.conftest import ALL_LAWS

Draw = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]

# Share and factor of outlying runs; documented coverage of the mean at 10 and 30 runs (`summarise_runs`).
MEANS = {
    (0.01, 2): (0.933, 0.869),
    (0.01, 5): (0.521, 0.277),
    (0.01, 20): (0.102, 0.265),
    (0.05, 2): (0.585, 0.777),
    (0.05, 5): (0.411, 0.778),
    (0.05, 20): (0.410, 0.778),
    (0.10, 2): (0.674, 0.950),
    (0.10, 5): (0.664, 0.951),
    (0.10, 20): (0.664, 0.952),
}


def draw_contaminated(share: float, factor: float) -> Draw:
    def draw(g: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        return g.lognormal(-(0.05**2) / 2, 0.05, shape) * np.where(g.random(shape) < share, factor, 1.0)

    return draw


def slack(level: float, replications: int) -> float:
    return 4.0 * math.sqrt(level * (1.0 - level) / replications)


def mean_coverage(share: float, factor: float, runs: int, replications: int, seed: int) -> float:
    x = draw_contaminated(share, factor)(np.random.default_rng(seed), (replications, runs))
    _, low, high = mean_bounds(x)
    true = 1.0 + share * (factor - 1.0)
    return float(((low <= true) & (true <= high)).mean())


def stopped_coverage(
    share: float, factor: float, about: str, replications: int, seed: int
) -> tuple[float, float]:
    """Coverage after the stopping rule, and the share of studies that reached their precision."""
    draw, g = draw_contaminated(share, factor), np.random.default_rng(seed)
    rule = PrecisionRule(0.05, 10, 30, about=about)  # type: ignore[arg-type]
    middle = float(np.median(draw(np.random.default_rng(9), (1_000_000,))))
    true = middle if about == "median" else 1.0 + share * (factor - 1.0)
    hits = reached = 0
    for _ in range(replications):
        values = draw(g, (30,)).tolist()
        runs = 10
        while (decision := rule.decide({"p99": values[:runs]})).next_look is not None:
            runs = decision.next_look
        interval = rule.interval(values[:runs])
        hits += interval.low <= true <= interval.high
        reached += decision.reached
    return hits / replications, reached / replications


@pytest.mark.parametrize(("share", "factor"), [(0.05, 20), (0.10, 2)])
def test_median_covers_where_the_mean_does_not_and_stopping_does_not_change_that(
    share: float, factor: float
) -> None:
    median, reached = stopped_coverage(share, factor, "median", 60, seed=1)
    assert median >= 0.95 - slack(0.95, 60)
    assert reached > 0.9
    assert mean_coverage(share, factor, 10, 2_000, seed=2) < 0.75


@pytest.mark.nightly
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("share", "factor"), MEANS)
def test_table_of_contaminated_laws(share: float, factor: float) -> None:
    documented = MEANS[share, factor]
    for runs, expected in zip((10, 30), documented, strict=True):
        assert mean_coverage(share, factor, runs, 20_000, seed=runs) == pytest.approx(expected, abs=0.04)
    assert stopped_coverage(share, factor, "median", 1_000, seed=1)[0] >= 0.95 - slack(0.95, 1_000)


@each_row("name", ALL_LAWS)
def test_tame_laws_have_hardly_any_outlying_run(name: str) -> None:
    """At most .7 % documented; 300 studies of 10 runs."""
    x = np.maximum(ALL_LAWS[name].draw(np.random.default_rng(1), (300, 10)), 0.01)
    assert np.mean([len(outlying_runs(row).places) for row in x]) / 10 < 0.007 + slack(0.007, 3_000)


def test_share_of_outlying_runs_is_covered() -> None:
    draw, g = draw_contaminated(0.1, 5.0), np.random.default_rng(3)
    shares = [outlying_runs(draw(g, (20,))).share for _ in range(400)]
    assert np.mean([share.low <= 0.1 <= share.high for share in shares]) >= 0.95 - slack(0.95, 400)


def test_interval_of_positive_runs_never_reaches_zero() -> None:
    for runs in ([30, 30, 31, 4000, 30, 31], [46, 51, 49, 47, 366, 50, 48, 739, 47, 1038, 46]):
        assert mean_interval(runs).low < 0.0
        assert 0.0 < positive_mean_interval(runs).low < np.median(runs) * 2
    late = positive_mean_interval([30.0, 31.0, 30.4, math.inf])
    assert late.low > 0.0
    assert late.high == math.inf


def test_low_end_on_the_ratio_scale_covers_tame_runs_like_the_plain_one() -> None:
    law, g = ALL_LAWS["lognormal 10%"], np.random.default_rng(4)
    intervals = [positive_mean_interval(row) for row in law.draw(g, (1_000, 10))]
    hit = np.mean([interval.low <= 1.0 <= interval.high for interval in intervals])
    assert hit >= 0.95 - slack(0.95, 1_000)


def test_outlying_runs_are_named() -> None:
    assert summarise_runs([46, 51, 49, 47, 366, 50, 48, 739, 47, 1038, 46, 51]).off.places == (4, 7, 9)
    assert summarise_runs([30.1, 31.0, 30.4, 30.9, 30.6, 30.2]).off.places == ()


def test_values_that_are_not_positive_are_refused() -> None:
    with raises(ArgumentError, "bad-argument", argument="values"):
        summarise_runs([0.0, 1.0])
