"""Connections and status codes in ``hindmost.measure/2``."""

from typing import Literal, NotRequired, TypedDict

from hindmost.core.store.measure.figures import Values
from hindmost.core.store.types import Count, Counts


class Connections(TypedDict):
    """Connection counts, over all clients.

    ``made`` and ``failed``: attempts begun in the measurement, or for a request scheduled in it; ``all``:
    made in the whole load and before it; ``closed``: by the server, since the start of the load.
    ``by_turns``: the server closes after each reply, or nearly so, and each request opened its own
    connection. ``full_handshakes`` and ``resumed_handshakes``: TLS handshakes among ``all``.

    UDP only, since the start of the load: ``late``: replies after their request had timed out, or duplicates;
    ``refused``: refusals by the server's host (no listener); ``oversized``: replies of more than 16,382
    bytes, which are dropped, so that their requests time out.

    HTTP/2 only, since the start of the load: ``refused_streams``: refusals of a stream (REFUSED_STREAM);
    ``left_alone``: streams above the last one of a GOAWAY. Each such request is sent again, and its latency
    counts from its scheduled time; a second refusal is an error.
    """

    made: Count
    failed: Count
    all: Count
    closed: Count
    by_turns: bool
    full_handshakes: NotRequired[Count]
    resumed_handshakes: NotRequired[Count]
    late: NotRequired[Count]
    refused: NotRequired[Count]
    oversized: NotRequired[Count]
    refused_streams: NotRequired[Count]
    left_alone: NotRequired[Count]


class Endpoint(TypedDict):
    """One of several servers: its counts, and its latency merged over all runs, in microseconds."""

    address: str
    counts: Counts
    merged_us: Values


class Code(TypedDict):
    """Replies in time with one HTTP status code, and how the workload classifies it."""

    count: Count
    outcome: Literal["hit", "miss", "error"]
