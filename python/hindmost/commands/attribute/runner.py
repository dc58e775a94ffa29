"""Makes one run of a cell: settings in force, a fresh server, a run; then everything is restored.

A failed run (a level that does not stay as set, a server that does not start with it) is recorded, and the
study continues. A cell that failed twice at a load is not tried there again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import compress

from hindmost.commands.attribute.attempts import MOST_FAILURES, Attempt, Attempts
from hindmost.commands.attribute.cells import AGAIN, Readings, run_number
from hindmost.commands.attribute.design import Cell
from hindmost.commands.attribute.plan import AttributionPlan, LoadPoint
from hindmost.core.fleet import HERE, Fleet, Moment, Setting
from hindmost.core.knobs import Knob
from hindmost.core.knobs.force import KeptSettings, in_force, processors, start_spec
from hindmost.core.notes import Note
from hindmost.core.plan import MeasurePlan
from hindmost.core.run.making import make_run
from hindmost.core.run.serving import ServerContext, no_context
from hindmost.core.run.status import RepeatBudget
from hindmost.core.store import Study
from hindmost.core.study.pairs import NoMoreRuns
from hindmost.core.study.part import open_part
from hindmost.core.targets import Managed, ManagedServer
from hindmost.errors import HindmostError, Interrupted, StudyError, UsageError

FRESH = 500_009
"""Added to the seed of confirmation runs, so that their arrivals differ from the runs that chose the
setting."""
CONFIRMATION = "confirmation"
"""Folder of confirmation runs within their load's folder."""


