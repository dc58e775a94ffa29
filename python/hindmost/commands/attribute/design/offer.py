"""Chooses the richest design that a budget allows, and says what is given up."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from hindmost.commands.attribute.design.design import Design
from hindmost.commands.attribute.design.factors import Combination, Factor
from hindmost.commands.attribute.design.ladder import DesignKind, ladder
from hindmost.commands.attribute.design.precision import DEFAULT_CV, precision
from hindmost.errors import UsageError

LEAST_BLOCKS = 5
"""Runs of each cell from which run-level intervals have their nominal coverage (95 % intervals cover
0.95)."""

LEAST_BLOCKS_SCREENING = 3
"""The same for screening, where each effect compares half of all runs with the other half."""

MOST_BLOCKS = 30
"""Remaining time buys more blocks up to this number: the paper's number of runs of each cell."""


@dataclass(frozen=True)
class Offer:
    """A design with as many blocks as the budget allows; ``runs`` include controls and all loads."""

    design: Design
    blocks: int
    runs: int
    cv: float

    @property
    def text(self) -> tuple[str, ...]:
        """The design, what it cannot show, and the smallest effect that it would detect."""
        expected = precision(self.design, self.blocks, self.cv)
        out = [f"{self.design.text}; {self.blocks} blocks, {self.runs:,} runs", *self.design.caveats]
        if self.design.kind == "fraction" and (self.design.resolution or 0) >= 5:
            out.append("interactions of three and more factors are assumed to be zero")
        for order, name in ((1, "of one factor"), (2, "of two factors together")):
            precisions = [each for term, each in expected.items() if len(term) == order]
            if precisions:
                worst = max(precisions, key=lambda each: each.half_width)
                out.append(
                    f"an average effect {name} will have an interval of ±{_percent(worst.half_width)}; one"
                    f" of {_percent(worst.detectable)} is detected with 80 % probability, if runs vary by"
                    f" {_percent(self.cv)}"
                )
        return tuple(out)


def offer(
    factors: Iterable[Factor],
    most_runs: int,
    *,
    kind: DesignKind = "auto",
    resolution: int = 5,
    forbidden: Iterable[Combination] = (),
    loads: int = 1,
    controls: int = 1,
    blocks: int | None = None,
    most_blocks: int = MOST_BLOCKS,
    cv: float = DEFAULT_CV,
    run_s: float = 1.0,
) -> Offer:
    """Return the richest design of this kind that `most_runs` allow with enough blocks.

    From rich to poor: the full factorial, fractions of resolution V and IV (or chosen cells), screening with
    and without its fold-over. Remaining runs buy more blocks.

    Parameters
    ----------
    most_runs
        Runs at all loads, controls included.
    resolution
        Minimum resolution of a fraction, for kind ``fraction``; ``auto`` goes down to IV.
    loads, controls
        Load levels; control runs in each block.
    blocks
        Minimum blocks; None: `LEAST_BLOCKS`, or `LEAST_BLOCKS_SCREENING`.
    cv
        Variation between runs, for the description of the offer.
    run_s
        Time of a run, s: changes of factors that are hard to change count as that many runs.

    Raises
    ------
    UsageError
        If not even the poorest fits: names the number of runs needed.

    Examples
    --------
    >>> eight = [Factor(name, ("off", "on")) for name in "abcdefgh"]
    >>> [offer(eight, runs).design.text for runs in (400, 100)]  # doctest: +NORMALIZE_WHITESPACE
    ['2^(8-2) fraction of resolution V: 64 cells',
     '2^(8-4) fraction of resolution IV: 16 cells']
    """
    factors = tuple(factors)
    least: list[tuple[int, int, Design]] = []
    for design in ladder(factors, kind, resolution, forbidden):
        block = loads * (len(design.cells) + controls)
        with_changes = block + design.change_s / run_s
        fewest = blocks or (LEAST_BLOCKS_SCREENING if design.kind == "screening" else LEAST_BLOCKS)
        if (affordable := int(most_runs // with_changes)) >= fewest:
            chosen = min(affordable, max(most_blocks, fewest))
            return Offer(design, chosen, chosen * block, cv)
        least.append((math.ceil(fewest * with_changes), fewest, design))
    runs, fewest, design = min(least, key=lambda entry: entry[0])
    per_load = f" at each of {loads} loads" if loads > 1 else ""
    raise UsageError(
        "too-few-runs",
        f"{most_runs:,} runs are too few for a design of {len(factors)} factors. The smallest needs"
        f" {runs:,} runs: {design.text}, {fewest} blocks{per_load}",
        hint="allow more time, make runs shorter, or leave out factors or loads",
        have=most_runs,
        need=runs,
        kind=design.kind,
        blocks=fewest,
        loads=loads,
    )


def runs_within(budget_s: float, seconds_per_run: float, restart_s: float = 0.0) -> int:
    """Return the number of runs that fit into a time.

    Examples
    --------
    >>> runs_within(1800.0, 10.0, restart_s=2.0)
    150
    """
    if not (budget_s > 0.0 and seconds_per_run > 0.0 and restart_s >= 0.0):
        raise UsageError(
            "bad-value",
            f"a budget of {budget_s} s and runs of {seconds_per_run} s + {restart_s} s must be positive",
            budget_s=budget_s,
            seconds_per_run=seconds_per_run,
            restart_s=restart_s,
        )
    return int(budget_s / (seconds_per_run + restart_s))


def _percent(share: float) -> str:
    return f"{100.0 * share:.2g} %"
