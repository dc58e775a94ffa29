"""How requests were written, in ``hindmost.measure/2``."""

from typing import Literal

from hindmost.core.store.types import Count, Document, Number, Share


class PerWrite(Document):
    """Requests per write call."""

    mean: Number
    p50: Number
    p99: Number
    most: Count | None


class Sizes(Document):
    """The ``share`` of write calls with at most this many ``requests``."""

    requests: list[Count]
    share: list[Share]


class Batches(Document):
    """Write calls of the measurement, over all clients.

    ``requested``: none, nagle, or an interval in seconds. ``requests_per_segment``: from the kernel's count
    of segments with data, starting with the calibration; null if it is not available. Nagle's algorithm
    combines requests after the write call, so only the segments show it.
    """

    requested: Literal["none", "nagle"] | float
    writes: Count
    requests_per_write: PerWrite
    requests_per_segment: Number
    sizes: Sizes
