"""The order of runs: randomized complete blocks, each with a control; split plots."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Literal

from hindmost.commands.attribute.design.design import Design
from hindmost.commands.attribute.design.factors import Cell, is_forbidden
from hindmost.errors import UsageError

ControlAt = Literal["random", "first", "last"]


@dataclass(frozen=True, slots=True)
class ScheduledRun:
    """One run to make. ``block`` and ``position`` within it count from 0."""

    block: int
    position: int
    cell: Cell
    is_control: bool = False


def schedule(
    design: Design,
    blocks: int,
    seed: int,
    control: Cell | None = None,
    *,
    controls: int = 1,
    control_at: ControlAt = "random",
    first_block: int = 0,
) -> list[ScheduledRun]:
    """Return one run of each cell per block, in random order, with control runs among them.

    Blocks remove drift over a study (heat, memory, other load) from the comparison of cells. Free draws
    "until each cell has enough" (Treadmill V-A) do not, and need a third more runs. Within a block each order
    is equally likely. The order of a block depends only on seed, block and cells, not on the number of blocks
    or on any library's generator, so a study can be resumed, even with another version.

    If factors are hard to change, a block is a *split plot*: runs that share their levels (a whole plot)
    follow each other, in random order, and so do the whole plots.

    Parameters
    ----------
    control
        The cell of the control runs; None: `Design.control`. It need not be among the design's cells.
    controls
        Control runs in each block; 0 for none.
    control_at
        Their position: random (like another cell), before or after all others; in a split plot, those of
        their whole plot.
    first_block
        Where to begin: blocks ``first_block`` to ``first_block + blocks - 1``.

    Raises
    ------
    UsageError
        If a number is negative, or the control is not an allowed cell of these factors.

    Examples
    --------
    >>> from hindmost.commands.attribute.design import Factor, full
    >>> design = full([Factor("thp", ("madvise", "always"))])
    >>> [(run.cell, run.is_control) for run in schedule(design, 1, seed=3)]
    [((1,), False), ((0,), True), ((0,), False)]
    >>> schedule(design, 3, seed=3)[:3] == schedule(design, 1, seed=3)
    True
    """
    if min(blocks, controls, first_block) < 0:
        raise UsageError(
            "bad-value",
            f"blocks and controls must not be negative, got {blocks} and {controls}",
            blocks=blocks,
            controls=controls,
            least=0,
        )
    control = design.control if control is None else control
    _check_control(design, control)
    scheduled: list[ScheduledRun] = []
    for block in range(first_block, first_block + blocks):
        cells = _shuffle([(cell, False, 0) for cell in design.cells], seed, block)
        extra = [(control, True, i) for i in range(controls)]
        if control_at == "random":
            order = _shuffle([*cells, *extra], seed, block)
        else:
            order = [*extra, *cells] if control_at == "first" else [*cells, *extra]
        if design.hard_to_change:
            order.sort(key=lambda run: _digest(seed, block, design.whole_plot(run[0])))
        scheduled += [
            ScheduledRun(block, position, cell, is_control)
            for position, (cell, is_control, _) in enumerate(order)
        ]
    return scheduled


def _shuffle(runs: list[tuple[Cell, bool, int]], seed: int, block: int) -> list[tuple[Cell, bool, int]]:
    """Sort by a digest of seed, block and run: as good as a shuffle, and the same in all versions."""
    return sorted(runs, key=lambda run: _digest(seed, block, *run))


def _digest(*words: object) -> bytes:
    return blake2b(repr(words).encode(), digest_size=16).digest()


def _check_control(design: Design, control: Cell) -> None:
    if len(control) != len(design.factors) or not all(
        0 <= level < len(factor.levels) for level, factor in zip(control, design.factors, strict=True)
    ):
        raise UsageError(
            "bad-value",
            f"control {control} is not a cell of {', '.join(f.name for f in design.factors)}",
            key="control",
            value=list(control),
            known=[f.name for f in design.factors],
        )
    if is_forbidden(control, design.factors, design.forbidden):
        setting: Mapping[str, str] = design.setting(control)
        named = ", ".join(f"{name} = {level}" for name, level in setting.items())
        raise UsageError(
            "forbidden-control",
            f"the control ({named}) is a forbidden combination",
            hint="name another control",
            value=dict(setting),
        )
