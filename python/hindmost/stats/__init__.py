"""Statistics of run values: intervals, stopping, variance, warnings. No files, no sockets."""

from hindmost.stats.estimate import Estimate
from hindmost.stats.factors.against import Against, against
from hindmost.stats.factors.best import Behind, best
from hindmost.stats.factors.coding import Column, Factorial
from hindmost.stats.factors.crossings import Crossing, crossings
from hindmost.stats.factors.differences import Difference, low_level_difference, term_difference
from hindmost.stats.factors.effects import Effect, Prediction, RunFit, fit_runs
from hindmost.stats.factors.explained import Explained, explained, pseudo_r2
from hindmost.stats.factors.families import false_discovery, holm, holm_families, simultaneous, step_down
from hindmost.stats.factors.permutation import Suspect, coefficient_ps, randomisation_p, screened
from hindmost.stats.factors.resampling import joint_draws
from hindmost.stats.requests.agreement import Agreement, Spread, agreement, constancy
from hindmost.stats.requests.calm import NEVER, Calm, CalmQuantile, Refused, calm_latency
from hindmost.stats.requests.dependence import Dependence, Onsets, theft_dependence
from hindmost.stats.requests.pooled import PooledCell, PooledEffect, PooledFit, fit_pooled
from hindmost.stats.requests.quantile_regression import QuantileRegression
from hindmost.stats.requests.samples import Requests
from hindmost.stats.requests.thefts import Service, Thefts
from hindmost.stats.runs.aggregate import Aggregate, run_value
from hindmost.stats.runs.before_after import Comparison, compare_runs
from hindmost.stats.runs.bisection import Belief, Span
from hindmost.stats.runs.contrast import Contrast, contrasts, least_pairs
from hindmost.stats.runs.equivalence import Equivalence, equivalence
from hindmost.stats.runs.hysteresis import Hysteresis, hysteresis
from hindmost.stats.runs.intervals import mean_interval, median_interval, smallest_n_for_median
from hindmost.stats.runs.modality import Modality, modality, unseen_mode_share
from hindmost.stats.runs.objective import ObjectiveRule
from hindmost.stats.runs.odd import Odd, odd_instances
from hindmost.stats.runs.order import OrderEffect, order_effect
from hindmost.stats.runs.ownership import Ownership, owners
from hindmost.stats.runs.sequential import Decision, PrecisionRule
from hindmost.stats.runs.typical import (
    Middle,
    RunsOff,
    Typical,
    mean_claims,
    over_runs,
    positive_mean_interval,
    runs_off,
    runs_to_see,
    typical,
)
from hindmost.stats.runs.variance import (
    VarianceComponents,
    sections_allowed,
    variance_components,
    within_variance,
)
from hindmost.stats.runs.verdicts import Verdict, decide, more_runs, runs_needed
from hindmost.stats.series.sectioning import paired_ratio, section_interval
from hindmost.stats.series.within_run import RunInterval, run_interval

__all__ = [
    "NEVER",
    "Against",
    "Aggregate",
    "Agreement",
    "Behind",
    "Belief",
    "Calm",
    "CalmQuantile",
    "Column",
    "Comparison",
    "Contrast",
    "Crossing",
    "Decision",
    "Dependence",
    "Difference",
    "Effect",
    "Equivalence",
    "Estimate",
    "Explained",
    "Factorial",
    "Hysteresis",
    "Middle",
    "Modality",
    "ObjectiveRule",
    "Odd",
    "Onsets",
    "OrderEffect",
    "Ownership",
    "PooledCell",
    "PooledEffect",
    "PooledFit",
    "PrecisionRule",
    "Prediction",
    "QuantileRegression",
    "Refused",
    "Requests",
    "RunFit",
    "RunInterval",
    "RunsOff",
    "Service",
    "Span",
    "Spread",
    "Suspect",
    "Thefts",
    "Typical",
    "VarianceComponents",
    "Verdict",
    "against",
    "agreement",
    "best",
    "calm_latency",
    "coefficient_ps",
    "compare_runs",
    "constancy",
    "contrasts",
    "crossings",
    "decide",
    "equivalence",
    "explained",
    "false_discovery",
    "fit_pooled",
    "fit_runs",
    "holm",
    "holm_families",
    "hysteresis",
    "joint_draws",
    "least_pairs",
    "low_level_difference",
    "mean_claims",
    "mean_interval",
    "median_interval",
    "modality",
    "more_runs",
    "odd_instances",
    "order_effect",
    "over_runs",
    "owners",
    "paired_ratio",
    "positive_mean_interval",
    "pseudo_r2",
    "randomisation_p",
    "run_interval",
    "run_value",
    "runs_needed",
    "runs_off",
    "runs_to_see",
    "screened",
    "section_interval",
    "sections_allowed",
    "simultaneous",
    "smallest_n_for_median",
    "step_down",
    "term_difference",
    "theft_dependence",
    "typical",
    "unseen_mode_share",
    "variance_components",
    "within_variance",
]
