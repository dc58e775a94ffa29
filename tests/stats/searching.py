"""Searches on simulated servers: the real judgement and the real choice of rates, on known curves."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from sample_searches import make_step

from hindmost.commands.measure.search.document import Step
from hindmost.commands.measure.search.findings import SearchFindings
from hindmost.commands.measure.search.judge import StepRun, judge
from hindmost.commands.measure.search.rates import next_rate
from hindmost.core.plan import parse_objective
from hindmost.core.run.status import RunStatus

OBJECTIVE = parse_objective("p99<1000us")
RUNS = (5, 9)
START = 10_000.0


@dataclass(frozen=True)
class Server:
    """An M/M/1 queue whose p99 crosses the limit at `crossing`; above `capacity` it answers too few requests.

    ``scatter``: relative standard deviation of runs; ``disturbed``: share of runs that the host slows (by a Pareto
    factor, often many times), half of which are known to be disturbed.
    """

    capacity: float
    crossing: float
    scatter: float
    disturbed: float

    @classmethod
    def draw(cls, g: np.random.Generator, scatter: float, disturbed: float) -> Server:
        """Draw a capacity between 1,000 and 200,000, and a crossing at a load between 50 and 95 %."""
        capacity = math.exp(g.uniform(math.log(1e3), math.log(2e5)))
        return cls(capacity, capacity * g.uniform(0.5, 0.95), scatter, disturbed)

    def run(self, g: np.random.Generator, rate: float) -> StepRun:
        """One run at a rate."""
        if rate >= 1.01 * self.capacity:
            return StepRun({"p99": math.inf}, RunStatus("short", "saturated", "server", self.capacity))
        free = max(1.0 - rate / self.capacity, 0.003)
        value = 1000.0 * (1.0 - self.crossing / self.capacity) / free
        value *= math.exp(g.normal(-(self.scatter**2) / 2.0, self.scatter))
        if g.random() >= self.disturbed:
            return StepRun({"p99": value})
        is_known = g.random() < 0.5
        status = RunStatus("host" if is_known else "counted", "steal")
        return StepRun({"p99": value * (1.0 + g.pareto(1.5))}, status)


def step(g: np.random.Generator, server: Server, rate: float) -> Step:
    """Runs at a rate until they can be judged."""
    runs: list[StepRun] = []
    while (judgement := judge(runs, OBJECTIVE, RUNS)) is None:
        runs.append(server.run(g, rate))
    return make_step(
        rate,
        judgement.outcome,
        None,
        runs=len(runs),
        left_out=len(runs) - judgement.judged,
        error=judgement.error,
        at_most_per_s=judgement.at_most_per_s,
    )


def search(g: np.random.Generator, server: Server) -> SearchFindings:
    """Search as `RateSearch` does."""
    steps: list[Step] = []
    rate: float | None = START
    while rate is not None:
        steps.append(step(g, server, rate))
        rate = next_rate(steps, RUNS[1])
    return SearchFindings.from_steps(OBJECTIVE.text, steps, finished=True)


def plain_bisection(g: np.random.Generator, server: Server) -> tuple[float, float, int]:
    """A plain bisection: every bound is final, and every rate that does not hold is too high."""
    low, high, rate, runs = 0.0, math.inf, START, 0
    for _ in range(24):
        result = step(g, server, rate)
        runs += result.runs
        low, high = (max(low, rate), high) if result.outcome == "holds" else (low, min(high, rate))
        if low > 0.0 and math.isfinite(high):
            if high / low <= 1.05:
                break
            rate = math.sqrt(low * high)
        else:
            rate = rate * 2.0 if low > 0.0 else rate / 2.0
        if rate < 10.0:
            break
    return low, high, runs
