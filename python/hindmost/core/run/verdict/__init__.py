"""From figures to a verdict: whether each figure can be trusted, why not, and what to do.

`valid`: nothing was found. `invalid`: the instrument distorted the result. `inconclusive`: the machine or the
sample cannot support the claim. Notes do not change the verdict. `hindmost.core.run.limits` has all
limits and their reasons.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from hindmost.core.run.verdict import (
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
from hindmost.core.run.verdict.cause import LEVELS, Cause, causes
from hindmost.core.run.verdict.reason import SERVER_STALLED, Evidence, Level, Reason
from hindmost.core.store.types import Verdict

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
    sample.excluded_runs,
    capacity.rate,
    client.late_sends,
    arrivals.arrivals,
    client.busy,
    accidents.waits,
    accidents.switches,
    accidents.quota,
    accidents.losses,
    accidents.buffers,
    accidents.interrupts,
    capacity.shares,
    server.stalls,
    server.missing_replies,
    server.unreadable_replies,
    server.empty_replies,
    server.cut_sessions,
    sample.precision,
    sample.samples,
    server.warmup,
    server.out_of_range,
    setting.host,
    sample.spread,
    setting.method,
    fleet.slow_clients,
    fleet.lost_hosts,
    fleet.active_workers,
    stamps.stamps,
    witness.capture,
)
"""All checks. A new check is a function in one of these modules, and its name here."""


def judge(evidence: Evidence) -> list[Reason]:
    """Return all reasons, gravest first."""
    reasons = [reason for check in CHECKS for reason in check(evidence)]
    return sorted(reasons, key=lambda reason: LEVELS.index(reason.level))


def overall(reasons: Iterable[Reason]) -> Verdict:
    """Return the verdict on the whole measurement."""
    return of_levels(reason.level for reason in reasons)


def of_levels(found: Iterable[Level]) -> Verdict:
    """Return the verdict for reasons of these levels."""
    levels = set(found)
    return "invalid" if "invalid" in levels else "inconclusive" if "inconclusive" in levels else "valid"


def of_label(reasons: Sequence[Reason], name: str) -> Verdict:
    """Return the verdict on one quantile."""
    return overall([reason for reason in reasons if not reason.labels or name in reason.labels])


def headline(verdict: Verdict, causes_found: Sequence[Cause], figures: str, isolated: str = "") -> str:
    """Return the verdict in one line: its gravest cause, what to do, and the figures that are still valid.

    Parameters
    ----------
    figures, isolated : str
        Valid latencies, and isolated latencies that are valid while latencies are not.
    """
    if verdict == "valid" and isolated:
        return f"valid: isolated {isolated}{f'. Latency: {figures}' if figures else ''}"
    stalled = next((cause.brief for cause in causes_found if SERVER_STALLED in cause.codes), "")
    if verdict == "valid":
        quick = next(
            (f"; {cause.text}. To do: {cause.hint}" for cause in causes_found if "quick-look" in cause.codes),
            "",
        )
        return f"valid: {figures}{f'; {stalled}' if stalled else ''}{quick.replace('`', '')}"
    gravest = causes_found[0]
    todo = f". To do: {gravest.hint.replace('`', '')}" if gravest.hint else ""
    valid_isolated = f". Valid isolated latency: {isolated}" if isolated else ""
    valid = f". Still valid: {figures}" if figures else ""
    return f"{verdict}: {stalled}{'; ' if stalled else ''}{gravest.text}{valid_isolated}{todo}{valid}"
