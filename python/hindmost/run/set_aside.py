"""Runs of a measurement that are excluded because of interference.

Clocks and counters alone decide (`hindmost.run.soundness`), never the latency of the run. An excluded run
stays in the study's folder, is counted and shown, and is repeated as far as the budget allows. Where no run
is left, all are shown, and the verdict says that none can be trusted.

Isolated latency uses every run that it does not refuse itself, excluded runs, too. Simulated: 16 studies
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

from hindmost.notes import Note
from hindmost.plan import MeasurePlan
from hindmost.run.figures import RunFigures
from hindmost.run.soundness import Remaking, soundness


def set_aside(run: RunFigures, plan: MeasurePlan) -> Note | None:
    """Why a run is excluded; None if it counts."""
    found = soundness(run, plan)
    return found.note if found.kind == "host" else None


def spent(counted: int, aside: int, plan: MeasurePlan, *, calm: bool = False) -> Note | None:
    """Why no further run is made, although more are requested; None while one may be made.

    With `calm`, isolated latency uses the excluded runs, so that they are not in vain.

    Examples
    --------
    >>> plan = MeasurePlan(target="memcached", runs=(10, 30))
    >>> spent(20, 10, plan) is None
    True
    >>> spent(0, 9, plan).values
    {'excluded': 9, 'made': 9, 'limit': 15, 'need': 10}
    >>> spent(0, 9, plan, calm=True) is None
    True
    """
    least, most = plan.runs
    remaking = Remaking(most, plan.remake)
    spare = remaking.most - most
    said = f"{aside} of {counted + aside} runs were excluded because of interference"
    values = {"excluded": aside, "made": counted + aside, "limit": spare, "need": least}
    if counted + aside >= remaking.most:
        return Note("repeats-spent", f"{said}; {spare} runs were repeated, no more may be", values)
    if not calm and remaking.hopeless(counted, aside, least):
        text = f"{said}; repeating {spare} runs, as many as may be, would not give {least} that count"
        return Note("repeats-spent", text, values)
    return None


@dataclass(frozen=True, slots=True)
class Parted:
    """Runs that count, and why the others do not. ``believed``: whether any run counts."""

    counted: Sequence[RunFigures]
    aside: dict[int, Note]
    believed: bool


def parted(runs: Sequence[RunFigures], plan: MeasurePlan) -> Parted:
    """Divide the runs of a study; where none counts, all are shown."""
    aside = {run.number: why for run in runs if (why := set_aside(run, plan)) is not None}
    counted = [run for run in runs if run.number not in aside]
    return Parted(counted or runs, aside, bool(counted))
