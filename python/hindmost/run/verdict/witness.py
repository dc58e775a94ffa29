"""Whether a packet capture confirms what was measured, where one was requested."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from hindmost.plan.units import format_us
from hindmost.run.connections import connections
from hindmost.run.lateness import matters
from hindmost.run.verdict.reason import Evidence, Level, Reason


def capture(e: Evidence) -> Iterator[Reason]:
    """There is no packet capture, or it contradicts a latency."""
    if e.proof is None:
        return
    of = e.proof["of"]
    without = of - e.proof["runs"]
    if e.proof["fault"]:
        yield Reason(
            "no-capture",
            "note",
            f"{without} of {of} runs have no packet capture: {e.proof['fault']}",
            e.proof["hint"],
            values={"runs": without, "of": of, "code": e.proof.get("code")},
        )
    elif without:
        yield Reason(
            "capture-incomplete",
            "note",
            f"the packet captures of {without} of {of} runs prove nothing:"
            + (
                f" the kernel dropped {e.proof['dropped']:,} packets"
                if e.proof["dropped"]
                else " they are cut off, or have none of the measured requests"
            ),
            "use a lower `--rate`, or a shorter `--duration`",
            values={"runs": without, "of": of, "dropped": e.proof["dropped"]},
        )
    found = connections(e.runs)
    for what, name in (("wire", "wire latency"), ("service", "service latency")):
        # Where requests open their connections, that is in service latency, and no request's bytes show it.
        if what == "service" and (e.plan.carried or (found is not None and found["by_turns"])):
            continue
        if (one := e.proof[what]) is not None:
            yield from _differs(e, what, name, one)


def _differs(e: Evidence, what: str, name: str, one: Mapping[str, Any]) -> Iterator[Reason]:
    off = one["constancy_us"]
    if off is None:
        return
    least = min(gap["value"] for gap in one["gap_us"].values())
    # What is more than a constant, as a share of what the capture saw: an error of the quantile itself.
    bad = tuple(
        label
        for label in e.plan.labels
        if label in one["gap_us"]
        and matters(one["gap_us"][label]["value"] - least, one["capture_us"][label]["value"])
    )
    if off <= one["goal_us"] and not bad:
        return
    level: Level = "invalid" if bad and what == "service" else "note"
    gaps = ", ".join(f"{label} {format_us(gap['value'])}" for label, gap in one["gap_us"].items())
    yield Reason(
        "capture-differs",
        level,
        f"{name} should exceed the packet capture by a constant, but does so by {gaps}: a variation of"
        f" {format_us(off)} up to {one['upto']} (goal: {format_us(one['goal_us'])})",
        "trust the wire latency"
        if what == "service"
        else "`hindmost host doctor` shows what this host's noise adds between two time stamps",
        bad if level == "invalid" else (),
        values={
            "latency": what,
            "variation_us": off,
            "goal_us": one["goal_us"],
            "gap_us": {label: gap["value"] for label, gap in one["gap_us"].items()},
        },
    )
