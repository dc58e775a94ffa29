"""What a study of batching is asked to do, and its study, new or to go on with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hindmost.errors import UsageError
from hindmost.laws import replay_of
from hindmost.plan import MeasurePlan
from hindmost.plan.batching import Batching, batching_text, parse_batching
from hindmost.plan.units import parse_rate
from hindmost.run.request import MeasureRequest
from hindmost.stats import least_pairs
from hindmost.store import Study
from hindmost.studies.begin import begin
from hindmost.studies.rounds import Rounds, check_figure

SPARE_ROUNDS = 2
"""So many rounds more than can tell the ways apart: some may be disturbed."""
ALLOWED = Rounds(
    "--pairs",
    2,
    "one round cannot show how runs vary",
    "leave it out, for as many rounds as can tell the ways apart",
)
SIZES = (2, 4, 8, 16, 32)
"""Requests that a batch of each usual interval has in the mean: the paper's best have 5 to 20 (Figure 4)."""
MOST_INTERVALS = 50
LONGEST_S = 0.1
"""A usual interval is no longer: it would be most of the latency."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What is tried.

    Attributes
    ----------
    plan : MeasurePlan
        Of one run; rate and batching are those of each side.
    sides : sequence of (float, Batching)
        Rate in requests a second, and the way to batch.
    by : str
        The figure that is to be low: ``mean`` or a percentile.
    """

    plan: MeasurePlan
    sides: Sequence[tuple[float, Batching]]
    by: str = "mean"

    @property
    def rates(self) -> list[float]:
        """Each once, in their order."""
        return list(dict.fromkeys(rate for rate, _ in self.sides))

    def plan_of(self, rate: float, batching: Batching) -> MeasurePlan:
        """How a side's runs are made."""
        return self.plan.model_copy(update={"rate_per_s": rate, "batching": batching})

    def manifest(self) -> dict[str, Any]:
        """As a study's manifest keeps it."""
        return {"sides": [list(side) for side in self.sides], "by": self.by}

    @classmethod
    def of(cls, study: Study, plan: MeasurePlan) -> Asked:
        """Read it from a study."""
        found = study.manifest["batching"]
        return cls(plan, [(float(rate), batching) for rate, batching in found["sides"]], found["by"])


def name_of_side(rate: float, batching: Batching) -> str:
    """Name and folder of a side.

    >>> name_of_side(20000.0, 0.0001)
    '20000-100us'
    """
    return f"{rate:.10g}-{batching_text(batching)}"


def opened(
    request: MeasureRequest,
    intervals: str | None = None,
    rounds: int | None = None,
    by: str = "mean",
    out: Path | None = None,
) -> Study:
    """A new study; ``request.rate`` may hold several, with commas between them.

    Raises
    ------
    UsageError
        If something of it cannot be meant.
    TargetError
        If a running server is not there.
    """
    if request.closed:
        raise UsageError(
            "conflicting-options",
            "--closed leaves nothing to batch: each connection has one request at a time",
            hint="leave it out",
            option="--closed",
        )
    rates = _rates(request.rate)
    chosen = None if intervals is None else parse_intervals(intervals)
    others = 1 + len(chosen or SIZES)  # that one way is compared with: Nagle's and the intervals
    wanted = least_pairs(others) + SPARE_ROUNDS if rounds is None else ALLOWED.checked(rounds)
    plan = replace(request, rate=f"{rates[0]:.10g}", runs=str(wanted)).plan()
    if len(rates) > 1 and (replay := replay_of(plan.arrivals)) is not None:
        replay.refuse_other_rates(f"--rate {request.rate}")
    check_figure(by, plan)
    sides: list[tuple[float, Batching]] = []
    for rate in rates:
        ways: list[Batching] = ["none", "nagle", *(chosen or usual_intervals(rate, plan.connections))]
        sides += [(rate, way) for way in ways]
    asked = Asked(plan, sides, by)
    for rate, way in sides:  # what the engine refuses is refused before the first run
        asked.plan_of(rate, way).engine_plan(1, 0, _protocol(plan), "127.0.0.1:1")
    return begin(plan, out, "batching", batching=asked.manifest())


def reopened(folder: Path, rounds: int | None) -> Study:
    """A study to go on with as it was begun; only the number of rounds may change."""
    return ALLOWED.reopened(folder, "batching", rounds)


def usual_intervals(rate: float, connections: int) -> list[float]:
    """Intervals in seconds in which as many requests of a connection come due as `SIZES` says.

    >>> usual_intervals(40_000.0, 4)
    [0.0002, 0.0004, 0.0008, 0.0016, 0.0032]
    """
    gap = connections / rate
    return [interval for size in SIZES if (interval := float(f"{size * gap:.2g}")) <= LONGEST_S]


def parse_intervals(text: str) -> list[float]:
    """Read ``--batch``: times with commas between them, in rising order and each once.

    >>> parse_intervals("2ms,1ms")
    [0.001, 0.002]
    """
    found = [parse_batching(part.strip()) for part in text.split(",")]
    intervals = sorted({one for one in found if not isinstance(one, str)})
    if len(intervals) < len(found) or len(intervals) > MOST_INTERVALS:
        raise UsageError(
            "bad-value",
            f"--batch {text!r} is not a list of at most {MOST_INTERVALS} different times",
            hint="--batch 50us,100us,200us; none and nagle are always tried",
            option="--batch",
            value=text,
            most=MOST_INTERVALS,
        )
    return intervals


def _rates(text: str | None) -> list[float]:
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


def _protocol(plan: MeasurePlan) -> str:
    from hindmost.targets import parse_target

    return parse_target(plan.target).protocol
