"""What a clone that serves says of itself: types for the checker, and their JSON Schemas.

====================== ============================================== ==========================
schema                 where                                          written by
====================== ============================================== ==========================
hindmost.serve/1       ``hindmost synth serve --json``                ``crates/synth`` (account)
hindmost.certificate/1 ``hindmost synth serve --certificate --json``  ``certificate.rs`` there
====================== ============================================== ==========================

History of the formats: ``hindmost.serve/1``, ``hindmost.certificate/1`` (0.1.0) first versions.
"""

from typing import Any, Literal, TypedDict

from hindmost.store.result import Count, Share


class Tally(TypedDict):
    """Sums over requests, of one thread or of all.

    ``busy_ns``: with a request; ``drawn_ns``: what services and locks held should have taken;
    ``achieved_ns``: what they took, waits for locks included, of which ``waited_ns``; ``queued_ns``: waits
    for a thread.
    """

    served: Count
    busy_ns: Count
    drawn_ns: Count
    achieved_ns: Count
    waited_ns: Count
    queued_ns: Count
    worst_overrun_ns: Count
    hits: Count
    misses: Count
    sets: Count


class Spread(TypedDict):
    """A distribution of times; ``bins`` are pairs of the highest value of a bin and how many are in it."""

    count: Count
    mean_ns: float
    p50_ns: Count
    p90_ns: Count
    p95_ns: Count
    p99_ns: Count
    p999_ns: Count
    max_ns: Count
    bins: list[tuple[Count, Count]]


class Gaps(TypedDict):
    """Pauses of more than 5 us while a thread spun, which nobody had asked for."""

    over_5us: Count
    total_ns: Count
    longest_ns: Count


class ServedBy(TypedDict):
    """What the host did to one thread."""

    wall_ns: Count
    cpu_ns: Count
    voluntary_switches: Count
    involuntary_switches: Count
    run_delay_ns: Count | None
    gaps: Gaps


class Logged(TypedDict):
    """Where the truth about each request is, and how many found no room there."""

    path: str
    requests: Count
    beyond: Count


class Account(TypedDict):
    """True times of the server: ``sojourn`` is ``queueing`` and ``service`` together."""

    total: Tally
    threads: list[Tally]
    occupy: Literal["wall", "cpu"]
    service: Spread
    queueing: Spread
    sojourn: Spread
    lock_waits: Spread
    host: list[ServedBy]
    gaps: Gaps
    steal_share: Share | None
    log: Logged | None


class Rung(TypedDict):
    """Spins of one length."""

    intended_us: float
    spins: Count
    p50_us: float
    p99_us: float
    longest_us: float
    cpu_share: Share
    trusted: bool


class Faith(TypedDict):
    """How far a spin can be trusted on this host: from which service time on, null where from none."""

    clock_read_ns: float
    cpu_clock_read_ns: Count
    ladder: list[Rung]
    trusted_from_us: float | None
    host: ServedBy
    noise: dict[str, Any]


class Certificate(Faith):
    """That, as a document of its own."""

    schema: Literal["hindmost.certificate/1"]


class Serving(TypedDict):
    """A clone that served, and what became of its requests.

    ``outside_us`` of the clone is not served: kernel and network take their own time, and without sockets
    there is none. Added to ``sojourn``, it is what ``hindmost synth simulate`` calls latency.
    """

    schema: Literal["hindmost.serve/1"]
    clone: str
    seed: Count
    outside_us: float
    account: Account
    certificate: Faith
