"""Which suspect explains a slow percentile: switch-back experiments and the decision."""

from hindmost.stats.causes.decision import Arm, Decision, Gates, Ruling, decide
from hindmost.stats.causes.reproduction import DoseEffect, Reproduction, no_suspect, reproduction_of
from hindmost.stats.causes.signature import Normal, Signature, signature_of, unknown_signature
from hindmost.stats.causes.switchback import Effect, effect_of, pairs_needed, sign_flip_p

__all__ = [
    "Arm",
    "Decision",
    "DoseEffect",
    "Effect",
    "Gates",
    "Normal",
    "Reproduction",
    "Ruling",
    "Signature",
    "decide",
    "effect_of",
    "no_suspect",
    "pairs_needed",
    "reproduction_of",
    "sign_flip_p",
    "signature_of",
    "unknown_signature",
]
