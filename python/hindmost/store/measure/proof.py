"""The proof of a measurement against a packet capture (``--verify-wire``)."""

from typing import Annotated, NotRequired, TypedDict

import msgspec

from hindmost.store.measure.figures import Curve
from hindmost.store.types import Count, Label, Number


class Margin(TypedDict):
    """A figure next to a packet capture, over runs; a difference may be negative."""

    value: Annotated[float, msgspec.Meta(description="microseconds")]
    low: Number
    high: Number
    runs: Count


class Differences(TypedDict):
    """Differences request by request, in microseconds: median, 5th and 95th percentile."""

    value: float
    low: float
    high: float


class Compared(TypedDict):
    """One of our latencies next to the capture's, of the same requests.

    ``gap_us`` is the distance of the two quantiles; ``request_us`` the differences request by request, of the
    requests about that quantile of the capture's. ``constancy_us`` is the largest less the least gap up to
    the percentile ``upto``, null where there are too few requests; ``goal_us`` is what it should not exceed.
    """

    requests: Count
    ours_us: dict[Label, Margin]
    capture_us: dict[Label, Margin]
    gap_us: dict[Label, Margin]
    request_us: dict[Label, Differences]
    constancy_us: Number
    upto: str
    goal_us: float


class Curves(TypedDict):
    """Quantile curves of the requests that the captures saw, all runs together."""

    capture: Curve
    wire: Curve
    service: Curve


class Capture(TypedDict):
    """The proof against a packet capture (``--verify-wire``).

    ``runs`` of ``of`` runs have one that proves something; ``requests`` of the ``answered`` ones among their
    samples were found in it; ``dropped`` packets had no room; so many ``connections`` were captured, null for
    all. ``code``, ``fault`` and ``hint``: why there is none.
    """

    runs: Count
    of: Count
    requests: Count
    answered: Count
    dropped: Count
    connections: Count | None
    code: NotRequired[str | None]
    fault: str | None
    hint: str | None
    wire: Compared | None
    service: Compared | None
    curves: Curves
