"""Whether kernel time stamps support the wire latency."""

from __future__ import annotations

from collections.abc import Iterator

from hindmost.core.plan.units import format_us
from hindmost.core.run.verdict.reason import Evidence, Reason


def stamps(e: Evidence) -> Iterator[Reason]:
    """Wire latency was requested but is not available, or a clock was set during the measurement."""
    if e.plan.stamp_every == 0:
        return
    reports = [stamped for run in e.runs for one in run.clients if (stamped := one.result.stamps)]
    reasons = [(stamped.source, stamped.reason) for stamped in reports if stamped.reason]
    missing = next(
        (detail for source, detail in reasons if source is None or detail.code == "none_received"), None
    )
    if missing is not None:
        yield Reason(
            "no-time-stamps",
            "note",
            f"there is no wire latency: {missing.text}. The client's own part of the service latency is"
            " unknown",
            "`--stamps off` does without them; `--verify-wire` uses a packet capture instead",
            values={"reason": missing.code.replace("_", "-")},
        )
    steps = sum(stamped.clock_steps for stamped in reports)
    if steps:
        largest = max(stamped.largest_step_ns for stamped in reports) / 1e3
        left_out = sum(stamped.implausible for stamped in reports)
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
