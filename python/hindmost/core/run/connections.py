"""What the server did with connections, and its status codes, over clients and runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import UNSET

from hindmost.core.run.figures import RunFigures
from hindmost.core.store.engine import ClientResult
from hindmost.core.store.measure import Code, Connections


def connections(runs: Iterable[RunFigures]) -> Connections | None:
    """Return the connection counts of these runs together, or None for studies without them.

    >>> connections([]) is None
    True
    """
    results = _results(runs)
    connects = [counts for result in results if (counts := result.connects)]
    if not connects:
        return None
    datagrams = [part for result in results if (part := result.datagrams)]
    streams = [unhandled for result in results if (unhandled := result.unhandled)]
    return Connections(
        made=sum(counts.made for counts in connects),
        failed=sum(counts.failed for counts in connects),
        all=sum(counts.all for counts in connects),
        closed=sum(result.reconnects for result in results),
        full_handshakes=sum(counts.full_handshakes or 0 for counts in connects),
        resumed_handshakes=sum(counts.resumed_handshakes or 0 for counts in connects),
        by_turns=any(result.by_turns for result in results),
        late=sum(part.late for part in datagrams) if datagrams else UNSET,
        refused=sum(part.refused for part in datagrams) if datagrams else UNSET,
        oversized=sum(part.oversized or 0 for part in datagrams) if datagrams else UNSET,
        refused_streams=sum(part.refused for part in streams) if streams else UNSET,
        left_alone=sum(part.left_alone for part in streams) if streams else UNSET,
    )


def codes(runs: Iterable[RunFigures]) -> dict[str, Code]:
    """Count replies in time by HTTP status code, over these runs, in order of codes; else empty."""
    totals: dict[str, Code] = {}
    for result in _results(runs):
        for code, counted in (result.codes or {}).items():
            earlier = totals.get(code)
            count = counted.count + (earlier.count if earlier else 0)
            totals[code] = Code(count=count, outcome=counted.outcome)
    return dict(sorted(totals.items()))


def codes_by_kind(runs: Iterable[RunFigures]) -> dict[str, dict[str, Code]]:
    """Count them by kind of request, for kinds whose replies have codes."""
    totals: dict[str, dict[str, Code]] = {}
    for result in _results(runs):
        for kind, codes in (result.kind_codes or {}).items():
            sums = totals.setdefault(kind, {})
            for code, counted in codes.items():
                earlier = sums.get(code)
                count = counted.count + (earlier.count if earlier else 0)
                sums[code] = Code(count=count, outcome=counted.outcome)
    return {kind: dict(sorted(codes.items())) for kind, codes in totals.items()}


def describe_errors(codes: Mapping[str, Code], lost: int) -> str:
    """List the errors, the most frequent first: ``500 x 312, 503 x 4, 2 without a whole reply``.

    >>> found = {"200": Code(count=9, outcome="hit"), "500": Code(count=3, outcome="error")}
    >>> describe_errors(found, 2)
    '500 x 3, 2 without a whole reply'
    """
    errors = [(counted.count, code) for code, counted in codes.items() if counted.outcome == "error"]
    parts = [f"{code} x {count}" for count, code in sorted(errors, reverse=True)]
    return ", ".join([*parts, *([f"{lost} without a whole reply"] if lost else [])])


def count_lost(runs: Iterable[RunFigures]) -> int:
    """Count errors without a reply: their connection broke."""
    return sum(result.counts.lost or 0 for result in _results(runs))


def _results(runs: Iterable[RunFigures]) -> list[ClientResult]:
    return [client.result for run in runs for client in run.clients]
