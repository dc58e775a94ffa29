"""What Python users get: a study, a simulation or a fit as an object of frames, figures and its document.

One file a kind of result. All of them are made of the document that the command line writes as JSON; nothing
is judged, estimated or drawn here.
"""

from hindmost.results.asking import attribute, compare, measure
from hindmost.results.attributed import AttributionResult
from hindmost.results.batched import BatchingResult
from hindmost.results.compared import ComparisonResult
from hindmost.results.fitted import FitResult
from hindmost.results.listed import list_studies
from hindmost.results.measured import MeasureResult
from hindmost.results.opening import open_study
from hindmost.results.predicted import SimulationResult, SweepResult
from hindmost.results.result import Result
from hindmost.results.searched import SearchResult
from hindmost.results.verified import VerificationResult

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
    "VerificationResult",
    "attribute",
    "compare",
    "list_studies",
    "measure",
    "open_study",
]
