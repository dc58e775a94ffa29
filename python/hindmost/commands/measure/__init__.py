"""A plain study: repeats runs against a restarted server until the figures are precise enough."""

from hindmost.commands.measure.answer import answer
from hindmost.commands.measure.procedure import Observer, Procedure

__all__ = ["Observer", "Procedure", "answer"]
