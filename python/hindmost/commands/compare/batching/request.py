"""The request to compare batching intervals, and its study, new or resumed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hindmost.commands.compare.rounds import PairLimits, check_figure
from hindmost.core.laws import replay_of
from hindmost.core.plan import MeasurePlan
from hindmost.core.plan.batching import Batching, batching_text, parse_batching
from hindmost.core.plan.units import parse_rate
from hindmost.core.run.readings import plan_of
from hindmost.core.run.request import MeasureRequest
from hindmost.core.store import Study
from hindmost.core.study.begin import begin
from hindmost.core.targets import parse_target
from hindmost.errors import UsageError
from hindmost.stats import least_pairs

SPARE = 2
"""Rounds beyond the least number that can decide, in case interference excludes some."""
LIMITS = PairLimits(
    2, "one round cannot show how runs vary", "leave out --pairs to make as many rounds as needed"
)
SIZES = (2, 4, 8, 16, 32)
"""Mean batch sizes of the default intervals; the paper's best intervals have 5 to 20 requests (Figure 4)."""
MOST_INTERVALS = 50
LONGEST_S = 0.1
"""Longest default interval; a longer one would be most of the latency."""


@dataclass(frozen=True, slots=True)
class BatchingRequest:
    """Batching modes to compare.

    Attributes
    ----------
    plan : MeasurePlan
        Plan of each run, except rate and batching.
    arms : sequence of (float, Batching)
        Rate in requests/s and batching mode of each arm.
    by : str
        The figure to minimise: ``mean`` or a percentile.
    """

    plan: MeasurePlan
    arms: Sequence[tuple[float, Batching]]
    by: str = "mean"

    @property
    def rates(self) -> list[float]:
        """The distinct rates, in their order."""
        return list(dict.fromkeys(rate for rate, _ in self.arms))

    @property
    def modes(self) -> list[Batching]:
        """The distinct batching modes, in their order; intervals may differ from rate to rate."""
        return list(dict.fromkeys(mode for _, mode in self.arms))

    @property
    def modes_per_rate(self) -> int:
        """Number of arms that are compared at one rate."""
        return len(self.arms) // len(self.rates)

    def plan_of(self, rate: float, batching: Batching) -> MeasurePlan:
        """Return the plan of an arm's runs."""
        return self.plan.model_copy(update={"rate_per_s": rate, "batching": batching})

    def manifest(self) -> dict[str, Any]:
        """Return the request as the study's manifest stores it."""
        return {"sides": [list(arm) for arm in self.arms], "by": self.by}

    @classmethod
    def read(cls, study: Study) -> BatchingRequest:
        """Read the request from a study's manifest."""
        stored = study.part("batching", dict)
        arms = [(float(rate), batching) for rate, batching in stored["sides"]]
        return cls(plan_of(study), arms, stored["by"])


def arm_name(rate: float, batching: Batching) -> str:
    """Return the label and folder of an arm.

    >>> arm_name(20000.0, 0.0001)
    '20000-100us'
    """
    return f"{rate:.10g}-{batching_text(batching)}"


def open_new(
    request: MeasureRequest,
    intervals: str | None = None,
    rounds: int | None = None,
    by: str = "mean",
    out: Path | None = None,
) -> Study:
    """Create the study of a comparison of batching intervals; ``request.rate`` may list several rates.

    Raises
    ------
    UsageError
        If an option is wrong.
    TargetError
        If a running server cannot be reached.
    """
    if request.closed:
        raise UsageError(
            "conflicting-options",
            "--closed leaves nothing to batch: each connection has one request at a time",
            hint="leave it out",
            option="--closed",
        )
    rates = _parse_rates(request.rate)
    chosen = None if intervals is None else parse_intervals(intervals)
    comparisons = 1 + len(chosen or SIZES)  # Nagle's algorithm and the intervals with no batching
    count = least_pairs(comparisons) + SPARE if rounds is None else LIMITS.check(rounds)
    plan = replace(request, rate=f"{rates[0]:.10g}", runs=str(count)).plan()
    if len(rates) > 1 and (replay := replay_of(plan.arrivals)) is not None:
        replay.refuse_other_rates(f"--rate {request.rate}")
    check_figure(by, plan)
    arms: list[tuple[float, Batching]] = []
    for rate in rates:
        intervals_here = chosen or default_intervals(rate, plan.connections)
        arms += [(rate, "none"), (rate, "nagle"), *((rate, interval) for interval in intervals_here)]
    stored = BatchingRequest(plan, arms, by)
    protocol = parse_target(plan.target).protocol
    for rate, batching in arms:  # the engine refuses bad plans here, before the first run
        stored.plan_of(rate, batching).engine_plan(1, 0, protocol, "127.0.0.1:1")
    return begin(plan, out, "batching", batching=stored.manifest())


def reopen(folder: Path, rounds: int | None) -> Study:
    """Open a study to resume it; only its number of rounds may change."""
    return LIMITS.reopen(folder, "batching", rounds)


def default_intervals(rate: float, connections: int) -> list[float]:
    """Return the intervals, in seconds, in which a connection has as many requests as `SIZES` says.

    >>> default_intervals(40_000.0, 4)
    [0.0002, 0.0004, 0.0008, 0.0016, 0.0032]
    """
    gap = connections / rate
    return [interval for size in SIZES if (interval := float(f"{size * gap:.2g}")) <= LONGEST_S]


def parse_intervals(text: str) -> list[float]:
    """Parse ``--batch``: distinct times separated by commas, returned in rising order in seconds.

    >>> parse_intervals("2ms,1ms")
    [0.001, 0.002]
    """
    modes = [parse_batching(part.strip()) for part in text.split(",")]
    intervals = sorted({mode for mode in modes if not isinstance(mode, str)})
    if len(intervals) < len(modes) or len(intervals) > MOST_INTERVALS:
        raise UsageError(
            "bad-value",
            f"--batch {text!r} is not a list of at most {MOST_INTERVALS} different times",
            hint="--batch 50us,100us,200us; none and nagle are always included",
            option="--batch",
            value=text,
            most=MOST_INTERVALS,
        )
    return intervals


def _parse_rates(text: str | None) -> list[float]:
    if text is None:
        raise UsageError(
            "missing-argument",
            "--rate is missing: the best interval depends on the rate",
            hint="--rate 50k",
            option="--rate",
        )
    rates = [parse_rate(part.strip()) for part in text.split(",")]
    if len(set(rates)) < len(rates):
        raise UsageError(
            "bad-value",
            f"--rate {text} names a rate twice",
            hint="--rate 20k,40k,60k",
            option="--rate",
            value=text,
        )
    return sorted(rates)
