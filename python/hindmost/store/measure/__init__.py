"""The document of ``hindmost measure``, ``result.json``: see `document`."""

from hindmost.store.measure.batches import Batches
from hindmost.store.measure.calm import Calm, CalmRefusal, RunCalm
from hindmost.store.measure.connections import Code, Connections, Endpoint
from hindmost.store.measure.document import (
    Clients,
    Hysteresis,
    Kind,
    Measure,
    SharesAt,
    Variance,
)
from hindmost.store.measure.figures import (
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
from hindmost.store.measure.fleet import Fleet, LoadHost
from hindmost.store.measure.instrument import Figure, Instrument, InterruptSource, Neighbour
from hindmost.store.measure.limits import Limit
from hindmost.store.measure.proof import Capture, CaptureComparison, Curves, Differences, Margin
from hindmost.store.measure.runs import (
    Alone,
    Arrivals,
    DueGaps,
    ExcludedRun,
    ExcludedRuns,
    Instance,
    IntervalStep,
    Off,
    Outstanding,
    OverRuns,
    Run,
    Series,
    Stopping,
)

__all__ = [
    "Alone",
    "Arrivals",
    "Batches",
    "Calm",
    "CalmRefusal",
    "Capture",
    "CaptureComparison",
    "Clients",
    "Code",
    "Connections",
    "Curve",
    "Curves",
    "Differences",
    "Distributions",
    "DueGaps",
    "Endpoint",
    "Estimate",
    "Estimates",
    "ExcludedRun",
    "ExcludedRuns",
    "Figure",
    "Fleet",
    "Hysteresis",
    "Instance",
    "Instrument",
    "InterruptSource",
    "IntervalStep",
    "Kind",
    "Limit",
    "LoadHost",
    "Margin",
    "Measure",
    "Neighbour",
    "Off",
    "Outstanding",
    "OverRuns",
    "Rate",
    "Run",
    "RunCalm",
    "RunCurve",
    "Saturation",
    "Series",
    "SharesAt",
    "Stopping",
    "Throughput",
    "Values",
    "Variance",
]
