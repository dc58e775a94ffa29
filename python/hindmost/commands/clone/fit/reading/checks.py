"""Checks for impossible times, with errors that name line, column and value."""

from __future__ import annotations

import math

import numpy as np

from hindmost.commands.clone.fit.bins import Floats
from hindmost.commands.clone.fit.reading.log import Log
from hindmost.commands.clone.fit.reading.table import Table
from hindmost.errors import UsageError

LEAST = 2_000
"""Fewest requests of a log. A fifth is held out, and its p99 needs some; with fewer than 2,000, the
parameters of a body are not recovered (research note, section 2.2)."""

RARE = 10
"""Fewest requests of a component that can be distinguished from chance."""

LONGEST_US = 1e8
SHORTEST_US = 0.05
"""Shortest possible service: reading a clock alone takes this long."""


def check_times(table: Table, name: str, unit_us: float, values: Floats) -> Floats:
    """Convert times to microseconds and check that all are possible.

    Raises
    ------
    UsageError
        Names the first line whose value is not finite or not above 0.
    """
    bad = ~(np.isfinite(values) & (values > 0))
    if bad.any():
        row = int(np.argmax(bad))
        more = int(bad.sum()) - 1
        others = f" ({more:,} other{'s' if more > 1 else ''} like it)" if more else ""
        value = float(values[row])
        what = "is 0: the clock was too coarse" if value == 0 else f"is {value:g}, which is not a time"
        raise UsageError(
            "impossible-time",
            f"{table.locate(row)}: {name} {what}{others}",
            hint="leave such requests out only if you know why: the clone lacks whatever is left out",
            **table.place(row),
            column=name,
            value=value if math.isfinite(value) else str(value),
            others=more,
        )
    return np.asarray(values * unit_us)


def check_log(log: Log) -> Log:
    """Raise an error for a log that cannot be fitted.

    Raises
    ------
    UsageError
        There are too few requests, all times are equal, the unit is implausible, or more requests are served
        at once than there are threads.
    """
    us = log.wall_us
    if us.size < LEAST:
        raise UsageError(
            "short-log",
            f"{log.source} has {us.size:,} requests; a fit needs at least {LEAST:,}, or at least"
            f" {1_000 * RARE:,} to see what affects one request in 1,000",
            hint="log more requests, at the same low load",
            path=log.source,
            have=us.size,
            need=LEAST,
        )
    low, middle, high = np.quantile(us, [0.0, 0.5, 1.0])
    if low == high:
        raise UsageError(
            "constant-times",
            f"all {us.size:,} times of {log.what} in {log.source} are {low:g} µs",
            hint="is it the right column? A server that is so steady needs no fit:"
            f' law = {{ kind = "deterministic", us = {low:g} }}',
            path=log.source,
            column=log.what,
            value=float(low),
            unit="us",
        )
    if not SHORTEST_US <= middle <= LONGEST_US:
        raise UsageError(
            "wrong-unit",
            f"the median of {log.what} in {log.source} is {middle:g} µs: the unit is wrong",
            hint="name the unit: --unit ns, us, ms or s",
            path=log.source,
            column=log.what,
            value=float(middle),
            least=SHORTEST_US,
            most=LONGEST_US,
            unit="us",
        )
    return log
