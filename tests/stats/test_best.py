"""Multiple comparisons with the best, verdicts, and the confirmation that follows."""

import numpy as np
import pytest
from table_iv import DESIGN, cells_of_table_iv

from hindmost.stats import Estimate, Factorial, best, brown_forsythe, confirmed, decide, fit_runs, more_runs


def test_all_distances_from_the_best_are_covered_together() -> None:
    """Cells that scatter differently, two of them equally good."""
    random = np.random.default_rng(1)
    design = Factorial({"a": 2, "b": 3})
    truth = dict(zip(design.cells, [100.0, 100.0, 102.0, 104.0, 110.0, 120.0], strict=True))
    tries, together, kept = 300, 0, 0
    for seed in range(tries):
        runs = {cell: random.normal(value, 1.0 + value / 40.0, 6) for cell, value in truth.items()}
        found = best(fit_runs(runs, design), draws=2_000, seed=seed)
        behind = {c: v - min(o for d, o in truth.items() if d != c) for c, v in truth.items()}
        together += all(one.low <= behind[one.cell] <= one.high for one in found)
        kept += all(one.tied for one in found if truth[one.cell] == 100.0)
        assert found[0].behind <= 0.0 <= found[1].behind
    # The standard error of a share of .95 over 300 is .0126; three of them. The bounds are conservative here.
    assert together / tries >= 0.95 - 0.038
    assert kept / tries >= 0.95 - 0.038


def test_the_best_cell_of_table_iv_is_chosen_or_tied() -> None:
    random = np.random.default_rng(2)
    truth = cells_of_table_iv(0.99)
    for seed in range(20):
        runs = {cell: value * random.lognormal(0.0, 0.05, 30) for cell, value in truth.items()}
        found = best(fit_runs(runs, DESIGN, scale="log"), draws=2_000, seed=seed)
        assert next(one for one in found if one.cell == min(truth, key=truth.__getitem__)).tied
        assert not found[-1].tied


def test_only_those_that_may_be_set_are_compared() -> None:
    design = Factorial(["a", "b"])
    runs = {cell: [10.0 * sum(cell) + v for v in (0.0, 1.0, 2.0)] for cell in design.cells}
    found = best(fit_runs(runs, design), among=[(0, 1), (1, 1)])
    assert [one.cell for one in found] == [(0, 1), (1, 1)]
    assert [one.tied for one in found] == [True, False]
    with pytest.raises(ValueError, match="two different cells"):
        best(fit_runs(runs, design), among=[(0, 1)])


def test_cells_without_scatter_are_told_apart() -> None:
    found = best(fit_runs({(0,): [5.0, 5.0], (1,): [7.0, 7.0]}, Factorial(["a"])))
    assert [(one.cell, one.tied, one.low, one.high) for one in found] == [
        ((0,), True, -2.0, 0.0),
        ((1,), False, 0.0, 2.0),
    ]


def test_so_many_more_runs_decide_four_times_of_five() -> None:
    random = np.random.default_rng(3)
    effect, scatter, runs = 4.0, 5.0, 6
    half = 2.228 * scatter * np.sqrt(2 / runs)
    seen = Estimate(effect, effect - half, effect + half, runs)
    assert decide(seen, 1.0) == "undecided"
    more = more_runs(seen, 1.0, runs)
    design = Factorial(["a"])
    decided = [
        decide(
            fit_runs(
                {
                    (0,): random.normal(0, scatter, runs + more),
                    (1,): random.normal(effect, scatter, runs + more),
                },
                design,
            ).effects()[1],
            1.0,
        )
        == "raises"
        for _ in range(400)
    ]
    assert np.mean(decided) == pytest.approx(0.85, abs=0.08)  # a little more: t shrinks, too


def test_ratios_of_means_and_of_variances_are_covered() -> None:
    """Skewed runs: after is 0.7 of before, with a quarter of the variance."""
    random = np.random.default_rng(4)
    tries, means, variances = 400, 0, 0
    for seed in range(tries):
        before = 100.0 + 20.0 * (random.gamma(4.0, 1.0, 30) - 4.0) / 2.0
        after = 70.0 + 10.0 * (random.gamma(4.0, 1.0, 30) - 4.0) / 2.0
        found = confirmed(before, after, draws=1_000, seed=seed)
        means += found.means.low <= 0.7 <= found.means.high
        variances += found.variances.low <= 0.25 <= found.variances.high
    # The standard error of a share of .95 over 400 is .011; three of them.
    assert means / tries == pytest.approx(0.95, abs=0.033)
    assert variances / tries == pytest.approx(0.95, abs=0.04)


def test_pairs_that_share_what_the_host_did_are_known_better() -> None:
    random = np.random.default_rng(5)
    host = random.normal(0.0, 10.0, 20)
    before, after = 100.0 + host, 90.0 + host + random.normal(0.0, 1.0, 20)
    apart, paired = confirmed(before, after), confirmed(before, after, paired=True)
    assert paired.means.value == apart.means.value
    assert paired.means.high - paired.means.low < 0.5 * (apart.means.high - apart.means.low)
    assert paired.means.high < 1.0


def test_equal_spread_is_judged_as_by_scipy() -> None:
    from scipy.stats import levene

    random = np.random.default_rng(6)
    for _ in range(20):
        a, b = random.normal(0, 1, 9), random.normal(0, random.uniform(0.5, 3.0), 14)
        assert brown_forsythe(a, b) == pytest.approx(levene(a, b, center="median").pvalue)


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ([1.0], [1.0, 2.0], "two positive, finite runs"),
        ([1.0, float("inf")], [1.0, 2.0], "two positive, finite runs"),
        ([1.0, 2.0, 3.0], [1.0, 2.0], "expected pairs"),
    ],
)
def test_sides_without_a_ratio_are_refused(before, after, words) -> None:
    with pytest.raises(ValueError, match=words):
        confirmed(before, after, paired=True)


def test_few_runs_say_nothing_of_variances() -> None:
    assert confirmed([1.0, 2.0, 3.0], [1.0, 2.0, 3.0]).variances is None
