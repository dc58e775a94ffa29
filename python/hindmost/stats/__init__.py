"""What run values can and cannot say: intervals, stopping, variance, warnings. No files, no sockets."""

from hindmost.stats.aggregate import Aggregate, run_value
from hindmost.stats.agreement import Agreement, Spread, agreement, constancy
from hindmost.stats.best import Behind, best
from hindmost.stats.bisection import Belief, Span
from hindmost.stats.coding import Column, Factorial
from hindmost.stats.confirmation import Confirmation, Ratio, brown_forsythe, confirmed
from hindmost.stats.crossings import Crossing, crossings
from hindmost.stats.effects import Effect, Prediction, RunFit, fit_runs
from hindmost.stats.equivalence import Equivalence, equivalence
from hindmost.stats.estimate import Estimate
from hindmost.stats.explained import Explained, explained, pseudo_r2
from hindmost.stats.families import false_discovery, holm, holm_families, simultaneous, step_down
from hindmost.stats.intervals import mean_interval, median_interval, smallest_n_for_median
from hindmost.stats.modality import Modality, modality, unseen_mode_share
from hindmost.stats.objective import ObjectiveRule
from hindmost.stats.order import OrderEffect, order_effect
from hindmost.stats.ownership import Ownership, owners
from hindmost.stats.permutation import Suspect, coefficient_ps, randomisation_p, screened
from hindmost.stats.pooled import PooledCell, PooledEffect, PooledFit, fit_pooled
from hindmost.stats.quantile_regression import QuantileRegression
from hindmost.stats.requests import Requests
from hindmost.stats.resampling import joint_draws
from hindmost.stats.sectioning import paired_ratio, section_interval
from hindmost.stats.sequential import Decision, PrecisionRule
from hindmost.stats.variance import VarianceComponents, sections_allowed, variance_components, within_variance
from hindmost.stats.verdicts import Verdict, decide, more_runs, runs_needed
from hindmost.stats.within_run import RunInterval, run_interval

__all__ = [
    "Aggregate",
    "Agreement",
    "Behind",
    "Belief",
    "Column",
    "Confirmation",
    "Crossing",
    "Decision",
    "Effect",
    "Equivalence",
    "Estimate",
    "Explained",
    "Factorial",
    "Modality",
    "ObjectiveRule",
    "OrderEffect",
    "Ownership",
    "PooledCell",
    "PooledEffect",
    "PooledFit",
    "PrecisionRule",
    "Prediction",
    "QuantileRegression",
    "Ratio",
    "Requests",
    "RunFit",
    "RunInterval",
    "Span",
    "Spread",
    "Suspect",
    "VarianceComponents",
    "Verdict",
    "agreement",
    "best",
    "brown_forsythe",
    "coefficient_ps",
    "confirmed",
    "constancy",
    "crossings",
    "decide",
    "equivalence",
    "explained",
    "false_discovery",
    "fit_pooled",
    "fit_runs",
    "holm",
    "holm_families",
    "joint_draws",
    "mean_interval",
    "median_interval",
    "modality",
    "more_runs",
    "order_effect",
    "owners",
    "paired_ratio",
    "pseudo_r2",
    "randomisation_p",
    "run_interval",
    "run_value",
    "runs_needed",
    "screened",
    "section_interval",
    "sections_allowed",
    "simultaneous",
    "smallest_n_for_median",
    "step_down",
    "unseen_mode_share",
    "variance_components",
    "within_variance",
]
