"""Verification: a clone against its original, in pairs of runs."""

from hindmost.studies.verification.answer import answer
from hindmost.studies.verification.asked import (
    Asked,
    asked_for,
    opened,
    points_of,
    refuse_unlike,
    reopened,
    request_for,
)
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
    "Asked",
    "Logged",
    "Point",
    "Verification",
    "answer",
    "asked_for",
    "compared",
    "cost_ratios",
    "opened",
    "points_of",
    "read_logged",
    "refuse_unlike",
    "reopened",
    "request_for",
    "seeded",
    "sound_pairs",
    "stored",
    "unsound_pairs",
    "verdict_of",
]
