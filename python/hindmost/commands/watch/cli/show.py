"""``hindmost watch show``: show whether latency changed, and which metrics moved with it."""

from __future__ import annotations

import json
import math
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from hindmost.cli.options import OUTPUT, PROCEDURE, TARGET, Json, integer_option, option
from hindmost.commands.watch.culprits import read_culprits
from hindmost.core.exits import Exit

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SHOWN_EVENTS = 8


def show(
    ring: Annotated[
        Path, option(TARGET, None, "A ring file of `hindmost watch`, finished or still being written.")
    ],
    *,
    percentile: Annotated[float, option(PROCEDURE, "P", "Latency percentile to test for changes.")] = 99.0,
    block: Annotated[
        str | None,
        option(
            PROCEDURE, "TIME", "Length of the blocks that are compared. [default: 30 s, or longer if needed]"
        ),
    ] = None,
    alarms: Annotated[float, option(PROCEDURE, "N", "Acceptable false alarms per week.")] = 1.0,
    least: Annotated[float, option(PROCEDURE, "RATIO", "Ignore changes by less than this ratio.")] = 1.2,
    metrics: Annotated[int, integer_option(OUTPUT, "Number of metrics to show.")] = 8,
    trace: Annotated[
        Path | None,
        option(OUTPUT, "FILE", "Output of `hindmost trace --json`: list its culprits first."),
    ] = None,
    json_: Json = False,
) -> int:
    """Show whether latency changed recently, and which metrics moved with it.

    The command compares the latest blocks with earlier ones. Its rate of false alarms per week holds for
    autocorrelated latency. It separates anomalies from drift and from daily patterns. A metric that moved
    with latency is correlated, not a cause: the list is the order in which to test suspects with `hindmost
    diagnose`.
    """
    import numpy as np

    from hindmost.commands.watch.blocks import judge_ring
    from hindmost.commands.watch.ranking import rank_or_wait
    from hindmost.commands.watch.ring import read_ring
    from hindmost.core.plan.units import parse_duration
    from hindmost.stats.series.changes import NOW_BLOCKS, Detector, interval_by_blocks

    read = read_ring(ring)
    asked_s = None if block is None else parse_duration(block, "block", 10.0)
    detector = Detector(alarms_a_week=alarms, least_ratio=least)
    judged = judge_ring(read, percentile / 100, detector, asked_s)
    ends, values, change = judged.ends, judged.values, judged.change
    # A change that has begun must not count towards its own baseline.
    begun = len(values) - NOW_BLOCKS if change.since_s is None else np.searchsorted(ends, change.since_s)
    low, high = interval_by_blocks(np.concatenate([values[:begun], values[-NOW_BLOCKS:]]))
    moved, wait = rank_or_wait(read, ends, values, judged.block_s)
    document: dict[str, Any] = {
        "schema": "hindmost.ring-view/1",
        "about": read.about,
        "samples": len(read.at_s),
        "lasted_s": float(read.at_s[-1] - read.at_s[0]) if len(read.at_s) else 0.0,
        "cut": read.cut,
        "percentile": percentile,
        "block_s": judged.block_s,
        "blocks": [[float(at), _plain(value)] for at, value in zip(ends, values, strict=True)],
        "change": {
            name: _plain(value) if isinstance(value, float) else value
            for name, value in asdict(change).items()
        },
        "bootstrap": {"low": _plain(low), "high": _plain(high)},
        "paper_mode": _as_printed(values),
        "moved": [asdict(one) for one in moved[:metrics]],
        "moved_wait": None
        if wait is None
        else {**asdict(wait), "why": wait.note.text, "code": wait.note.code},
        "culprits": [] if trace is None else read_culprits(trace),
        "events": [[at, what] for at, what in read.events],
    }
    print(json.dumps(document, allow_nan=False) if json_ else _text(document))
    return Exit.DONE


def _as_printed(values: NDArray[np.float64]) -> bool | None:
    """Return whether equation 6.1 of the paper, as printed, calls the last block an anomaly."""
    from hindmost.stats.series.changes import LEAST_BLOCKS, paper_mode

    known = values[values > 0]
    return paper_mode(known[:-1], known[-1:]) if len(known) > LEAST_BLOCKS else None


def _clock(at_s: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at_s))


def _plain(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _text(document: dict[str, Any]) -> str:
    from hindmost.core.plan.units import format_us

    change, about = document["change"], document["about"]
    cut = "; the file was cut off" if document["cut"] else ""
    known = [value for _, value in document["blocks"] if value is not None]
    lines = [
        f"{about['application']} on {about['host']}: {document['samples']} samples over"
        f" {document['lasted_s']:.0f} s{cut}"
    ]
    if known:
        lines.append(
            f"p{document['percentile']:g}: last {format_us(known[-1])}, {format_us(min(known))} to"
            f" {format_us(max(known))}"
        )
    since = "" if change["since_s"] is None else f", since {_clock(change['since_s'] - document['block_s'])}"
    lines.append(f"change: {change['kind']}{since}: {change['why']}")
    if change["ratio"] is not None:
        boot = document["bootstrap"]
        ends = "" if boot["low"] is None else f"; by block bootstrap [{boot['low']:.2f}, {boot['high']:.2f}]"
        lines.append(
            f"  {change['ratio']:.2f} [{change['low']:.2f}, {change['high']:.2f}] times the baseline's"
            f" (blocks of {document['block_s']:g} s, effectively {change['effective']:.0f}){ends}"
        )
    if document["paper_mode"]:
        lines.append(
            "  equation 6.1 as printed calls the last block an anomaly, as it does half of all blocks"
        )
    if document["culprits"]:
        lines += ["", "culprits that delayed requests, from the trace (test these first):"]
        for one in document["culprits"]:
            place = f"{one['cause']} in {one['stage']}".replace("_", " ")
            lines.append(f"  {one['name']:24} {one['share']:4.0%} of the variance: {place}")
    if document["moved"]:
        lines += ["", "metrics that moved with latency (correlation only; test them in this order):"]
        lines += [
            f"  {one['name']:24} {one['explained']:4.0%} {'+' if one['correlation'] > 0 else '-'}"
            f"  p {one['p']:.2f}  {one['suggests']}".rstrip()
            for one in document["moved"]
        ]
    if wait := document["moved_wait"]:
        lines += ["", f"metrics that moved with latency are not ranked yet: {wait['why']}"]
    if document["events"]:
        lines += ["", "events"]
        lines += [f"  {_clock(at)}  {json.dumps(what)}" for at, what in document["events"][-SHOWN_EVENTS:]]
    return "\n".join(lines)
