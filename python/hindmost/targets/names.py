"""Moved to `hindmost.names`."""

from hindmost.names import nearest

__all__ = ["nearest"]
