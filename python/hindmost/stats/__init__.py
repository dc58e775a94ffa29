"""What run values can and cannot say: intervals, stopping, variance, warnings. No files, no sockets."""

from hindmost.stats.aggregate import Aggregate, run_value
from hindmost.stats.agreement import Agreement, Spread, agreement, constancy
from hindmost.stats.bisection import Belief, Span
from hindmost.stats.equivalence import Equivalence, equivalence
from hindmost.stats.estimate import Estimate
from hindmost.stats.factorial import Effect, Factorial, holm
from hindmost.stats.intervals import mean_interval, median_interval, smallest_n_for_median
from hindmost.stats.modality import Modality, modality, unseen_mode_share
from hindmost.stats.objective import ObjectiveRule
from hindmost.stats.order import OrderEffect, order_effect
from hindmost.stats.ownership import Ownership, owners
from hindmost.stats.quantile_regression import QuantileRegression
from hindmost.stats.sectioning import paired_ratio, section_interval
from hindmost.stats.sequential import Decision, PrecisionRule
from hindmost.stats.variance import VarianceComponents, sections_allowed, variance_components, within_variance
from hindmost.stats.within_run import RunInterval, run_interval

__all__ = [
    "Aggregate",
    "Agreement",
    "Belief",
    "Decision",
    "Effect",
    "Equivalence",
    "Estimate",
    "Factorial",
    "Modality",
    "ObjectiveRule",
    "OrderEffect",
    "Ownership",
    "PrecisionRule",
    "QuantileRegression",
    "RunInterval",
    "Span",
    "Spread",
    "VarianceComponents",
    "agreement",
    "constancy",
    "equivalence",
    "holm",
    "mean_interval",
    "median_interval",
    "modality",
    "order_effect",
    "owners",
    "paired_ratio",
    "run_interval",
    "run_value",
    "section_interval",
    "sections_allowed",
    "smallest_n_for_median",
    "unseen_mode_share",
    "variance_components",
    "within_variance",
]
