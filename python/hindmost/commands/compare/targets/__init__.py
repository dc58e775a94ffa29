"""Stored measurements compared with the first of them, or targets that are measured now, interleaved."""

from hindmost.commands.compare.rounds import MARGIN
from hindmost.commands.compare.targets.answer import answer, compare
from hindmost.commands.compare.targets.kind import show
from hindmost.commands.compare.targets.request import TargetsRequest, open_new, reopen

__all__ = ["MARGIN", "TargetsRequest", "answer", "compare", "open_new", "reopen", "show"]
