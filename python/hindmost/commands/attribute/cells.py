"""Figures of the runs of each cell; the only part of an attribution study that reads runs.

The figures of a run are read once and kept, together with the non-empty bins of its distribution. The number
of a run is its block's, plus `AGAIN` for each repetition.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from hindmost._engine import Histogram
from hindmost.commands.attribute.attempts import MOST_FAILURES, Attempts
from hindmost.commands.attribute.design import Cell
from hindmost.core.notes import Note, most_common
from hindmost.core.run.figure_cache import run_figures
from hindmost.core.run.isolated import RunIsolated, find_refusal
from hindmost.core.run.readings import plan_of
from hindmost.core.run.status import status
from hindmost.core.store import Study

Bins = tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[np.float64]]
AGAIN = 10_000
LEAST_RUNS = 3
"""Valid runs that a cell needs to count: two may agree by chance and then show no scatter."""
_YEAR_NS = 3.2e16


def run_number(block: int, attempt: int) -> int:
    """Return the number of a block's run; attempts count from 0.

    >>> run_number(3, 0), run_number(3, 1)
    (3, 10003)
    """
    return block + attempt * AGAIN


@dataclass(frozen=True, slots=True)
class RunValues:
    """The figures of one run: latency by quantile, and ``mean``, in µs (infinite if infinitely late).

    ``within``: sampling variance of each figure; None if unknown. ``busy``: CPUs that the server used.
    ``seconds``: duration of the run. ``overloaded``: why the server did not reach the requested rate; its
    latencies then depend only on the length of the run. ``excluded``: why the run is excluded; None if it
    counts. ``bins``: lower and upper bounds (µs) and counts of its latencies. ``raw``: measured latency if
    ``values`` are isolated latency, else empty. ``isolated``: interference; None if the run did not look for
    it.
    """

    block: int
    values: dict[str, float]
    within: dict[str, float | None]
    requests: int
    busy: float | None
    seconds: float
    overloaded: Note | None = None
    excluded: Note | None = None
    bins: Bins | None = None
    raw: dict[str, float] = field(default_factory=dict)
    isolated: RunIsolated | None = None


@dataclass(slots=True)
class CellRuns:
    """The valid runs of one cell at one load, by block, and what is wrong with the others.

    ``extra``: how many of its runs, the last ones, were made as the control; only for the control's cell.
    """

    cell: Cell
    runs: list[RunValues] = field(default_factory=list)
    invalid: int = 0
    why_invalid: Note | None = None
    failure: Note | None = None
    extra: int = 0

    @property
    def blocks(self) -> list[int]:
        """Blocks of the valid runs."""
        return [run.block for run in self.runs]

    def column(self, label: str) -> list[float]:
        """Return one figure of every valid run."""
        return [run.values[label] for run in self.runs]

    def measured_column(self, label: str) -> list[float]:
        """Return one figure of every valid run as measured, without isolated latency."""
        return [(run.raw or run.values)[label] for run in self.runs]

    def join(self, control: CellRuns) -> CellRuns:
        """Return a copy with the control's runs of the same cell added, so that a setting has one figure."""
        return CellRuns(
            self.cell,
            [*self.runs, *control.runs],
            self.invalid + control.invalid,
            self.why_invalid or control.why_invalid,
            self.failure or control.failure,
            len(control.runs),
        )

    def usable(self, label: str) -> bool:
        """Whether it can be compared: `LEAST_RUNS` runs or more, none overloaded or infinitely late."""
        enough = len(self.runs) >= LEAST_RUNS
        return self.failure is None and enough and all(map(math.isfinite, self.column(label)))


