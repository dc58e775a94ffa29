"""The document that ``hindmost measure`` writes as ``result.json``: see `document`."""

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
from hindmost.store.measure.proof import Capture, Compared, Curves, Differences, Margin
from hindmost.store.measure.runs import (
    Alone,
    Arrivals,
    Aside,
    DueGaps,
    Instance,
    Look,
    Off,
    Outstanding,
    OverRuns,
    Run,
    Series,
    SetAside,
    Stopping,
)

__all__ = [
    "Alone",
    "Arrivals",
    "Aside",
    "Batches",
    "Calm",
    "CalmRefusal",
    "Capture",
    "Clients",
    "Code",
    "Compared",
    "Connections",
    "Curve",
    "Curves",
    "Differences",
    "Distributions",
    "DueGaps",
    "Endpoint",
    "Estimate",
    "Estimates",
    "Figure",
    "Fleet",
    "Hysteresis",
    "Instance",
    "Instrument",
    "InterruptSource",
    "Kind",
    "Limit",
    "LoadHost",
    "Look",
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
    "SetAside",
    "SharesAt",
    "Stopping",
    "Throughput",
    "Values",
    "Variance",
]
