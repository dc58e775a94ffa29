"""Whether the kernel's stamps carry the wire latency."""

from __future__ import annotations

from collections.abc import Iterator

from hindmost.plan.units import format_us
from hindmost.run.verdict.reason import Evidence, Reason


def stamps(e: Evidence) -> Iterator[Reason]:
    """Wire latency was asked for and is not to be had, or a clock was set while it was taken."""
    if e.plan.stamp_every == 0:
        return
    seen = [found for run in e.runs for one in run.instances if (found := one.result.get("stamps"))]
    reasons = [(found["source"], found["reason"]) for found in seen if found["reason"]]
    why = next((one["text"] for source, one in reasons if source is None or one["code"] == "none_came"), None)
    if why is not None:
        yield Reason(
            "no_stamps",
            "mind",
            f"there is no wire latency: {why}; the client's own part of the service latency is not known",
            "`--stamps off` leaves them out; `--verify-wire` asks a packet capture instead",
        )
    steps = sum(found["clock_steps"] for found in seen)
    if steps:
        largest = max(found["largest_step_ns"] for found in seen) / 1e3
        yield Reason(
            "clock_steps",
            "mind",
            f"the time of day was set {steps} time{'s' if steps > 1 else ''} in the measurement, by"
            f" {format_us(largest)} at most: {sum(found['implausible'] for found in seen)} wire latencies"
            " that straddle a step were left out; latency, service latency and slip come from another clock",
            "let the time daemon slew instead of step: chronyc tracking; timedatectl status",
        )
