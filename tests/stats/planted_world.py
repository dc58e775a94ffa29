"""A simulated server with four switches on a host with interference: its runs, and the truth of every cell.

::

    slow       every request waits 300 us longer
    interact   and 500 us more, but only with slow
    nothing    does nothing
    steady     removes the wait of 2 ms of one request in 50

Requests pass the CPU one by one, then wait for a timer. During an interruption nothing runs, and no request completes.
The stolen share differs from run to run, from none to more than a tenth.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from interference_worlds import Floats, completions, cpu_time, draw_interruptions, wall_time

from hindmost.commands.attribute.cells import CellRuns, RunValues
from hindmost.stats import Dependence, Interruptions, IsolatedLatency, Service, isolated_latency

Cell = tuple[int, ...]
SWITCHES = ("slow", "interact", "nothing", "steady")
CELLS: tuple[Cell, ...] = tuple(itertools.product((0, 1), repeat=4))
CONTROL: Cell = (0, 0, 0, 0)
LEVELS = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
RATE_PER_S = 2_000.0
RUN_S = 3.0
WORK_NS = 20_000.0
SPELL_NS = 4e6
OTHERS = Dependence(False, 1.0, math.nan, 0, "the interferer does not look at the server")
TRUTH_REQUESTS = 400_000


def waits(cell: Cell, count: int, g: np.random.Generator) -> Floats:
    """Waiting time of each request, in ns."""
    slow, interact, _, steady = cell
    usual = 80e3 + 65e3 * g.lognormal(0.0, 0.3, count) + 300e3 * slow + 500e3 * slow * interact
    rare = 0.0 if steady else 2e6 * (g.random(count) < 0.02)
    return np.asarray(usual + rare)


@dataclass(frozen=True)
class SimulatedRun:
    """Scheduled and completion times of a run in ns, and the interruptions of its CPU."""

    scheduled: Floats
    done: Floats
    on: Floats
    off: Floats

    @property
    def latency(self) -> Floats:
        return self.done - self.scheduled


def simulate(cell: Cell, count: int, share: float, g: np.random.Generator) -> SimulatedRun:
    scheduled = np.cumsum(g.exponential(1e9 / RATE_PER_S, count))
    on, off = draw_interruptions(g, scheduled[-1] + 1e9, share, SPELL_NS)
    worked = wall_time(completions(cpu_time(scheduled, on, off), np.full(count, WORK_NS)), on, off)
    ready = worked + waits(cell, count, g)
    if on.size:  # a timer that ends during an interruption is noticed after it
        last = np.searchsorted(on, ready, side="right") - 1
        ready = np.where((last >= 0) & (ready < off[last]), off[np.maximum(last, 0)], ready)
    return SimulatedRun(scheduled, ready, on, off)


def truth(requests: int = TRUTH_REQUESTS) -> dict[Cell, dict[str, float]]:
    """Quantiles of every cell without interruptions, in microseconds; cells share their random numbers."""
    quantiles = {}
    for cell in CELLS:
        latency = simulate(cell, requests, 0.0, np.random.default_rng(1)).latency
        quantiles[cell] = {name: float(np.quantile(latency, q)) / 1e3 for name, q in LEVELS.items()}
    return quantiles


def draw_stolen_share(g: np.random.Generator) -> float:
    """Stolen share of a run: none in one of five runs, else about 4 %, occasionally 15 %."""
    return 0.0 if g.random() < 0.2 else min(0.15, 0.04 * g.lognormal(0.0, 0.8))


def run(block: int, cell: Cell, g: np.random.Generator, *, isolated: bool = True) -> RunValues:
    """One run as a study reads it, by isolated latency or, with ``isolated=False``, by latency."""
    sample = simulate(cell, int(RATE_PER_S * RUN_S), draw_stolen_share(g), g)
    raw = {name: float(np.quantile(sample.latency, q)) / 1e3 for name, q in LEVELS.items()}
    values = raw
    if isolated and sample.on.size:
        result = isolated_latency(
            np.rint(sample.scheduled).astype(np.int64),
            np.rint(sample.done).astype(np.int64),
            Interruptions.from_times(
                np.rint(sample.on).astype(np.int64), np.rint(sample.off).astype(np.int64)
            ),
            Service(RATE_PER_S * WORK_NS / 1e9, WORK_NS),
            list(LEVELS.values()),
            least_spells=1,
            dependence=OTHERS,
        )
        assert isinstance(result, IsolatedLatency), result
        values = {
            name: quantile.estimate.value / 1e3
            for name, quantile in zip(LEVELS, result.quantiles, strict=True)
        }
    mean = float(sample.latency.mean()) / 1e3
    within = dict.fromkeys((*LEVELS, "mean"))
    return RunValues(block, values | {"mean": mean}, within, sample.scheduled.size, 0.04, RUN_S)


def study(blocks: int, seed: int, *, isolated: bool = True) -> dict[Cell, CellRuns]:
    """All cells and the control, with a run of each per block."""
    g = np.random.default_rng(seed)

    def runs(cell: Cell) -> CellRuns:
        return CellRuns(cell, [run(block, cell, g, isolated=isolated) for block in range(1, blocks + 1)])

    cells = {cell: runs(cell) for cell in CELLS}
    cells[CONTROL] = cells[CONTROL].join(runs(CONTROL))
    return cells


def average_effects(values: Mapping[Cell, Mapping[str, float]], name: str) -> dict[tuple[str, ...], float]:
    """Average log effect of each switch, and of each pair beyond its parts, on a quantile."""
    logs = {cell: math.log(quantiles[name]) for cell, quantiles in values.items()}

    def contrast(places: tuple[int, ...]) -> float:
        signs = {cell: math.prod(1 if cell[place] else -1 for place in places) for cell in CELLS}
        return sum(signs[cell] * value for cell, value in logs.items()) * 2 ** len(places) / len(CELLS)

    sets = [places for size in (1, 2) for places in itertools.combinations(range(4), size)]
    return {tuple(SWITCHES[place] for place in places): contrast(places) for places in sets}
