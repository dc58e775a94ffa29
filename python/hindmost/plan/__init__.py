"""What people ask for: units, workload files, and the measure plan that follows from them."""

from hindmost.plan.measure import MeasurePlan
from hindmost.plan.units import (
    Threshold,
    parse_duration,
    parse_percent,
    parse_quantiles,
    parse_rate,
    parse_runs,
    parse_threshold,
)
from hindmost.plan.workload import load_workload

__all__ = [
    "MeasurePlan",
    "Threshold",
    "load_workload",
    "parse_duration",
    "parse_percent",
    "parse_quantiles",
    "parse_rate",
    "parse_runs",
    "parse_threshold",
]
