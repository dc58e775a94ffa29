"""Which intervention explains a slow percentile: switch-backs, and the decision."""

from hindmost.stats.causes.decision import Arm, Decision, Gates, Ruling, decide
from hindmost.stats.causes.switchback import Effect, effect_of, pairs_needed, sign_flip_p

__all__ = [
    "Arm",
    "Decision",
    "Effect",
    "Gates",
    "Ruling",
    "decide",
    "effect_of",
    "pairs_needed",
    "sign_flip_p",
]
