"""Attribution: runs of a design's cells at every load, and the effects of its factors."""

from hindmost.studies.attribution.answer import FILE, answer
from hindmost.studies.attribution.confirm import find_recommended
from hindmost.studies.attribution.course import Course, Step
from hindmost.studies.attribution.plan import (
    AttributionPlan,
    load_points,
    refuse_clashes,
    same_study,
)
from hindmost.studies.attribution.runner import Runner
from hindmost.studies.attribution.stopping import should_stop

__all__ = [
    "FILE",
    "AttributionPlan",
    "Course",
    "Runner",
    "Step",
    "answer",
    "find_recommended",
    "load_points",
    "refuse_clashes",
    "same_study",
    "should_stop",
]
