"""Statistics of run values: intervals, stopping, variance, warnings. No files, no sockets."""

from hindmost.stats.estimate import Estimate
from hindmost.stats.factors.coding import Column, Factorial
from hindmost.stats.factors.control import ControlDifference, control_differences
from hindmost.stats.factors.crossings import Crossing, find_crossings
from hindmost.stats.factors.differences import Difference, low_level_difference, term_difference
from hindmost.stats.factors.effects import Effect, Prediction, RunFit, TermTest, fit_runs
from hindmost.stats.factors.explained_variance import ExplainedVariance, explained_variance, pseudo_r2
from hindmost.stats.factors.families import false_discovery, holm, holm_families, simultaneous, step_down
from hindmost.stats.factors.misfit import Misfit, find_misfit
from hindmost.stats.factors.permutation import Suspect, coefficient_ps, randomisation_p, screen_factors
from hindmost.stats.factors.resampling import joint_draws
from hindmost.stats.factors.selection import BestDifference, best_differences
from hindmost.stats.requests.agreement import Agreement, Spread, agreement, constancy
from hindmost.stats.requests.coefficients import Coefficient, JointTest
from hindmost.stats.requests.dependence import Dependence, Onsets, interruption_dependence
from hindmost.stats.requests.interruptions import Interruptions, Service
from hindmost.stats.requests.isolation import (
    NEVER,
    IsolatedLatency,
    IsolatedQuantile,
    IsolationRefusal,
    isolated_latency,
)
from hindmost.stats.requests.linear_quantile import FitCheck
from hindmost.stats.requests.pooling import PooledCell, PooledEffect, PooledFit, fit_pooled
from hindmost.stats.requests.quantile_regression import QuantileRegression
from hindmost.stats.requests.samples import Requests
from hindmost.stats.runs.aggregate import Aggregate, run_value
from hindmost.stats.runs.before_after import Comparison, compare_runs
from hindmost.stats.runs.bisection import Belief, Span
from hindmost.stats.runs.contrast import Contrast, contrasts, least_pairs
from hindmost.stats.runs.equivalence import Equivalence, equivalence
from hindmost.stats.runs.hysteresis import Hysteresis, hysteresis
from hindmost.stats.runs.intervals import mean_interval, median_interval, smallest_n_for_median
from hindmost.stats.runs.modality import Modality, modality, unseen_mode_share
from hindmost.stats.runs.objective import ObjectiveRule
from hindmost.stats.runs.order import OrderEffect, order_effect
from hindmost.stats.runs.ownership import Ownership, find_owner
from hindmost.stats.runs.sequential import Decision, PrecisionRule
from hindmost.stats.runs.slow_clients import SlowClient, find_slow_clients
from hindmost.stats.runs.summary import (
    Middle,
    OutlyingRuns,
    RunSummary,
    mean_claim,
    middle_interval,
    outlying_runs,
    positive_mean_interval,
    runs_to_see,
    summarise_runs,
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
    "Aggregate",
    "Agreement",
    "Belief",
    "BestDifference",
    "Coefficient",
    "Column",
    "Comparison",
    "Contrast",
    "ControlDifference",
    "Crossing",
    "Decision",
    "Dependence",
    "Difference",
    "Effect",
    "Equivalence",
    "Estimate",
    "ExplainedVariance",
    "Factorial",
    "FitCheck",
    "Hysteresis",
    "Interruptions",
    "IsolatedLatency",
    "IsolatedQuantile",
    "IsolationRefusal",
    "JointTest",
    "Middle",
    "Misfit",
    "Modality",
    "ObjectiveRule",
    "Onsets",
    "OrderEffect",
    "OutlyingRuns",
    "Ownership",
    "PooledCell",
    "PooledEffect",
    "PooledFit",
    "PrecisionRule",
    "Prediction",
    "QuantileRegression",
    "Requests",
    "RunFit",
    "RunInterval",
    "RunSummary",
    "Service",
    "SlowClient",
    "Span",
    "Spread",
    "Suspect",
    "TermTest",
    "VarianceComponents",
    "Verdict",
    "agreement",
    "best_differences",
    "coefficient_ps",
    "compare_runs",
    "constancy",
    "contrasts",
    "control_differences",
    "decide",
    "equivalence",
    "explained_variance",
    "false_discovery",
    "find_crossings",
    "find_misfit",
    "find_owner",
    "find_slow_clients",
    "fit_pooled",
    "fit_runs",
    "holm",
    "holm_families",
    "hysteresis",
    "interruption_dependence",
    "isolated_latency",
    "joint_draws",
    "least_pairs",
    "low_level_difference",
    "mean_claim",
    "mean_interval",
    "median_interval",
    "middle_interval",
    "modality",
    "more_runs",
    "order_effect",
    "outlying_runs",
    "paired_ratio",
    "positive_mean_interval",
    "pseudo_r2",
    "randomisation_p",
    "run_interval",
    "run_value",
    "runs_needed",
    "runs_to_see",
    "screen_factors",
    "section_interval",
    "sections_allowed",
    "simultaneous",
    "smallest_n_for_median",
    "step_down",
    "summarise_runs",
    "term_difference",
    "unseen_mode_share",
    "variance_components",
    "within_variance",
]
