"""Runs of a measurement that are set aside because the host took from them, and what is said of them.

What the host takes is known by clocks and counters alone (`hindmost.run.soundness`), never by the latency of
the run. Such a run stays in the study's folder, is counted and shown, and another is made in its place, as
far as the budget goes. Where no run is left, all are shown, and the verdict says that none can be believed.

Calm latency counts every run that it does not refuse by itself, those set aside, too. Simulated: 16 studies
of 12 runs, M/M/1 at half load, some runs stolen from for 5 % of the time in spells of 3 ms; studies whose
interval of the median p99 (where six runs are left for one) holds the truth, and its half-width:

==================  ================  ================  ================  ================
runs stolen from    raw, all          raw, not stolen   calm, not stolen  calm, all
==================  ================  ================  ================  ================
30 %                16 of 16, 1280 %  14 of 15, 3.2 %   14 of 15, 3.2 %   16 of 16, 2.6 %
60 %                10 of 16, 111 %   6 of 8, 3.9 %     6 of 8, 3.9 %     16 of 16, 2.4 %
90 %                1 of 16, 36 %     none has six      none has six      16 of 16, 2.3 %
==================  ================  ================  ================  ================
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hindmost.plan import MeasurePlan
from hindmost.run.figures import RunFigures
from hindmost.run.soundness import Remaking, soundness


def set_aside(run: RunFigures, plan: MeasurePlan) -> str | None:
    """Why a run is set aside; None of one that counts."""
    found = soundness(run, plan)
    return found.why if found.kind == "host" else None


def spent(counted: int, aside: int, plan: MeasurePlan, *, calm: bool = False) -> str | None:
    """Why no further run is made, though more are asked for; None while one may be.

    With `calm`, calm latency counts the runs that are set aside, so that they are not in vain.

    Examples
    --------
    >>> plan = MeasurePlan(target="memcached", runs=(10, 30))
    >>> spent(20, 10, plan) is None
    True
    >>> spent(0, 9, plan)
    'the host disturbed 9 of 9 runs, and the 15 that may be made again would not give 10 that count'
    >>> spent(0, 9, plan, calm=True) is None
    True
    """
    least, most = plan.runs
    remaking = Remaking(most, plan.remake)
    spare = remaking.most - most
    said = f"the host disturbed {aside} of {counted + aside} runs"
    if counted + aside >= remaking.most:
        return f"{said}; {spare} were made again, and no more may be"
    if not calm and remaking.hopeless(counted, aside, least):
        return f"{said}, and the {spare} that may be made again would not give {least} that count"
    return None


@dataclass(frozen=True, slots=True)
class Parted:
    """Runs that count, and why the others do not. ``believed``: whether there is one that counts."""

    counted: Sequence[RunFigures]
    aside: dict[int, str]
    believed: bool


def parted(runs: Sequence[RunFigures], plan: MeasurePlan) -> Parted:
    """Part the runs of a study; where none counts, all are shown."""
    aside = {run.number: why for run in runs if (why := set_aside(run, plan)) is not None}
    counted = [run for run in runs if run.number not in aside]
    return Parted(counted or runs, aside, bool(counted))
