"""Batching intervals, compared with no batching and with Nagle's algorithm, at one rate or more."""

from hindmost.commands.compare.batching.answer import answer
from hindmost.commands.compare.batching.request import BatchingRequest, open_new, reopen

__all__ = ["BatchingRequest", "answer", "open_new", "reopen"]
