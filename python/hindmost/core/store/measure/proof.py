"""Comparison of a measurement with a packet capture (``--verify-wire``)."""

from typing import Annotated

import msgspec

from hindmost.core.store.measure.figures import Curve
from hindmost.core.store.types import Count, Document, Label, Number


class Margin(Document):
    """A figure relative to a packet capture, over runs; a difference may be negative."""

    value: Annotated[float, msgspec.Meta(description="microseconds")]
    low: Number
    high: Number
    runs: Count


class Differences(Document):
    """Differences request by request, in microseconds: median, 5th and 95th percentile."""

    value: float
    low: float
    high: float


class CaptureComparison(Document):
    """One of our latencies next to the capture's, for the same requests.

    ``gap_us`` is the difference of the two quantiles; ``request_us`` the differences per request, for the
    requests near that quantile of the capture. ``constancy_us`` is the largest minus the smallest gap up to
    the percentile ``upto``, null if there are too few requests; ``goal_us`` is its limit.
    """

    requests: Count
    ours_us: dict[Label, Margin]
    capture_us: dict[Label, Margin]
    gap_us: dict[Label, Margin]
    request_us: dict[Label, Differences]
    constancy_us: Number
    upto: str
    goal_us: float


class Curves(Document):
    """Quantile curves of the captured requests, all runs together."""

    capture: Curve
    wire: Curve
    service: Curve


class Capture(Document):
    """Comparison with a packet capture (``--verify-wire``).

    ``runs`` of ``of`` runs have a usable capture; ``requests`` of the ``answered`` requests among their
    samples were found in it; ``dropped`` packets did not fit into the buffer; ``connections`` were captured,
    null for all. ``code``, ``fault`` and ``hint``: why there is none.
    """

    runs: Count
    of: Count
    requests: Count
    answered: Count
    dropped: Count
    connections: Count | None
    code: str | None = None
    fault: str | None
    hint: str | None
    wire: CaptureComparison | None
    service: CaptureComparison | None
    curves: Curves
