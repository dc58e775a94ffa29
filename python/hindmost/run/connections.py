"""What the server did with connections, and which status codes it gave, over clients and runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hindmost.run.figures import RunFigures
from hindmost.store.engine import InstanceResult
from hindmost.store.measure import Code, Connections


def connections(runs: Iterable[RunFigures]) -> Connections | None:
    """The account of connections of these runs together; None of studies that did not keep it.

    >>> connections([]) is None
    True
    """
    results = _results(runs)
    known = [counts for one in results if (counts := one.get("connects")) is not None]
    if not known:
        return None
    account: Connections = {
        "made": sum(one["made"] for one in known),
        "failed": sum(one["failed"] for one in known),
        "all": sum(one["all"] for one in known),
        "closed": sum(one["reconnects"] for one in results),
        "full_handshakes": sum(one.get("full_handshakes", 0) for one in known),
        "resumed_handshakes": sum(one.get("resumed_handshakes", 0) for one in known),
        "by_turns": any(one.get("by_turns") for one in results),
    }
    if datagrams := [found for one in results if (found := one.get("datagrams")) is not None]:
        account["late"] = sum(one["late"] for one in datagrams)
        account["refused"] = sum(one["refused"] for one in datagrams)
        account["oversized"] = sum(one.get("oversized", 0) for one in datagrams)
    if streams := [told for one in results if (told := one.get("unhandled")) is not None]:
        account["refused_streams"] = sum(one["refused"] for one in streams)
        account["left_alone"] = sum(one["left_alone"] for one in streams)
    return account


def codes(runs: Iterable[RunFigures]) -> dict[str, Code]:
    """Replies in time by HTTP status code, of these runs together, in the order of codes; empty elsewhere."""
    found: dict[str, Code] = {}
    for one in _results(runs):
        for code, counted in one.get("codes", {}).items():
            earlier = found.get(code)
            count = counted["count"] + (earlier["count"] if earlier else 0)
            found[code] = {"count": count, "outcome": counted["outcome"]}
    return dict(sorted(found.items()))


def codes_by_kind(runs: Iterable[RunFigures]) -> dict[str, dict[str, Code]]:
    """The same by kind of request, of those that had replies with codes."""
    found: dict[str, dict[str, Code]] = {}
    for one in _results(runs):
        for kind, codes in one.get("kind_codes", {}).items():
            sums = found.setdefault(kind, {})
            for code, counted in codes.items():
                earlier = sums.get(code, {"count": 0})["count"]
                sums[code] = {"count": counted["count"] + earlier, "outcome": counted["outcome"]}
    return {kind: dict(sorted(codes.items())) for kind, codes in found.items()}


def failed(codes: Mapping[str, Code], lost: int) -> str:
    """What errors were, the most frequent first: ``500 x 312, 503 x 4, 2 without a whole reply``.

    >>> failed({"200": {"count": 9, "outcome": "hit"}, "500": {"count": 3, "outcome": "error"}}, 2)
    '500 x 3, 2 without a whole reply'
    """
    errors = [(one["count"], code) for code, one in codes.items() if one["outcome"] == "error"]
    told = [f"{code} x {count}" for count, code in sorted(errors, reverse=True)]
    return ", ".join([*told, *([f"{lost} without a whole reply"] if lost else [])])


def lost(runs: Iterable[RunFigures]) -> int:
    """Errors that were no reply: their connection broke."""
    return sum(one["counts"].get("lost", 0) for one in _results(runs))


def _results(runs: Iterable[RunFigures]) -> list[InstanceResult]:
    return [one.result for run in runs for one in run.instances]
