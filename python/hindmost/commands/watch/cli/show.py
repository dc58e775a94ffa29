"""``hindmost watch show``: show whether latency changed, and which metrics moved with it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from hindmost.cli.options import OUTPUT, PROCEDURE, TARGET, Json, integer_option, option
from hindmost.commands.watch.culprits import read_culprits
from hindmost.core.exits import Exit

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


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
    from hindmost.commands.watch.document import RingView
    from hindmost.commands.watch.ranking import rank_or_wait
    from hindmost.commands.watch.ring import read_ring
    from hindmost.commands.watch.view import ring_view
    from hindmost.core.plan.units import parse_duration
    from hindmost.core.store.estimates import Bounds, bounds, encode
    from hindmost.present.terminal import render_terminal
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
    document = RingView(
        about=read.about,
        samples=len(read.at_s),
        lasted_s=float(read.at_s[-1] - read.at_s[0]) if len(read.at_s) else 0.0,
        cut=read.cut,
        percentile=percentile,
        block_s=judged.block_s,
        blocks=[
            (float(at), float(value) if math.isfinite(value) else None)
            for at, value in zip(ends, values, strict=True)
        ],
        change=change,
        bootstrap=Bounds(**bounds(low, high)),
        paper_mode=_as_printed(values),
        moved=moved[:metrics],
        moved_wait=wait,
        culprits=[] if trace is None else read_culprits(trace),
        events=read.events,
    )
    print(encode(document) if json_ else render_terminal(ring_view(document)))
    return Exit.DONE


def _as_printed(values: NDArray[np.float64]) -> bool | None:
    """Return whether equation 6.1 of the paper, as printed, calls the last block an anomaly."""
    from hindmost.stats.series.changes import LEAST_BLOCKS, paper_mode

    known = values[values > 0]
    return paper_mode(known[:-1], known[-1:]) if len(known) > LEAST_BLOCKS else None
