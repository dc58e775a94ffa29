"""Whether a packet capture bears out what was measured, where one was asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from hindmost.plan.units import format_us
from hindmost.run.connections import connections
from hindmost.run.lateness import matters
from hindmost.run.verdict.reason import Evidence, Level, Reason


def capture(e: Evidence) -> Iterator[Reason]:
    """The proof cannot be had, or does not hold."""
    if e.proof is None:
        return
    if e.proof["fault"]:
        yield Reason(
            "no_capture",
            "mind",
            f"no proof against a packet capture in {e.proof['of'] - e.proof['runs']} of {e.proof['of']} runs:"
            f" {e.proof['fault']}",
            e.proof["hint"],
        )
    elif e.proof["runs"] < e.proof["of"]:
        yield Reason(
            "capture_void",
            "mind",
            f"the packet capture of {e.proof['of'] - e.proof['runs']} of {e.proof['of']} runs proves nothing:"
            + (
                f" the kernel had no room for {e.proof['dropped']:,} packets"
                if e.proof["dropped"]
                else " none of the measured requests is in it, or it was cut off"
            ),
            "a lower `--rate`, or a shorter `--duration`",
        )
    found = connections(e.runs)
    for what, name in (("wire", "wire latency"), ("service", "service latency")):
        # Where requests open their connections, that is in service latency, and no request's bytes show it.
        if what == "service" and (e.plan.carried or (found is not None and found["by_turns"])):
            continue
        if (one := e.proof[what]) is not None:
            yield from _drifts(e, what, name, one)


def _drifts(e: Evidence, what: str, name: str, one: Mapping[str, Any]) -> Iterator[Reason]:
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
    level: Level = "invalid" if bad and what == "service" else "mind"
    told = ", ".join(f"{label} {format_us(gap['value'])}" for label, gap in one["gap_us"].items())
    yield Reason(
        f"capture_{what}",
        level,
        f"{name} is not a constant above what the packet capture saw: {told}; it varies by {format_us(off)}"
        f" up to {one['upto']}, {format_us(one['goal_us'])} is the goal",
        "wire latency is the figure to trust"
        if what == "service"
        else "`hindmost doctor` shows what this host's noise adds between two stamps",
        bad if level == "invalid" else (),
    )
