"""How requests were written, in ``hindmost.measure/1``."""

from typing import Literal, TypedDict

from hindmost.store.types import Count, Number, Share


class PerWrite(TypedDict):
    """Requests that one write call took."""

    mean: Number
    p50: Number
    p99: Number
    most: Count | None


class Sizes(TypedDict):
    """The ``share`` of writes that took at most so many ``requests``."""

    requests: list[Count]
    share: list[Share]


class Batches(TypedDict):
    """Write calls of the measurement, over all instances.

    ``asked``: none, nagle, or an interval in seconds. ``requests_per_segment``: by the kernel's count of
    segments with data, from the calibration on; null where it does not tell. By Nagle's algorithm requests
    are put together behind the write call, so that only the segments show it.
    """

    asked: Literal["none", "nagle"] | float
    writes: Count
    requests_per_write: PerWrite
    requests_per_segment: Number
    sizes: Sizes
