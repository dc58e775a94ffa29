"""Stored measurements compared with the first of them, or targets that are measured now, interleaved."""

from hindmost.studies.comparison.rounds import MARGIN
from hindmost.studies.comparison.targets.answer import answer, compare
from hindmost.studies.comparison.targets.kind import show
from hindmost.studies.comparison.targets.request import TargetsRequest, open_new, reopen

__all__ = ["MARGIN", "TargetsRequest", "answer", "compare", "open_new", "reopen", "show"]
