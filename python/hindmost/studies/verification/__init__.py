"""Verification: a clone against its original, in pairs of runs."""

from hindmost.studies.verification.comparison import (
    MARGINS,
    WHO,
    Point,
    compared,
    sound_pairs,
    verdict_of,
)
from hindmost.studies.verification.costs import cost_ratios
from hindmost.studies.verification.draws import DRAWS, stored
from hindmost.studies.verification.logged import Logged, read_logged
from hindmost.studies.verification.procedure import Verification
from hindmost.studies.verification.series import seeded, unsound_pairs

__all__ = [
    "DRAWS",
    "MARGINS",
    "WHO",
    "Logged",
    "Point",
    "Verification",
    "compared",
    "cost_ratios",
    "read_logged",
    "seeded",
    "sound_pairs",
    "stored",
    "unsound_pairs",
    "verdict_of",
]
