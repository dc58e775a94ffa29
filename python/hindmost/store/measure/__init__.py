"""The document that ``hindmost measure`` writes as ``result.json``: see `document`."""

from hindmost.store.measure.calm import Calm, CalmRefusal, RunCalm
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
from hindmost.store.measure.instrument import Figure, Instrument, InterruptSource, Neighbour
from hindmost.store.measure.proof import Capture, Compared, Curves, Differences, Margin
from hindmost.store.measure.runs import (
    Alone,
    Arrivals,
    Instance,
    Look,
    Outstanding,
    Run,
    Series,
    Stopping,
)

__all__ = [
    "Alone",
    "Arrivals",
    "Calm",
    "CalmRefusal",
    "Capture",
    "Clients",
    "Compared",
    "Curve",
    "Curves",
    "Differences",
    "Distributions",
    "Estimate",
    "Estimates",
    "Figure",
    "Hysteresis",
    "Instance",
    "Instrument",
    "InterruptSource",
    "Kind",
    "Look",
    "Margin",
    "Measure",
    "Neighbour",
    "Outstanding",
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
