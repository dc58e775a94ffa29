"""How often two servers are called alike that are not, and the other way round."""

import numpy as np
import pytest

from hindmost.stats import equivalence


def called_alike(ratio: float, margin: float, pairs: int, scatter: float, tries: int = 4_000) -> float:
    random = np.random.default_rng(1)
    theirs = np.exp(random.normal(0.0, scatter, (tries, pairs)))
    ours = ratio * np.exp(random.normal(0.0, scatter, (tries, pairs)))
    return np.mean(
        [equivalence(a, b, margin).outcome == "equivalent" for a, b in zip(ours, theirs, strict=True)]
    )


@pytest.mark.parametrize("pairs", [3, 5, 10])
@pytest.mark.parametrize("ratio", [1.05, 0.95])
def test_servers_at_the_margin_are_called_alike_in_one_case_of_twenty(pairs: int, ratio: float) -> None:
    # The standard error of a share of .05 over 4,000 is .0034; three of them.
    assert called_alike(ratio, 0.05, pairs, 0.01) <= 0.05 + 0.011


def test_equal_servers_are_called_alike_where_the_pairs_can_tell() -> None:
    assert called_alike(1.0, 0.05, 5, 0.007) > 0.95
    assert called_alike(1.0, 0.05, 5, 0.10) < 0.10  # noise twice the margin: nothing is shown


def test_far_servers_are_called_different() -> None:
    random = np.random.default_rng(2)
    theirs = np.exp(random.normal(0.0, 0.01, (500, 5)))
    outcomes = [equivalence(1.2 * row, row[::-1], 0.05).outcome for row in theirs]
    assert outcomes.count("different") > 490


@pytest.mark.parametrize("values", [[float("inf"), 1.0], [0.0, 1.0], [-1.0, 1.0]])
def test_values_without_a_ratio_are_refused(values: list[float]) -> None:
    with pytest.raises(ValueError, match="positive, finite"):
        equivalence(values, [1.0, 1.0], 0.05)
