"""The interval at which requests are best batched, next to no batching and Nagle's algorithm."""

from hindmost.studies.batching.answer import answer
from hindmost.studies.batching.asked import Asked, opened, reopened

__all__ = ["Asked", "answer", "opened", "reopened"]
