"""Results for Python users: an object with DataFrames, figures and the document.

There is one module per kind of result. Each result is built from the document that the command line writes as
JSON. This package computes no statistics and draws nothing itself.
"""

from hindmost.results.api import attribute, compare, measure
from hindmost.results.attribution import AttributionResult
from hindmost.results.comparison import (
    BatchingResult,
    ComparisonResult,
    TrialResult,
    VerificationResult,
)
from hindmost.results.fit import FitResult
from hindmost.results.listing import list_studies
from hindmost.results.measurement import MeasureResult
from hindmost.results.opening import open_study
from hindmost.results.prediction import SimulationResult, SweepResult
from hindmost.results.result import Result
from hindmost.results.search import SearchResult

__all__ = [
    "AttributionResult",
    "BatchingResult",
    "ComparisonResult",
    "FitResult",
    "MeasureResult",
    "Result",
    "SearchResult",
    "SimulationResult",
    "SweepResult",
    "TrialResult",
    "VerificationResult",
    "attribute",
    "compare",
    "list_studies",
    "measure",
    "open_study",
]