class Runner:
    """Makes the runs of an attribution study.

    Parameters
    ----------
    study : Study
        An open, locked study.
    plan : AttributionPlan
        What to run.
    look : callable, optional
        Receives the progress of a run.
    fleet : Fleet, optional
        Where the clients run; default: this machine.

    Attributes
    ----------
    readings : Readings
        The runs read so far.
    """

    def __init__(
        self,
        study: Study,
        plan: AttributionPlan,
        look: Callable[[Moment], None] = lambda _: None,
        fleet: Fleet = HERE,
    ) -> None:
        self.study = study
        self.plan = plan
        self.readings = Readings()
        self.attempts = Attempts(study.folder)
        self.look = look
        self.fleet = fleet
        runs = plan.blocks[1] * (len(plan.design.cells) + 1) * len(plan.loads)
        self.remaking = RepeatBudget(runs, plan.measure.remake)
        self._parts: dict[str, Study] = {}
        self._kept: KeptSettings | None = None

    def part(self, load: LoadPoint, name: str, cell: Cell) -> Study:
        """Return the study of one cell at one load, new or existing; ``name`` is its folder there."""
        where = f"{load.folder}/{name}"
        if where not in self._parts:
            plan = self._measure_plan(load, self._target(cell), name)
            self._parts[where] = open_part(self.study, self.study.folder / where, plan)
        return self._parts[where]

    def stored_part(self, load: LoadPoint, name: str) -> Study | None:
        """Return the stored study of one cell at one load, for reading; None if it does not exist."""
        where = f"{load.folder}/{name}"
        folder = self.study.folder / where
        if where not in self._parts and (folder / "manifest.json").exists():
            self._parts[where] = Study.open(folder)
        return self._parts.get(where)

    def make(self, load: LoadPoint, name: str, cell: Cell, block: int) -> Note | None:
        """Make a cell's run of a block; return why no run counts, if none does.

        Stored runs are reused, and cells that were given up are skipped. An excluded run is kept, and
        repeated as often as `RepeatBudget` allows.

        Raises
        ------
        StudyError
            Nothing can be stored.
        """
        part = self.part(load, name, cell)
        stored = {run.number for run in part.runs()}
        attempt, why = 0, None
        while (number := run_number(block, attempt)) in stored or self._may_repeat(attempt):
            if number not in stored and (failure := self.run_once(load, name, cell, number)) is not None:
                return failure
            why = self.readings.run(part, number).excluded
            if why is None:
                return None
            attempt += 1
        assert why is not None, "the first attempt is always made"
        return Note(why.code, f"excluded, made {_times(attempt)}: {why}", {**why.values, "attempts": attempt})

    def _may_repeat(self, attempts: int) -> bool:
        """Whether another attempt is allowed after this many."""
        return not attempts or self.remaking.allows_repeat(self.attempts.count_repeated(AGAIN), attempts)

    def side(self, load: LoadPoint, name: str, cell: Cell) -> CellSide:
        """Return a cell at a load, for paired comparisons."""
        return CellSide(self, load, name, cell)

    def run_once(self, load: LoadPoint, name: str, cell: Cell, number: int) -> Note | None:
        """Make run `number` of a cell; return the failure, if it failed."""
        part, where = self.part(load, name, cell), f"{load.folder}/{name}"
        failures = self.attempts.failures(load.folder, name)
        if len(failures) >= MOST_FAILURES:
            return failures[-1]
        start = time.monotonic()
        why = None
        try:
            with part.lock(), self._in_force(cell) as (target, context):
                plan = self._measure_plan(load, target, name)
                make_run(
                    part,
                    number,
                    plan,
                    target,
                    look=self.look,
                    context=context,
                    fleet=self.fleet,
                    settings=self._settings(cell),
                )
        except (Interrupted, StudyError, UsageError):
            raise
        except HindmostError as error:
            why = Note(error.code, f"{where}: {error.message}", error.fields)
        entry = Attempt(load.folder, name, number, time.monotonic() - start, why)
        self.attempts.add(entry, self.plan.levels(cell))
        return why

    def given_up(self, load: LoadPoint, name: str) -> bool:
        """Whether a cell failed too often at a load to be tried there again."""
        return len(self.attempts.failures(load.folder, name)) >= MOST_FAILURES

    def rehearse(self, cell: Cell) -> None:
        """Apply a cell's settings, and start the server once, without load.

        Raises
        ------
        HindmostError
            What would fail in a run.
        """
        cpus = self._server_cpus(self._target(cell))
        if self.fleet.serves:
            with self.fleet.serve(self.plan.measure.target, cpus, self._settings(cell)):
                return
        with (
            self._in_force(cell) as (target, context),
            ManagedServer(target.spec, cpus=cpus) as server,
            context(server),
        ):
            pass

    @contextmanager
    def keep_settings(self) -> Iterator[None]:
        """Keep factors that are hard to change at their levels from run to run; restore them on exit."""
        self._kept = KeptSettings()
        try:
            yield
        finally:
            kept, self._kept = self._kept, None
            kept.restore()

    @contextmanager
    def _in_force(self, cell: Cell) -> Iterator[tuple[Managed, ServerContext]]:
        if self.fleet.serves:  # the server's host applies the settings
            yield self._server, no_context
            return
        pairs = self._pairs(cell)
        if self._kept is not None:
            hard = [factor.change_s > 0.0 for factor in self.plan.design.factors]
            self._kept.apply(list(compress(pairs, hard)))
            pairs = [pair for pair, kept in zip(pairs, hard, strict=True) if not kept]
        with in_force(pairs) as context:
            yield self._target(cell), context

    def _settings(self, cell: Cell) -> list[Setting]:
        """Return a cell's settings for another host."""
        if not self.fleet.serves:
            return []
        tables = zip(self.plan.file.factor, self._levels(cell), strict=True)
        return [Setting(table.setting, level) for table, level in tables]

    def _pairs(self, cell: Cell) -> list[tuple[Knob, str]]:
        return list(zip(self.plan.knobs, self._levels(cell), strict=True))

    def _levels(self, cell: Cell) -> list[str]:
        return list(self.plan.levels(cell).values())

    def _target(self, cell: Cell) -> Managed:
        return replace(self._server, spec=start_spec(self._server.spec, self._pairs(cell)))

    @property
    def _server(self) -> Managed:
        assert self.plan.target is not None, "a study that is only read makes no runs"
        return self.plan.target

    def _server_cpus(self, target: Managed) -> tuple[int, ...]:
        """Return the CPUs of the server: the cell's, if a factor sets them."""
        return processors(self._server.spec, target.spec, self.plan.measure.server_cpus)

    def _measure_plan(self, load: LoadPoint, target: Managed, name: str) -> MeasurePlan:
        seed = self.plan.measure.seed + (FRESH if name.startswith(CONFIRMATION) else 0)
        changes = {"rate_per_s": load.rate_per_s, "server_cpus": self._server_cpus(target), "seed": seed}
        return self.plan.measure.model_copy(update=changes)


def _times(attempts: int) -> str:
    return "once" if attempts == 1 else f"{attempts} times"


class CellSide:
    """One cell at one load: a `hindmost.core.study.pairs.Arm`, whose rounds are the blocks of its runs."""

    def __init__(self, runner: Runner, load: LoadPoint, name: str, cell: Cell) -> None:
        self._runner = runner
        self._at_loads = (load, name, cell)
        self._failures: dict[int, Note] = {}

    def has(self, number: int) -> bool:
        """Whether there is a run of this block."""
        return bool(self._numbers(number))

    def make(self, number: int) -> None:
        """Make the run of this block, and record a failure."""
        load, name, cell = self._at_loads
        why = self._runner.run_once(load, name, cell, number)
        if why is not None:
            if self._runner.given_up(load, name):
                raise NoMoreRuns(why.text)
            self._failures[number] = why

    def excluded(self, number: int) -> Note | None:
        """Return why no run of this block counts; studies before 0.3 repeated a run within its block."""
        part = self._runner.part(*self._at_loads)
        whys = [self._runner.readings.run(part, one).excluded for one in self._numbers(number)]
        if not whys:
            return self._failures.get(number, Note("run-failed", "there is no such run", {"run": number}))
        return None if None in whys else whys[-1]

    def _numbers(self, block: int) -> list[int]:
        runs = self._runner.part(*self._at_loads).runs()
        return [run.number for run in runs if run.number % AGAIN == block]
