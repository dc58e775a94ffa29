"""Verification: a clone against its original, in pairs of runs."""

from hindmost.experiment.verification.comparison import MARGINS, Point, compared, sound_pairs, verdict_of
from hindmost.experiment.verification.costs import lateness
from hindmost.experiment.verification.draws import LUCK, stored
from hindmost.experiment.verification.logged import Logged, read_logged
from hindmost.experiment.verification.procedure import WHO, Verification, seeded

__all__ = [
    "LUCK",
    "MARGINS",
    "WHO",
    "Logged",
    "Point",
    "Verification",
    "compared",
    "lateness",
    "read_logged",
    "seeded",
    "sound_pairs",
    "stored",
    "verdict_of",
]
