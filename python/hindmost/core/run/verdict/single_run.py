"""The reasons of a single run."""

from __future__ import annotations

from msgspec.structs import replace

from hindmost.core.plan import MeasurePlan
from hindmost.core.run.figures import RunFigures
from hindmost.core.run.verdict import judge
from hindmost.core.run.verdict.reason import Evidence, Reason
from hindmost.stats import Decision, Ownership

NO_OWNERSHIP = Ownership((), (), None, None, 1.0, "")
"""The share of each client in the slowest requests is not evaluated for a single run."""


def reasons_of_run(plan: MeasurePlan, run: RunFigures) -> list[Reason]:
    """Return the reasons of a run, gravest first. A single run does not show whether the server restarted."""
    enough = Decision(True, True, "", None, 1, plan.labels[0], 0.0)
    return judge(Evidence(plan, replace(run.record.target, managed=True), [run], enough, NO_OWNERSHIP, []))
