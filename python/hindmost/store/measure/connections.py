"""Connections and status codes in ``hindmost.measure/1``."""

from typing import Literal, NotRequired, TypedDict

from hindmost.store.measure.figures import Values
from hindmost.store.types import Count, Counts


class Connections(TypedDict):
    """What became of connections, over all instances.

    ``made`` and ``failed``: attempts begun in the measurement, or for a request that was due in it; ``all``:
    made in the whole load and before it; ``closed``: by the server, from the start of the load on.
    ``by_turns``: the server closes after each reply, or nearly so, and each request opened the connection
    that it needed. ``full_handshakes`` and ``resumed_handshakes``: of ``all``, secured by
    TLS. ``late`` and ``refused``, of UDP alone, from the start of the load on: replies that came after their
    requests had timed out, or a second time; times that the server's host said that nobody listens.
    ``oversized``, of UDP too: replies of more than 16,382 bytes, dropped: their requests timed out.
    ``refused_streams`` and ``left_alone``, of HTTP/2 alone, from the start of the load on: times that the
    server refused a stream (REFUSED_STREAM); streams above the last of its farewells (GOAWAY). Each was asked
    again, and its latency counts from when it was due; one that was refused again is an error.
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
    """One of several servers: its account, and the latency of all runs thrown together, in microseconds."""

    address: str
    counts: Counts
    merged_us: Values


class Code(TypedDict):
    """Replies in time with one HTTP status code, and what the workload takes it for."""

    count: Count
    outcome: Literal["hit", "miss", "error"]
