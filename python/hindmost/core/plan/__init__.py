"""User input: units, limits and workload files, and the measure plan that follows from them."""

from hindmost.core.plan.change import ChangeLimit, parse_change, parse_changes
from hindmost.core.plan.measure import MeasurePlan
from hindmost.core.plan.objective import Objective, parse_objective
from hindmost.core.plan.term import THROUGHPUT, Term, parse_term, share
from hindmost.core.plan.units import (
    parse_duration,
    parse_percent,
    parse_quantiles,
    parse_rate,
    parse_runs,
    parse_share,
)
from hindmost.core.plan.workload import load_workload

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
