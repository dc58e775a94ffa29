"""Whether a packet capture confirms the latencies, if one was requested."""

from __future__ import annotations

from collections.abc import Iterator

from hindmost.core.plan.units import format_us
from hindmost.core.run.connections import connections
from hindmost.core.run.lateness import matters
from hindmost.core.run.verdict.reason import Evidence, Level, Reason
from hindmost.core.store.measure import CaptureComparison


def capture(e: Evidence) -> Iterator[Reason]:
    """There is no complete packet capture, or it contradicts a latency."""
    if e.proof is None:
        return
    total = e.proof.of
    without = total - e.proof.runs
    if e.proof.fault:
        yield Reason(
            "no-capture",
            "note",
            f"{without} of {total} runs have no packet capture: {e.proof.fault}",
            e.proof.hint,
            values={"runs": without, "of": total, "code": e.proof.code},
        )
    elif without:
        yield Reason(
            "capture-incomplete",
            "note",
            f"the packet captures of {without} of {total} runs cannot be used:"
            + (
                f" the kernel dropped {e.proof.dropped:,} packets"
                if e.proof.dropped
                else " they are cut off, or have none of the measured requests"
            ),
            "use a lower `--rate`, or a shorter `--duration`",
            values={"runs": without, "of": total, "dropped": e.proof.dropped},
        )
    account = connections(e.runs)
    for what, name in (("wire", "wire latency"), ("service", "service latency")):
        # If requests open connections, service latency includes that time; the capture of a request does not.
        if what == "service" and (e.plan.connection_lifetime or (account is not None and account.by_turns)):
            continue
        if (comparison := getattr(e.proof, what)) is not None:
            yield from _differences(e, what, name, comparison)


def _differences(e: Evidence, what: str, name: str, comparison: CaptureComparison) -> Iterator[Reason]:
    variation_us = comparison.constancy_us
    if variation_us is None:
        return
    least = min(gap.value for gap in comparison.gap_us.values())
    # The excess over a constant, as a share of the captured latency, is an error of the quantile itself.
    bad = tuple(
        label
        for label in e.plan.labels
        if label in comparison.gap_us
        and matters(comparison.gap_us[label].value - least, comparison.capture_us[label].value)
    )
    if variation_us <= comparison.goal_us and not bad:
        return
    level: Level = "invalid" if bad and what == "service" else "note"
    gaps = ", ".join(f"{label} {format_us(gap.value)}" for label, gap in comparison.gap_us.items())
    yield Reason(
        "capture-differs",
        level,
        f"{name} should exceed the packet capture by a constant, but does so by {gaps}: a variation of"
        f" {format_us(variation_us)} up to {comparison.upto} (goal: {format_us(comparison.goal_us)})",
        "trust the wire latency"
        if what == "service"
        else "`hindmost host doctor` shows what this host's noise adds between two time stamps",
        bad if level == "invalid" else (),
        values={
            "latency": what,
            "variation_us": variation_us,
            "goal_us": comparison.goal_us,
            "gap_us": {label: gap.value for label, gap in comparison.gap_us.items()},
        },
    )
