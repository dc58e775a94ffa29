"""Where clients run: hosts and CPUs, processes, and the phases of a run."""

from hindmost.core.fleet.cpus import Allotment, allot
from hindmost.core.fleet.fleet import LOCAL, Fleet, Heard, Job, Place, RemoteServer, Setting, Team, jobs_of
from hindmost.core.fleet.live import Interval, LiveView
from hindmost.core.fleet.local import HERE, LocalFleet
from hindmost.core.fleet.phases import Moment, run_clients
from hindmost.core.fleet.resources import prepare_resources

__all__ = [
    "HERE",
    "LOCAL",
    "Allotment",
    "Fleet",
    "Heard",
    "Interval",
    "Job",
    "LiveView",
    "LocalFleet",
    "Moment",
    "Place",
    "RemoteServer",
    "Setting",
    "Team",
    "allot",
    "jobs_of",
    "prepare_resources",
    "run_clients",
]
