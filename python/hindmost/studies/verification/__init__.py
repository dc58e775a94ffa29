"""Verification: a clone against its original, in pairs of runs."""

from hindmost.studies.verification.comparison import MARGINS, Point, compared, sound_pairs, verdict_of
from hindmost.studies.verification.costs import lateness
from hindmost.studies.verification.draws import LUCK, stored
from hindmost.studies.verification.logged import Logged, read_logged
from hindmost.studies.verification.procedure import WHO, Verification, seeded

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
