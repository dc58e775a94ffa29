"""One change tried against the present state: a knob's levels beside each other, interleaved."""

from hindmost.studies.trial.answer import answer
from hindmost.studies.trial.asked import Asked, opened, parse_setting, reopened

__all__ = ["Asked", "answer", "opened", "parse_setting", "reopened"]
