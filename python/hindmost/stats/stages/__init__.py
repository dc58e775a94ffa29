"""Stages of a request: their moments, and their contributions to the variance of latency."""

from hindmost.stats.stages.causes import Causes, Part, causes
from hindmost.stats.stages.decomposition import Decomposition, Stage, decompose
from hindmost.stats.stages.moments import STAGES, Moments, moments_of
from hindmost.stats.stages.queueing import break_even_us, sojourn_us

__all__ = [
    "STAGES",
    "Causes",
    "Decomposition",
    "Moments",
    "Part",
    "Stage",
    "break_even_us",
    "causes",
    "decompose",
    "moments_of",
    "sojourn_us",
]
