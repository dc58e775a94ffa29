"""Comparison: stored measurements next to each other, or targets measured now, interleaved."""

from hindmost.studies.comparison.answer import answer, compare
from hindmost.studies.comparison.asked import MARGIN, Asked, opened, reopened
from hindmost.studies.comparison.kind import shown

__all__ = ["MARGIN", "Asked", "answer", "compare", "opened", "reopened", "shown"]
