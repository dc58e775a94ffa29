"""The search for the highest rate under an objective: what a step says, what is believed, what comes next."""

from hindmost.studies.search.found import (
    CONFIDENCE,
    HIGHEST,
    LOWEST,
    Found,
    Step,
    at,
    brief,
    counted,
    figures,
    stored,
)
from hindmost.studies.search.rates import MOST_STEPS, RATIO, RateSearch

__all__ = [
    "CONFIDENCE",
    "HIGHEST",
    "LOWEST",
    "MOST_STEPS",
    "RATIO",
    "Found",
    "RateSearch",
    "Step",
    "at",
    "brief",
    "counted",
    "figures",
    "stored",
]
