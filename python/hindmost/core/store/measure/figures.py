"""Estimates and curves of ``hindmost.measure/2``."""

from typing import Literal

from hindmost.core.store.types import Count, Document, Label, Level, Microseconds, Number, Verdict


class Estimate(Document):
    """One figure with its interval over runs."""

    value: Microseconds
    low: Microseconds
    high: Microseconds
    runs: Count
    censored_runs: Count
    verdict: Verdict


Estimates = dict[Label, Estimate]
Values = dict[Label, Microseconds]


class Throughput(Document):
    """Requests per second; ``requested`` is null in a closed loop."""

    requested: Number
    achieved: float


class Rate(Document):
    """Requests per second, with its interval over runs; ``low`` and ``high`` are null for a single run."""

    value: float
    low: Number
    high: Number
    runs: Count


class Saturation(Document):
    """Why the requested rate was not reached, and the reply rate meanwhile, late replies included.

    ``answered_per_s`` is an upper bound of the sustainable rates (if ``by`` is ``server``); ``find`` is the
    command that searches for the highest one.
    """

    by: Literal["server", "client", "connections", "silence"]
    requested_per_s: float
    answered_per_s: Rate
    text: str
    find: str


class Curve(Document):
    """A quantile function, level against value."""

    q: list[Level]
    us: list[Microseconds]


class RunCurve(Curve):
    """The latency curve of one run."""

    run: int


class Distributions(Document):
    """Curves of the distributions merged over runs and instances."""

    latency: Curve | None = None
    service: Curve | None = None
    send_delay: Curve | None = None
