"""Attribution: trials of a design's cells at every load, and what they say of the factors."""

from hindmost.experiment.attribution.answer import FILE, answer
from hindmost.experiment.attribution.confirm import recommended
from hindmost.experiment.attribution.course import Course, Step
from hindmost.experiment.attribution.enough import enough
from hindmost.experiment.attribution.plan import (
    AttributionPlan,
    load_points,
    refuse_clashes,
    same_study,
)
from hindmost.experiment.attribution.trials import Trials

__all__ = [
    "FILE",
    "AttributionPlan",
    "Course",
    "Step",
    "Trials",
    "answer",
    "enough",
    "load_points",
    "recommended",
    "refuse_clashes",
    "same_study",
]
