"""Limits where nothing could be measured because of the server: it answers nobody, or only with errors.

That is a finding about the server as any other, where a limit speaks of it. Where none does, and where a
person has to put something right (another protocol, a password, a command that does not start), it stays an
error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from hindmost.errors import InstanceError, Shows, TargetError
from hindmost.plan import Term
from hindmost.store import measure as documents
from hindmost.store.estimates import number

WORST = {"failed": 1.0, "errors": 1.0, "unanswered": 1.0, "misses": 1.0, "throughput": 0.0}
"""What a figure is where every request comes to the same; latencies are infinite."""
SPOKEN: dict[Shows, tuple[str, ...]] = {
    "silent": ("failed", "errors", "unanswered", "throughput"),
    "failing": ("failed", "errors", "throughput"),
    "missing": ("misses",),
}
"""Which figures that shows in; of all but misses, latencies, too: they have no answer to tell of."""


def unmeasured(error: TargetError | InstanceError, terms: Sequence[Term]) -> list[documents.Limit]:
    """What becomes of limits when `error` kept a measurement from being made; empty where none speaks of it.

    A limit that does not is undecided.
    """
    if error.shows is None or not any(_speaks(term, error.shows) for term in terms):
        return []
    return [_limit(term, error, error.shows) for term in terms]


def _speaks(term: Term, shows: Shows) -> bool:
    """Whether such a server is on the wrong side of a limit."""
    if term.is_latency:
        return shows != "missing" and not term.above
    return term.name in SPOKEN[shows] and term.above == (term.name == "throughput")


def _limit(term: Term, error: TargetError | InstanceError, shows: Shows) -> documents.Limit:
    crossed = _speaks(term, shows)
    value = WORST.get(term.name, math.inf) if crossed else None
    text = f"nothing could be measured: {error.message.splitlines()[0]}"
    if value is not None:
        text = f"{term.key} would be {term.write(value)}; {text}"
    return {
        "limit": term.text,
        "figure": term.key,
        "result": "crossed" if crossed else "undecided",
        "above": term.above,
        "bound": term.limit,
        "unit": term.unit,
        "value": None if value is None else number(value),
        "low": None,
        "high": None,
        "runs": 0,
        "blame": None if crossed else "server",
        "text": text,
        "hint": error.hint,
    }
