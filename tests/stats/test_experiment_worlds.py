"""Error rates of a diagnosis's tests and intervals: a short form of the table in docs/studies/coverage.md."""

import pytest
from experiment_worlds import ROWS, rate

from hindmost.stats.tables import binomial_bounds


def check(name: str, trials: int) -> None:
    """Assert that the error is no more frequent than tolerated, with a false alarm rate of 0.1 % per row."""
    low, _ = binomial_bounds(round(rate(name, trials) * trials), trials, 0.998)
    assert low <= ROWS[name][1], f"{name}: {rate(name, trials):.3f}"


# Ranking metrics takes 50 ms per trial: tests/stats/test_causes.py has a short form.
@pytest.mark.parametrize("name", [name for name in ROWS if name != "an unrelated metric moved with it"])
def test_errors_are_no_more_frequent_than_stated(name):
    check(name, 100)


@pytest.mark.nightly
@pytest.mark.parametrize("name", ROWS)
def test_errors_in_thousands_of_trials_are_no_more_frequent_than_stated(name):
    check(name, 3_000)
