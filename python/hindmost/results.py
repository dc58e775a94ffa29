"""Classes of results for Python users. Each is built from the document that ``--json`` prints."""

from hindmost.commands.attribute.result import AttributionResult
from hindmost.commands.clone.results.fit import FitResult
from hindmost.commands.clone.results.prediction import SimulationResult, SweepResult
from hindmost.commands.compare.result import BatchingResult, ComparisonResult, TrialResult, VerificationResult
from hindmost.commands.explain.result import ExplainResult
from hindmost.commands.measure.result import MeasureResult
from hindmost.commands.measure.search.result import SearchResult
from hindmost.core.results.result import Result

__all__ = [
    "AttributionResult",
    "BatchingResult",
    "ComparisonResult",
    "ExplainResult",
    "FitResult",
    "MeasureResult",
    "Result",
    "SearchResult",
    "SimulationResult",
    "SweepResult",
    "TrialResult",
    "VerificationResult",
]
