"""The document of ``hindmost measure``, ``result.json``: see `document`."""

from hindmost.core.store.measure.batches import Batches
from hindmost.core.store.measure.connections import Code, Connections, Endpoint
from hindmost.core.store.measure.document import Clients, Hysteresis, Kind, Measure, SharesAt, Variance
from hindmost.core.store.measure.figures import (
    Curve,
    Distributions,
    Estimate,
    Estimates,
    Rate,
    RunCurve,
    Saturation,
    Throughput,
    Values,
)
from hindmost.core.store.measure.fleet import Fleet, LoadHost
from hindmost.core.store.measure.instrument import Figure, Instrument, InterruptSource, Neighbour
from hindmost.core.store.measure.isolated import Isolated, IsolatedRefusal, RunIsolated
from hindmost.core.store.measure.limits import Limit
from hindmost.core.store.measure.messages import Messages
from hindmost.core.store.measure.proof import Capture, CaptureComparison, Curves, Differences, Margin
from hindmost.core.store.measure.runs import (
    Alone,
    Arrivals,
    Client,
    ExcludedRun,
    ExcludedRuns,
    IntervalStep,
    Off,
    Outstanding,
    OverRuns,
    Run,
    ScheduledGaps,
    Series,
    Stopping,
)
from hindmost.core.store.measure.sessions import Sessions

__all__ = [
    "Alone",
    "Arrivals",
    "Batches",
    "Capture",
    "CaptureComparison",
    "Client",
    "Clients",
    "Code",
    "Connections",
    "Curve",
    "Curves",
    "Differences",
    "Distributions",
    "Endpoint",
    "Estimate",
    "Estimates",
    "ExcludedRun",
    "ExcludedRuns",
    "Figure",
    "Fleet",
    "Hysteresis",
    "Instrument",
    "InterruptSource",
    "IntervalStep",
    "Isolated",
    "IsolatedRefusal",
    "Kind",
    "Limit",
    "LoadHost",
    "Margin",
    "Measure",
    "Messages",
    "Neighbour",
    "Off",
    "Outstanding",
    "OverRuns",
    "Rate",
    "Run",
    "RunCurve",
    "RunIsolated",
    "Saturation",
    "ScheduledGaps",
    "Series",
    "Sessions",
    "SharesAt",
    "Stopping",
    "Throughput",
    "Values",
    "Variance",
]
