"""Stages of a request: their moments, and what they have to do with the variance of latency."""

from hindmost.stats.stages.decomposition import Decomposition, Stage, decompose
from hindmost.stats.stages.moments import STAGES, Moments, moments_of

__all__ = ["STAGES", "Decomposition", "Moments", "Stage", "decompose", "moments_of"]
