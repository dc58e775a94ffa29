"""The procedure: runs against a restarted server until the answer is certain enough, and what they say."""

from hindmost.experiment.answer import answer
from hindmost.experiment.procedure import Procedure, Watcher

__all__ = ["Procedure", "Watcher", "answer"]
