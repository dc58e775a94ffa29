"""What users write: units, limits and workload files, and the measure plan that follows from them."""

from hindmost.plan.change import ChangeLimit, parse_change, parse_changes
from hindmost.plan.measure import MeasurePlan
from hindmost.plan.objective import Objective, parse_objective
from hindmost.plan.term import THROUGHPUT, Term, parse_term, share
from hindmost.plan.units import (
    parse_duration,
    parse_percent,
    parse_quantiles,
    parse_rate,
    parse_runs,
    parse_share,
)
from hindmost.plan.workload import load_workload

__all__ = [
    "THROUGHPUT",
    "ChangeLimit",
    "MeasurePlan",
    "Objective",
    "Term",
    "load_workload",
    "parse_change",
    "parse_changes",
    "parse_duration",
    "parse_objective",
    "parse_percent",
    "parse_quantiles",
    "parse_rate",
    "parse_runs",
    "parse_share",
    "parse_term",
    "share",
]
