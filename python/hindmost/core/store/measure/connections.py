"""Connections and status codes in ``hindmost.measure/2``."""

from typing import Literal

from msgspec import UNSET, UnsetType

from hindmost.core.store.measure.figures import Values
from hindmost.core.store.types import Count, Counts, Document


class Connections(Document):
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
    full_handshakes: Count | UnsetType = UNSET
    resumed_handshakes: Count | UnsetType = UNSET
    late: Count | UnsetType = UNSET
    refused: Count | UnsetType = UNSET
    oversized: Count | UnsetType = UNSET
    refused_streams: Count | UnsetType = UNSET
    left_alone: Count | UnsetType = UNSET


class Endpoint(Document):
    """One of several servers: its counts, and its latency merged over all runs, in microseconds."""

    address: str
    counts: Counts
    merged_us: Values


class Code(Document):
    """Replies in time with one HTTP status code, and how the workload classifies it."""

    count: Count
    outcome: Literal["hit", "miss", "error"]
