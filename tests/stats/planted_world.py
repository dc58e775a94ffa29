"""A server with four switches on a host that steals, simulated: its runs, and the truth of every cell.

::

    slow       every request waits 300 us longer
    interact   and 500 us more, but only with slow
    nothing    does nothing
    steady     takes away that one request in 50 waits 2 ms

Requests pass the processor one by one, then wait by a timer; while the thief has the processor nothing goes on,
and nobody is answered. What is stolen differs from run to run, and from none to more than a tenth.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from interference_worlds import Floats, clock, had, served, stolen

from hindmost.stats import Dependence, Interruptions, IsolatedLatency, Service, isolated_latency
from hindmost.studies.attribution.cells import CellRuns, RunValues

Cell = tuple[int, ...]
SWITCHES = ("slow", "interact", "nothing", "steady")
CELLS: tuple[Cell, ...] = tuple(itertools.product((0, 1), repeat=4))
CONTROL: Cell = (0, 0, 0, 0)
LEVELS = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
RATE_PER_S = 2_000.0
RUN_S = 3.0
WORK_NS = 20_000.0
SPELL_NS = 4e6
OTHERS = Dependence(False, 1.0, math.nan, 0, "the thief does not look at the server")
TRUTH_REQUESTS = 400_000


def waits(cell: Cell, count: int, g: np.random.Generator) -> Floats:
    """What each request waits, in ns."""
    slow, interact, _, steady = cell
    usual = 80e3 + 65e3 * g.lognormal(0.0, 0.3, count) + 300e3 * slow + 500e3 * slow * interact
    rare = 0.0 if steady else 2e6 * (g.random(count) < 0.02)
    return np.asarray(usual + rare)


@dataclass(frozen=True)
class Answered:
    """Due and done times of a run in ns, and when the processor was stolen."""

    scheduled: Floats
    done: Floats
    on: Floats
    off: Floats

    @property
    def latency(self) -> Floats:
        return self.done - self.scheduled


def answered(cell: Cell, count: int, share: float, g: np.random.Generator) -> Answered:
    scheduled = np.cumsum(g.exponential(1e9 / RATE_PER_S, count))
    on, off = stolen(g, scheduled[-1] + 1e9, share, SPELL_NS)
    worked = clock(served(had(scheduled, on, off), np.full(count, WORK_NS)), on, off)
    ready = worked + waits(cell, count, g)
    if on.size:  # a timer that ends while the processor is away is seen when it is back
        last = np.searchsorted(on, ready, side="right") - 1
        ready = np.where((last >= 0) & (ready < off[last]), off[np.maximum(last, 0)], ready)
    return Answered(scheduled, ready, on, off)


def truth(requests: int = TRUTH_REQUESTS) -> dict[Cell, dict[str, float]]:
    """Quantiles of every cell without a thief, in microseconds; cells share their random numbers."""
    found = {}
    for cell in CELLS:
        latency = answered(cell, requests, 0.0, np.random.default_rng(1)).latency
        found[cell] = {name: float(np.quantile(latency, q)) / 1e3 for name, q in LEVELS.items()}
    return found


def share_stolen(g: np.random.Generator) -> float:
    """Of a run: nothing in one of five, else about 4 %, now and then 15 %."""
    return 0.0 if g.random() < 0.2 else min(0.15, 0.04 * g.lognormal(0.0, 0.8))


def run(block: int, cell: Cell, g: np.random.Generator, *, isolated: bool = True) -> RunValues:
    """One run as a study reads it; ``isolated=False``: what was measured."""
    made = answered(cell, int(RATE_PER_S * RUN_S), share_stolen(g), g)
    raw = {name: float(np.quantile(made.latency, q)) / 1e3 for name, q in LEVELS.items()}
    values = raw
    if isolated and made.on.size:
        found = isolated_latency(
            np.rint(made.scheduled).astype(np.int64),
            np.rint(made.done).astype(np.int64),
            Interruptions.from_times(np.rint(made.on).astype(np.int64), np.rint(made.off).astype(np.int64)),
            Service(RATE_PER_S * WORK_NS / 1e9, WORK_NS),
            list(LEVELS.values()),
            least_spells=1,
            dependence=OTHERS,
        )
        assert isinstance(found, IsolatedLatency), found
        values = {name: one.estimate.value / 1e3 for name, one in zip(LEVELS, found.quantiles, strict=True)}
    mean = float(made.latency.mean()) / 1e3
    within = dict.fromkeys((*LEVELS, "mean"))
    return RunValues(block, values | {"mean": mean}, within, made.scheduled.size, 0.04, RUN_S)


def study(blocks: int, seed: int, *, isolated: bool = True) -> dict[Cell, CellRuns]:
    """All cells and the control, a run of each a block."""
    g = np.random.default_rng(seed)

    def runs(cell: Cell) -> CellRuns:
        return CellRuns(cell, [run(block, cell, g, isolated=isolated) for block in range(1, blocks + 1)])

    found = {cell: runs(cell) for cell in CELLS}
    found[CONTROL] = found[CONTROL].join(runs(CONTROL))
    return found


def average_effects(values: Mapping[Cell, Mapping[str, float]], name: str) -> dict[tuple[str, ...], float]:
    """Of a quantile: the logarithm of what a switch, or two beyond their parts, make of it, on average."""
    logs = {cell: math.log(of[name]) for cell, of in values.items()}

    def contrast(places: tuple[int, ...]) -> float:
        signs = {cell: math.prod(1 if cell[place] else -1 for place in places) for cell in CELLS}
        return sum(signs[cell] * value for cell, value in logs.items()) * 2 ** len(places) / len(CELLS)

    sets = [places for size in (1, 2) for places in itertools.combinations(range(4), size)]
    return {tuple(SWITCHES[place] for place in places): contrast(places) for places in sets}
