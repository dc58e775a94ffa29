"""Variance of latency by stages, compared with the requests themselves, with intervals that cover."""

import math

import numpy as np
import pytest

from hindmost.stats.stages import STAGES, decompose
from hindmost.stats.stages.moments import VARIABLES

UPPER = np.triu_indices(VARIABLES)


def block(requests: dict[str, np.ndarray]) -> dict[str, object]:
    """A block as the probes sum it: by kind, rows of five stages in ns and the batch size."""
    kinds = []
    for kind, rows in requests.items():
        off = rows - rows.mean(axis=0)
        latency = rows[:, :5].sum(axis=1)
        kinds.append(
            {
                "kind": kind,
                "n": len(rows),
                "mean_ns": rows.mean(axis=0).tolist(),
                "products": (off.T @ off)[UPPER].tolist(),
                "latency_ns": latency.mean(),
                "latency_square": ((latency - latency.mean()) ** 2).sum(),
            }
        )
    return {"kinds": kinds}


def requests(generator: np.random.Generator, count: int, scale: float = 1.0) -> np.ndarray:
    """Stages that depend on each other and on the batch."""
    batch = 1 + generator.poisson(2, count)
    queue = scale * generator.exponential(30e3, count)
    ahead = batch * generator.exponential(2e3, count)
    return np.column_stack(
        [np.full(count, 1e3), queue, ahead, 4e3 + 0.1 * queue, generator.normal(2e3, 50, count), batch]
    )


def test_pooled_moments_equal_those_of_all_requests_together():
    generator = np.random.default_rng(5)
    parts = [{"get": requests(generator, 300, 1 + k), "set": requests(generator, 40, 3)} for k in range(4)]
    result = decompose([block(part) for part in parts])
    rows = np.vstack([rows for part in parts for rows in part.values()])
    latency = rows[:, :5].sum(axis=1)
    assert result is not None
    assert result.requests == len(rows)
    assert result.latency.mean_us.value == pytest.approx(latency.mean() / 1e3)
    assert result.latency.variance_us2.value == pytest.approx(latency.var() / 1e6)
    np.testing.assert_allclose(result.covariance_us2, np.cov(rows[:, :5].T, ddof=0) / 1e6, atol=1e-9)
    assert result.closure < 1e-9
    for index, stage in enumerate(result.stages):
        with_latency = np.cov(rows[:, index], latency, ddof=0)[0, 1]
        assert stage.share is not None
        assert stage.share.value == pytest.approx(with_latency / latency.var(), abs=1e-9)
        assert stage.c2 is not None
        assert stage.c2.value == pytest.approx(rows[:, index].var() / rows[:, index].mean() ** 2, abs=1e-9)
    assert result.batch_mean == pytest.approx(rows[:, 5].mean())
    ahead = np.corrcoef(rows[:, 2], rows[:, 5])[0, 1]
    assert result.batch_correlation[2] == pytest.approx(ahead)
    assert math.isnan(result.batch_correlation[0]), "a constant stage correlates with nothing"


def test_one_kind_can_be_analysed_alone():
    generator = np.random.default_rng(6)
    gets, sets = requests(generator, 100), requests(generator, 50, 9)
    result = decompose([block({"get": gets, "set": sets})], ["set"])
    assert result is not None
    assert result.requests == 50
    assert result.latency.mean_us.value == pytest.approx(sets[:, :5].sum(axis=1).mean() / 1e3)
    assert decompose([block({"get": gets})], ["set"]) is None


def test_stages_that_do_not_add_up_to_the_latency_are_noticed():
    part = block({"get": requests(np.random.default_rng(7), 500)})
    part["kinds"][0]["latency_square"] *= 1.02
    result = decompose([part])
    assert result is not None
    assert result.closure == pytest.approx(0.02 / 1.02)
    observed = part["kinds"][0]["latency_square"] / 500 / 1e6
    assert result.latency.variance_us2.value == pytest.approx(observed)


def test_the_critical_stage_by_variance_differs_from_that_by_mean():
    generator = np.random.default_rng(8)
    rows = requests(generator, 1000)
    rows[:, 0] += 1e6  # long, and the same for all
    result = decompose([block({"get": rows})])
    assert result is not None
    assert result.by_mean.name == STAGES[0]
    assert result.by_variance.name == STAGES[1]


def test_few_blocks_give_no_interval_and_equal_requests_no_share():
    alike = np.tile([1e3, 2e3, 0.0, 3e3, 4e3, 1.0], (9, 1))
    result = decompose([block({"get": alike})] * 3)
    assert result is not None
    assert math.isnan(result.latency.mean_us.low)
    assert result.latency.share is None
    assert math.isnan(result.closure)
    assert result.stages[2].c2 is None


def test_intervals_cover_although_neighbouring_requests_are_alike():
    """Each block has a different level, as with a busy neighbour, so requests are far from independent.

    Nominal 95 %. Of 40 series of 50 blocks at least 30 must cover the true mean (a coverage of 0.92 fails in one of 4,500
    seeds). If requests were drawn one by one, 12 % would cover.
    """
    generator = np.random.default_rng(9)
    covered = 0
    for _ in range(40):
        levels = generator.gamma(4, 0.25, 50)
        blocks = [
            block({"get": np.column_stack([np.full((60, 5), 1e3), np.ones(60)]) + _noise(generator, level)})
            for level in levels
        ]
        result = decompose(blocks)
        assert result is not None
        covered += result.latency.mean_us.low <= 5.0 + 10.0 <= result.latency.mean_us.high
    assert covered >= 30


def _noise(generator: np.random.Generator, level: float) -> np.ndarray:
    noise = np.zeros((60, VARIABLES))
    noise[:, 1] = level * generator.exponential(10e3, 60)
    return noise
