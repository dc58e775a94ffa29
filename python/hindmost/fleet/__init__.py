"""Where load instances run: this machine, one process each."""

from hindmost.fleet.cpus import Allotment, allot
from hindmost.fleet.local import LocalFleet, Moment
from hindmost.fleet.room import make_room

__all__ = ["Allotment", "LocalFleet", "Moment", "allot", "make_room"]
