"""Tests and intervals of a diagnosis err as often as they may: the table of docs/studies/coverage.md, in short."""

import pytest
from experiment_worlds import ROWS, rate

from hindmost.stats.tables import binomial_bounds


def held(name: str, trials: int) -> None:
    """Seen no oftener than is put up with, at a false alarm of 0.1 % a row."""
    low, _ = binomial_bounds(round(rate(name, trials) * trials), trials, 0.998)
    assert low <= ROWS[name][1], f"{name}: {rate(name, trials):.3f}"


# What moved with a series takes 50 ms a time: tests/stats/test_causes.py has that in short.
@pytest.mark.parametrize("name", [name for name in ROWS if name != "an unrelated metric moved with it"])
def test_errors_are_no_oftener_than_is_said(name):
    held(name, 100)


@pytest.mark.nightly
@pytest.mark.parametrize("name", ROWS)
def test_errors_of_thousands_are_no_oftener_than_is_said(name):
    held(name, 3_000)
