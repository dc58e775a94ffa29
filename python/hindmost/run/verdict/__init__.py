"""From figures to a verdict: why a number cannot be trusted, if so, and what to do.

`valid`: nothing found. `invalid`: the instrument distorted the result. `inconclusive`: the machine or the
sample cannot support the claim. Notes do not change the verdict. `hindmost.run.limits` has all limits, and
why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from hindmost.run.verdict import (
    accidents,
    arrivals,
    capacity,
    client,
    fleet,
    sample,
    server,
    setting,
    stamps,
    witness,
)
from hindmost.run.verdict.cause import LEVELS, Cause, causes
from hindmost.run.verdict.reason import SERVER_STALLED, Evidence, Level, Reason
from hindmost.store.types import Verdict

__all__ = [
    "CHECKS",
    "Cause",
    "Evidence",
    "Level",
    "Reason",
    "Verdict",
    "causes",
    "headline",
    "judge",
    "of_label",
    "of_levels",
    "overall",
]

CHECKS: tuple[Callable[[Evidence], Iterator[Reason]], ...] = (
    sample.disturbed,
    capacity.rate,
    client.late,
    arrivals.arrivals,
    client.busy,
    accidents.waits,
    accidents.switches,
    accidents.throttled,
    accidents.losses,
    accidents.buffers,
    accidents.interrupts,
    capacity.shares,
    server.stood_still,
    server.unanswered,
    server.unreadable,
    sample.precision,
    sample.samples,
    server.steady,
    server.out_of_range,
    setting.host,
    sample.spread,
    setting.method,
    fleet.odd,
    fleet.lost,
    fleet.silent,
    stamps.stamps,
    witness.capture,
)
"""All checks. A new one is a function in one of these modules and its name here."""


def judge(evidence: Evidence) -> list[Reason]:
    """All reasons, gravest first."""
    found = [reason for check in CHECKS for reason in check(evidence)]
    return sorted(found, key=lambda reason: LEVELS.index(reason.level))


def overall(reasons: Iterable[Reason]) -> Verdict:
    """The verdict over everything that was asked for."""
    return of_levels(reason.level for reason in reasons)


def of_levels(found: Iterable[Level]) -> Verdict:
    """The verdict of reasons of these levels."""
    levels = set(found)
    return "invalid" if "invalid" in levels else "inconclusive" if "inconclusive" in levels else "valid"


def of_label(reasons: Sequence[Reason], name: str) -> Verdict:
    """The verdict on one quantile."""
    return overall([reason for reason in reasons if not reason.labels or name in reason.labels])


def headline(verdict: Verdict, found: Sequence[Cause], figures: str, calm: str = "") -> str:
    """The outcome, its gravest cause, what to do, and the figures that are valid nevertheless.

    Parameters
    ----------
    figures, calm : str
        Latencies, and isolated latencies where these are valid and latencies are not.
    """
    if verdict == "valid" and calm:
        return f"valid: isolated {calm}{f'. Latency: {figures}' if figures else ''}"
    stalled = next((one.brief for one in found if SERVER_STALLED in one.codes), "")
    if verdict == "valid":
        quick = next((f"; {one.text}. To do: {one.hint}" for one in found if "quick-look" in one.codes), "")
        return f"valid: {figures}{f'; {stalled}' if stalled else ''}{quick.replace('`', '')}"
    gravest = found[0]
    todo = f". To do: {gravest.hint.replace('`', '')}" if gravest.hint else ""
    valid_calm = f". Valid isolated latency: {calm}" if calm else ""
    valid = f". Still valid: {figures}" if figures else ""
    return f"{verdict}: {stalled}{'; ' if stalled else ''}{gravest.text}{valid_calm}{todo}{valid}"
