"""Attribution: runs of a design's cells at every load, and the effects of its factors."""

from hindmost.commands.attribute.answer import FILE, answer
from hindmost.commands.attribute.confirm import find_recommended
from hindmost.commands.attribute.course import Course
from hindmost.commands.attribute.plan import AttributionPlan, load_points, refuse_clashes, same_study
from hindmost.commands.attribute.runner import Runner
from hindmost.commands.attribute.stopping import should_stop

__all__ = [
    "FILE",
    "AttributionPlan",
    "Course",
    "Runner",
    "answer",
    "find_recommended",
    "load_points",
    "refuse_clashes",
    "same_study",
    "should_stop",
]
