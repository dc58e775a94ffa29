"""``hindmost watch show``: what a ring holds, whether latency changed, and what moved with it."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

from hindmost.cli.options import OUTPUT, PROCEDURE, TARGET, Json, option, whole
from hindmost.exits import Exit

SHOWN_EVENTS = 8


def show(
    ring: Annotated[Path, option(TARGET, None, "A ring of `hindmost watch`, finished or being written.")],
    *,
    percentile: Annotated[float, option(PROCEDURE, "P", "Of latency, that is judged.")] = 99.0,
    block: Annotated[str, option(PROCEDURE, "TIME", "Blocks that are compared.")] = "30s",
    alarms: Annotated[float, option(PROCEDURE, "N", "False alarms that you accept a week.")] = 1.0,
    least: Annotated[float, option(PROCEDURE, "RATIO", "A smaller change is none.")] = 1.2,
    metrics: Annotated[int, whole(OUTPUT, "How many metrics that moved are shown.")] = 8,
    json_: Json = False,
) -> int:
    """Say what a ring holds: whether latency has changed lately, and which metrics moved with it.

    A change is judged by blocks against those before, at a rate of false alarms a week that holds for
    autocorrelated latency; drift and what recurs daily are told from anomalies. What moved with the latency
    is company, not cause: it is the order in which `hindmost diagnose` is worth its time.
    """
    from hindmost.plan.units import parse_duration
    from hindmost.stats.causes.ranking import rank_metrics
    from hindmost.stats.series.changes import Detector
    from hindmost.watch import read_ring
    from hindmost.watch.blocks import metrics_of, quantiles_of

    read = read_ring(ring)
    block_s = parse_duration(block, "block", 10.0)
    ends, values = quantiles_of(read, percentile / 100, block_s)
    # The last block is not over yet.
    whole_blocks = max(0, len(ends) - 1)
    change = Detector(block_s=block_s, alarms_a_week=alarms, least_ratio=least).judge(
        ends[:whole_blocks], values[:whole_blocks]
    )
    moved = rank_metrics(values, metrics_of(read, ends, block_s))[:metrics]
    document: dict[str, Any] = {
        "schema": "hindmost.ring-view/1",
        "about": read.about,
        "samples": len(read.at_s),
        "lasted_s": float(read.at_s[-1] - read.at_s[0]) if len(read.at_s) else 0.0,
        "cut": read.cut,
        "percentile": percentile,
        "blocks": [[float(at), _plain(value)] for at, value in zip(ends, values, strict=True)],
        "change": {
            name: _plain(value) if isinstance(value, float) else value
            for name, value in asdict(change).items()
        },
        "moved": [asdict(one) for one in moved],
        "events": [[at, what] for at, what in read.events],
    }
    print(json.dumps(document, allow_nan=False) if json_ else _text(document))
    return Exit.DONE


def _plain(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _text(document: dict[str, Any]) -> str:
    change, about = document["change"], document["about"]
    cut = "; the file was cut off" if document["cut"] else ""
    known = [value for _, value in document["blocks"] if value is not None]
    lines = [
        f"{about['application']} on {about['host']}: {document['samples']} samples over"
        f" {document['lasted_s']:.0f} s{cut}"
    ]
    if known:
        span = f"{min(known):.0f} to {max(known):.0f}"
        lines.append(f"p{document['percentile']:g}: last {known[-1]:.0f} us, {span}")
    lines.append(f"change: {change['kind']}: {change['why']}")
    if document["moved"]:
        lines += ["", "moved with it (company, not cause: an order of experiments)"]
        lines += [
            f"  {one['name']:24} {one['correlation']:+.2f}  p {one['p']:.3f}  {one['suggests']}".rstrip()
            for one in document["moved"]
        ]
    if document["events"]:
        lines += ["", "events"]
        lines += [f"  {at:.0f}  {json.dumps(what)}" for at, what in document["events"][-SHOWN_EVENTS:]]
    return "\n".join(lines)
