"""From figures to a verdict: what, if anything, makes a number unfit to be believed, and what to do.

`valid`: nothing found. `invalid`: the instrument distorted the result. `inconclusive`: the machine or the
sample cannot carry the claim. `mind` reasons leave the verdict alone. Limits and their reasons: `limits`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from hindmost.run.verdict import accidents, capacity, client, sample, server, setting, stamps, witness
from hindmost.run.verdict.reason import STOOD_STILL, Evidence, Level, Reason
from hindmost.store.types import Verdict

__all__ = ["CHECKS", "Evidence", "Level", "Reason", "Verdict", "headline", "judge", "of_label", "overall"]

BENT = ("slip", "arrivals")
"""What a host that takes processors does to clients."""
CHECKS: tuple[Callable[[Evidence], Iterator[Reason]], ...] = (
    sample.disturbed,
    capacity.rate,
    client.late,
    client.arrivals,
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
    sample.precision,
    sample.samples,
    server.steady,
    server.out_of_range,
    setting.host,
    sample.spread,
    setting.method,
    stamps.stamps,
    witness.capture,
)
"""The registry: a new judgement is a function in one of these files and its name here."""


def judge(evidence: Evidence) -> list[Reason]:
    """All reasons, gravest first."""
    found = [reason for check in CHECKS for reason in check(evidence)]
    if evidence.parted is not None and not evidence.parted.believed:
        # It was the host that bent them, and the first reason says so.
        found = [replace(one, level="inconclusive") if one.code in BENT else one for one in found]
    return sorted(found, key=lambda reason: ("invalid", "inconclusive", "mind").index(reason.level))


def overall(reasons: Sequence[Reason]) -> Verdict:
    """The verdict over everything that was asked for."""
    levels = {reason.level for reason in reasons}
    return "invalid" if "invalid" in levels else "inconclusive" if "inconclusive" in levels else "valid"


def of_label(reasons: Sequence[Reason], name: str) -> Verdict:
    """The verdict on one quantile."""
    return overall([reason for reason in reasons if not reason.labels or name in reason.labels])


def headline(verdict: Verdict, reasons: Sequence[Reason], figures: str) -> str:
    """One sentence: the outcome, why, what to do, and the figures that can be believed all the same."""
    still = next((one.text.partition("; no reply")[0] for one in reasons if one.code == STOOD_STILL), "")
    if verdict == "valid":
        return f"valid: {figures}{f'; {still}' if still else ''}"
    gravest = reasons[0]
    todo = f". To do: {gravest.hint.replace('`', '')}" if gravest.hint else ""
    good = f". Still good: {figures}" if figures else ""
    return f"{verdict}: {still}{'; ' if still else ''}{gravest.text}{todo}{good}"
