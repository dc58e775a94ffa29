"""Where load instances run: this machine, one process each."""

from hindmost.fleet.cpus import Allotment, allot
from hindmost.fleet.local import LocalFleet, Moment

__all__ = ["Allotment", "LocalFleet", "Moment", "allot"]
