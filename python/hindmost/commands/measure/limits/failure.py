"""Limits when the server prevents the measurement: it does not reply, or replies only with errors.

If a limit concerns such a server, that is a finding like any other. It stays an error if no limit concerns
it, or if the user must fix something (another protocol, a password, a command that does not start).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from hindmost.core.plan import Term
from hindmost.core.store import measure as documents
from hindmost.core.store.estimates import number
from hindmost.errors import ClientError, ServerState, TargetError

WORST = {"failed": 1.0, "errors": 1.0, "unanswered": 1.0, "misses": 1.0, "throughput": 0.0}
"""Figures if every request has the same outcome; latencies are infinite."""
SPOKEN: dict[ServerState, tuple[str, ...]] = {
    "silent": ("failed", "errors", "unanswered", "throughput"),
    "failing": ("failed", "errors", "throughput"),
    "missing": ("misses",),
}
"""Figures that are crossed by each kind of failure. All but misses also cross limits on latency."""


def judge_unmeasured(error: TargetError | ClientError, terms: Sequence[Term]) -> list[documents.Limit]:
    """Judge limits when `error` prevented the measurement; empty if no limit concerns that failure.

    Limits that do not concern it are undecided.
    """
    if error.shows is None or not any(_is_crossed(term, error.shows) for term in terms):
        return []
    return [_limit(term, error, error.shows) for term in terms]


def _is_crossed(term: Term, shows: ServerState) -> bool:
    """Whether such a server is on the wrong side of a limit."""
    if term.is_latency:
        return shows != "missing" and not term.above
    return term.name in SPOKEN[shows] and term.above == (term.name == "throughput")


def _limit(term: Term, error: TargetError | ClientError, shows: ServerState) -> documents.Limit:
    crossed = _is_crossed(term, shows)
    value = WORST.get(term.name, math.inf) if crossed else None
    text = f"nothing could be measured: {error.message.splitlines()[0]}"
    if value is not None:
        text = f"{term.key} would be {term.write(value)}; {text}"
    return documents.Limit(
        limit=term.text,
        figure=term.key,
        result="crossed" if crossed else "undecided",
        above=term.above,
        bound=term.limit,
        unit=term.unit,
        value=None if value is None else number(value),
        low=None,
        high=None,
        runs=0,
        blame=None if crossed else "server",
        text=text,
        hint=error.hint,
    )