class Readings:
    """Reads runs, each once.

    Attributes
    ----------
    refused : Note or None
        Why isolated latency must not be used, judged by all runs together; measured latency then counts.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[str, int], RunValues] = {}
        self._measured: dict[tuple[str, int], RunValues] = {}
        self.refused: Note | None = None

    def judge(self, runs: Iterable[RunValues]) -> None:
        """Decide from all runs that count whether their interruptions were interference."""
        refusal = find_refusal([run.isolated for run in runs if run.isolated is not None])
        self.refused = (
            None
            if refusal is None
            else Note(refusal.code, refusal.text, {**refusal.values, "needs": refusal.need})
        )

    def cell(self, part: Study | None, cell: Cell, attempts: Attempts, where: tuple[str, str]) -> CellRuns:
        """Read a cell's study, if it exists; ``where``: the folders of its load and of the cell."""
        cell_runs = CellRuns(cell)
        runs = [] if part is None else [self.run(part, run.number) for run in part.runs()]
        counted = {
            run.block: run for run in reversed(runs) if run.excluded is None
        }  # the first of each block
        cell_runs.runs = [counted[block] for block in sorted(counted)]
        excluded = [run.excluded for run in runs if run.excluded is not None]
        cell_runs.invalid = len(excluded)
        cell_runs.why_invalid = most_common(excluded)
        cell_runs.failure = next((run.overloaded for run in cell_runs.runs if run.overloaded), None)
        failures = attempts.failures(*where)
        if failures and (len(failures) >= MOST_FAILURES or not cell_runs.runs):
            cell_runs.failure = failures[-1]
        return cell_runs

    def run(self, part: Study, number: int) -> RunValues:
        """Read one run, by isolated latency unless that is refused for the run or for all."""
        key = (str(part.folder), number)
        if key not in self._known:
            self.keep(key, *self._read(part, number))
        return self.lookup(key)

    def keep(self, key: tuple[str, int], measured: RunValues, host: bool) -> None:
        """Keep a run that was read; ``host``: the run is excluded because of interference."""
        self._known[key] = by_isolated(measured, host=host)
        self._measured[key] = measured

    def lookup(self, key: tuple[str, int]) -> RunValues:
        """Return a run that was kept."""
        return self._known[key] if self.refused is None else self._measured[key]

    def _read(self, part: Study, number: int) -> tuple[RunValues, bool]:
        plan = plan_of(part)
        run = part.run(number)
        assert run is not None
        figures = run_figures(run, plan)
        validity = status(figures, plan)
        overloaded = validity.kind == "short" and validity.by != "client"
        measured = RunValues(
            block=number % AGAIN,
            values=dict(figures.values["latency"]),
            within=dict(figures.within),
            requests=figures.counts.scheduled,
            busy=run.record.server_cpu_share,
            seconds=run.record.seconds,
            overloaded=validity.note if overloaded else None,
            excluded=None if overloaded or validity.is_sound else validity.note,
            bins=_bins(figures.latency),
            isolated=figures.isolated,
        )
        return measured, validity.kind == "host"


def by_isolated(measured: RunValues, *, host: bool) -> RunValues:
    """Return a run with isolated latency, which is free of the host's interference.

    If its interruptions cannot be explained by interference, the measured run and its validity stand.
    """
    isolated = measured.isolated
    if isolated is None or isolated.refused is not None or not isolated.interruptions:
        return measured
    if not set(isolated.values) >= {name for name in measured.values if name[0] == "p"}:
        return measured  # one figure is unknown, and figures of both kinds are not mixed
    return replace(
        measured,
        values=measured.values | isolated.values,
        within=dict.fromkeys(measured.within),
        excluded=None if host else measured.excluded,
        raw=measured.values,
    )


def _bins(latency: Histogram) -> Bins:
    """Return the non-empty bins; infinitely late requests are placed in a bin above a year."""
    low, high, counts = (np.frombuffer(raw, dtype=np.uint64).astype(np.float64) for raw in latency.bins())
    late = float(latency.censored)
    if late:
        low, high, counts = (np.append(a, b) for a, b in ((low, _YEAR_NS), (high, _YEAR_NS), (counts, late)))
    return low / 1e3, high / 1e3, counts
