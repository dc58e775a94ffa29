"""The cost of a study before it starts: runs and minutes."""

from __future__ import annotations

import math
from dataclasses import dataclass

from hindmost.commands.attribute.design.design import Design
from hindmost.core.plan.units import format_duration
from hindmost.errors import UsageError


@dataclass(frozen=True, slots=True)
class Cost:
    """Cost of all blocks at all loads, with control runs and changes of factors that are hard to change."""

    runs: int
    seconds: float

    @property
    def minutes(self) -> float:
        """The time in minutes."""
        return self.seconds / 60.0

    @property
    def text(self) -> str:
        """The cost in words.

        Examples
        --------
        >>> Cost(340, 4420.0).text
        '340 runs, about 1 h 14 min'
        """
        return f"{self.runs:,} runs, about {format_duration(self.seconds)}"


def cost(
    design: Design,
    blocks: int,
    seconds_per_run: float,
    restart_s: float = 0.0,
    loads: int = 1,
    controls: int = 1,
) -> Cost:
    """Return runs and time of a study.

    Parameters
    ----------
    seconds_per_run
        Warm-up, calibration and measurement of one run.
    restart_s
        Time between two runs: stop, apply the factors, start, wait until ready.
    loads
        Load levels; each cell is run at each of them, on its own server.
    controls
        Control runs per block (at each load).

    Raises
    ------
    UsageError
        If a number is negative, not finite, or there is no block or load.

    Examples
    --------
    >>> from hindmost.commands.attribute.design import Factor, full
    >>> design = full([Factor(name, ("off", "on")) for name in "abcd"])
    >>> cost(design, 10, 10.0, restart_s=3.0, loads=2)
    Cost(runs=340, seconds=4420.0)
    """
    if min(blocks, loads) < 1 or controls < 0:
        raise UsageError(
            "bad-value",
            f"a study needs at least one block and one load, got {blocks} and {loads}",
            blocks=blocks,
            loads=loads,
            controls=controls,
        )
    if not (seconds_per_run > 0.0 and restart_s >= 0.0 and math.isfinite(seconds_per_run + restart_s)):
        raise UsageError(
            "bad-value",
            f"a run takes time, got {seconds_per_run} s, with {restart_s} s between runs",
            seconds_per_run=seconds_per_run,
            restart_s=restart_s,
        )
    runs = blocks * loads * (len(design.cells) + controls)
    return Cost(runs, runs * (seconds_per_run + restart_s) + blocks * design.change_s)
