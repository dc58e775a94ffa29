"""What people ask for: units, workload files, and the measure plan that follows from them."""

from hindmost.plan.measure import MeasurePlan
from hindmost.plan.objective import SHARES, Objective, Term, parse_objective
from hindmost.plan.units import (
    Threshold,
    parse_duration,
    parse_percent,
    parse_quantiles,
    parse_rate,
    parse_runs,
    parse_share,
    parse_threshold,
)
from hindmost.plan.workload import load_workload

__all__ = [
    "SHARES",
    "MeasurePlan",
    "Objective",
    "Term",
    "Threshold",
    "load_workload",
    "parse_duration",
    "parse_objective",
    "parse_percent",
    "parse_quantiles",
    "parse_rate",
    "parse_runs",
    "parse_share",
    "parse_threshold",
]
