"""Exclusion of runs with interference.

Clocks and counters alone decide (`hindmost.core.run.status`), never the latency of the run. An excluded run
stays in the study's folder, is counted and shown, and is repeated as far as the budget allows. If no run is
left, all are shown, and the verdict says that none can be trusted.

Isolated latency uses every run that it does not refuse itself, including excluded runs. Simulation: 16
studies of 12 runs, M/M/1 at half load, some runs with interference in 5 % of the time in spells of 3 ms. The
table shows how many studies have an interval of the median p99 (if six runs are left for one) that covers the
truth, and its half-width:

=================  ================  =================  ===================  =================
runs disturbed     latency, all      latency, not       isolated, not        isolated, all
                                     disturbed          disturbed
=================  ================  =================  ===================  =================
30 %               16 of 16, 1280 %  14 of 15, 3.2 %    14 of 15, 3.2 %      16 of 16, 2.6 %
60 %               10 of 16, 111 %   6 of 8, 3.9 %      6 of 8, 3.9 %        16 of 16, 2.4 %
90 %               1 of 16, 36 %     none has six       none has six         16 of 16, 2.3 %
=================  ================  =================  ===================  =================
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hindmost.core.notes import Note
from hindmost.core.plan import MeasurePlan
from hindmost.core.run.figures import RunFigures
from hindmost.core.run.status import RepeatBudget, status


def exclusion(run: RunFigures, plan: MeasurePlan) -> Note | None:
    """Return why a run is excluded; None if it counts."""
    result = status(run, plan)
    return result.note if result.kind == "host" else None


def exhausted_budget(
    counted: int, excluded: int, plan: MeasurePlan, *, isolated: bool = False
) -> Note | None:
    """Return why no further run is made although more are requested; None if one may be made.

    With `isolated`, isolated latency uses the excluded runs, so they still contribute.

    Examples
    --------
    >>> plan = MeasurePlan(target="memcached", runs=(10, 30))
    >>> exhausted_budget(20, 10, plan) is None
    True
    >>> exhausted_budget(0, 9, plan).values
    {'excluded': 9, 'made': 9, 'limit': 15, 'need': 10}
    >>> exhausted_budget(0, 9, plan, isolated=True) is None
    True
    """
    least, most = plan.runs
    budget = RepeatBudget(most, plan.remake)
    spare = budget.most - most
    text = f"{excluded} of {counted + excluded} runs were excluded because of interference"
    values = {"excluded": excluded, "made": counted + excluded, "limit": spare, "need": least}
    if counted + excluded >= budget.most:
        return Note("repeats-spent", f"{text}; {spare} runs were repeated, which is the limit", values)
    if not isolated and budget.cannot_suffice(counted, excluded, least):
        text += f"; repeating {spare} runs, which is the limit, would not give {least} that count"
        return Note("repeats-spent", text, values)
    return None


@dataclass(frozen=True, slots=True)
class Partition:
    """The runs that count, and why the others do not. ``any_counts``: whether any run counts."""

    counted: Sequence[RunFigures]
    excluded: dict[int, Note]
    any_counts: bool


def partition_runs(runs: Sequence[RunFigures], plan: MeasurePlan) -> Partition:
    """Divide the runs of a study; if no run counts, use all."""
    excluded = {run.number: why for run in runs if (why := exclusion(run, plan)) is not None}
    counted = [run for run in runs if run.number not in excluded]
    return Partition(counted or runs, excluded, bool(counted))
