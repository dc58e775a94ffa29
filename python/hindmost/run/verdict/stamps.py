"""Whether kernel time stamps support the wire latency."""

from __future__ import annotations

from collections.abc import Iterator

from hindmost.plan.units import format_us
from hindmost.run.verdict.reason import Evidence, Reason


def stamps(e: Evidence) -> Iterator[Reason]:
    """Wire latency was requested but is not available, or a clock was set during the measurement."""
    if e.plan.stamp_every == 0:
        return
    seen = [found for run in e.runs for one in run.instances if (found := one.result.get("stamps"))]
    reasons = [(found["source"], found["reason"]) for found in seen if found["reason"]]
    why = next((one for source, one in reasons if source is None or one["code"] == "none_came"), None)
    if why is not None:
        yield Reason(
            "no-time-stamps",
            "note",
            f"there is no wire latency: {why['text']}. The client's own part of the service latency is"
            " unknown",
            "`--stamps off` does without them; `--verify-wire` uses a packet capture instead",
            values={"reason": why["code"].replace("_", "-")},
        )
    steps = sum(found["clock_steps"] for found in seen)
    if steps:
        largest = max(found["largest_step_ns"] for found in seen) / 1e3
        left_out = sum(found["implausible"] for found in seen)
        yield Reason(
            "clock-steps",
            "note",
            f"the time of day was set {steps} time{'s' if steps > 1 else ''} during the measurement,"
            " by at most"
            f" {format_us(largest)}: {left_out} wire latencies that include a step were left out. Latency,"
            " service latency and send delay use another clock",
            "let the time daemon slew instead of step: chronyc tracking; timedatectl status",
            values={"steps": steps, "largest_us": largest, "left_out": left_out},
        )
