"""The cost of a study before it starts: runs and minutes."""

from __future__ import annotations

import math
from dataclasses import dataclass

from hindmost.design.design import Design
from hindmost.errors import UsageError


@dataclass(frozen=True, slots=True)
class Cost:
    """Cost of all blocks at all loads, control runs included."""

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
        return f"{self.runs:,} runs, about {duration_text(self.seconds)}"


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
    >>> from hindmost.design import Factor, full
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
    return Cost(runs, runs * (seconds_per_run + restart_s))


def duration_text(seconds: float) -> str:
    """Format a duration for people.

    Examples
    --------
    >>> [duration_text(s) for s in (40, 89.9, 600, 7200, 7325)]
    ['40 s', '1 min 30 s', '10 min', '2 h', '2 h 2 min']
    """
    total = math.ceil(seconds)
    if total < 60:
        return f"{total} s"
    if total < 600:
        minutes, seconds_left = divmod(total, 60)
        return f"{minutes} min" + (f" {seconds_left} s" if seconds_left else "")
    hours, minutes = divmod(round(total / 60), 60)
    if not hours:
        return f"{minutes} min"
    return f"{hours} h" + (f" {minutes} min" if minutes else "")
