"""A plain study: runs against a restarted server until the answer is certain enough."""

from hindmost.studies.measure.answer import answer
from hindmost.studies.measure.procedure import Observer, Procedure

__all__ = ["Observer", "Procedure", "answer"]
