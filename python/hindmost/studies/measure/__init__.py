"""A plain study: repeats runs against a restarted server until the figures are precise enough."""

from hindmost.studies.measure.answer import answer
from hindmost.studies.measure.procedure import Observer, Procedure

__all__ = ["Observer", "Procedure", "answer"]
