"""The course of an attribution study: a rehearsal, blocks of runs, a confirmation.

::

    rehearsal      every level of every factor once: set, verified, server started, restored
    block 1..n     each cell and the control once, in random order; at each cell all loads, in random order;
                   runs with the same levels of factors that are hard to change follow each other
    look           after the least number of blocks, and after each batch: is every effect decided?
    confirmation   the recommended setting and the control, alternating, on fresh servers
"""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import nullcontext

from hindmost.commands.attribute.design import Cell, ScheduledRun, schedule
from hindmost.commands.attribute.plan import AttributionPlan, LoadPoint, folder_of
from hindmost.commands.attribute.runner import CONFIRMATION, Runner
from hindmost.core.run.status import RepeatBudget
from hindmost.core.study.pairs import Step, interleave
from hindmost.core.study.talk import CellStep, OnStep
from hindmost.errors import HindmostError, HostUnfit, TargetError

CONTROL = "control"
"""Folder of the control's runs, which are kept apart from those of the design's same cell."""
SIDES = ("before", "after")


class Course:
    """Makes the runs of a study; stored runs are reused.

    Parameters
    ----------
    runner : Runner
        Makes each run.
    on_step : callable
        Called after each run.
    enough : callable
        Called after each block, from the least number on, with the number of blocks; returns whether to stop.
    """

    def __init__(
        self, runner: Runner, on_step: OnStep, enough: Callable[[int], bool] = lambda _: False
    ) -> None:
        self.plan: AttributionPlan = runner.plan
        self.runner = runner
        self.on_step = on_step
        self.enough = enough

    def rehearse(self) -> None:
        """Try every level of every factor once, before any long measurement starts.

        Raises
        ------
        HostUnfit
            A level cannot be set here, or does not read back as set.
        TargetError
            The server does not start with the control's setting.
        """
        names = [factor.name for factor in self.plan.design.factors]
        try:
            self.runner.rehearse(self.plan.control)
        except TargetError:
            raise
        except HindmostError as error:
            raise _unfit("the control's setting", error) from None
        for place, factor in enumerate(self.plan.design.factors):
            for level in range(len(factor.levels)):
                if level == self.plan.control[place]:
                    continue
                cell = (*self.plan.control[:place], level, *self.plan.control[place + 1 :])
                try:
                    self.runner.rehearse(cell)
                except TargetError:
                    continue  # other cells may still start; if none does, the runs report it
                except HindmostError as error:
                    setting = {"factor": names[place], "level": factor.levels[level]}
                    raise _unfit(f"{names[place]} = {factor.levels[level]}", error, **setting) from None

    def blocks(self) -> int:
        """Make blocks until there are enough, and return their number."""
        least, most = self.plan.blocks
        done = 0
        for number in range(1, most + 1):
            with self.runner.keep_settings():
                done = self._make_block(number, done)
            if number >= least and self.enough(number):
                return number
        return most

    def _make_block(self, number: int, done: int) -> int:
        """Make the runs of a block, and return how many runs are done."""
        least, most = self.plan.blocks
        span = f"{least}..{most}" if least < most else str(most)
        block = self._block(number)
        for load, name, cell in block:
            why = self.runner.make(load, name, cell, number)
            done += 1
            step = Step(name, number, done, most * len(block), why)
            self._report(f"block {number} of {span}", load, cell, step)
        return done

    def _report(self, what: str, load: LoadPoint, cell: Cell, step: Step) -> None:
        setting = ", ".join(f"{name} = {level}" for name, level in self.plan.levels(cell).items())
        self.on_step(CellStep(what, load.name, setting, step.done, step.of, step.why))

    def _block(self, number: int) -> list[tuple[LoadPoint, str, Cell]]:
        """Return the runs of one block: cells in random order, each at all loads in random order."""
        order = random.Random(f"{self.plan.file.seed} loads of block {number}")
        found = []
        for run in self._schedule_block(number):
            loads = list(self.plan.loads)
            order.shuffle(loads)
            name = CONTROL if run.is_control else folder_of(run.cell)
            found += [(load, name, run.cell) for load in loads]
        return found

    def _schedule_block(self, number: int) -> list[ScheduledRun]:
        plan = self.plan
        return schedule(plan.design, 1, plan.file.seed, plan.control, first_block=number - 1)

    def confirm(self, load: LoadPoint, before: Cell, after: Cell) -> None:
        """Make fresh runs of two settings at a load, in pairs of random order."""
        cells = dict(zip(SIDES, (before, after), strict=True))
        remaking = RepeatBudget(self.plan.file.confirm.runs, self.plan.measure.remake)

        def report(step: Step) -> None:
            what = f"confirming, pair {step.round} of {max(step.round, remaking.requested)}"
            self._report(what, load, cells[step.arm], step)

        sides = {side: self.runner.side(load, _folder(side, cell), cell) for side, cell in cells.items()}
        design = self.plan.design
        alike = design.whole_plot(before) == design.whole_plot(after)
        # If a factor that is hard to change differs, each run sets it anew: a change is part of the effect.
        with self.runner.keep_settings() if alike else nullcontext():
            interleave(sides, f"{self.plan.file.seed} {load.folder} pair", remaking, report)


def _folder(side: str, cell: Cell) -> str:
    return f"{CONFIRMATION}/{side}/{folder_of(cell)}"


def _unfit(what: str, error: HindmostError, **setting: str) -> HostUnfit:
    return HostUnfit(
        error.code,
        f"{what} cannot be set: {error.message}; nothing was measured, and all settings are restored",
        hint=error.hint or "hindmost host knobs list --all",
        **{**error.fields, **setting},
    )
