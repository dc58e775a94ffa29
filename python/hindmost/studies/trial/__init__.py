"""One change tried against the present state: a knob's levels next to each other, interleaved."""

from hindmost.studies.trial.answer import answer
from hindmost.studies.trial.asked import Asked, opened, parse_knob, parse_setting, reopened
from hindmost.studies.trial.sides import LevelOf, LevelRuns

__all__ = ["Asked", "LevelOf", "LevelRuns", "answer", "opened", "parse_knob", "parse_setting", "reopened"]
