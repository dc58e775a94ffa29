"""The search for the highest rate under an objective: judging a step, the belief after it, the next rate."""

from hindmost.commands.measure.search.findings import (
    CONFIDENCE,
    HIGHEST,
    LOWEST,
    SearchFindings,
    Step,
    brief_reason,
    format_figure,
    format_rate,
    format_runs,
    load_findings,
)
from hindmost.commands.measure.search.rates import MOST_STEPS, RATIO, RateSearch

__all__ = [
    "CONFIDENCE",
    "HIGHEST",
    "LOWEST",
    "MOST_STEPS",
    "RATIO",
    "RateSearch",
    "SearchFindings",
    "Step",
    "brief_reason",
    "format_figure",
    "format_rate",
    "format_runs",
    "load_findings",
]
