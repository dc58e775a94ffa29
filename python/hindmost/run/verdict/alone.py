"""The reasons that one run has by itself."""

from __future__ import annotations

from hindmost.plan import MeasurePlan
from hindmost.run.figures import RunFigures
from hindmost.run.verdict import judge
from hindmost.run.verdict.reason import Evidence, Reason
from hindmost.stats import Decision, Ownership

NOBODY = Ownership((), (), None, None, 1.0, "")
"""Of one run, nobody asks which client contributes the slowest requests."""


def reasons_of_run(plan: MeasurePlan, run: RunFigures) -> list[Reason]:
    """The reasons of a run, gravest first. Whether the server was restarted does not matter for one run."""
    enough = Decision(True, True, "", None, 1, plan.labels[0], 0.0)
    return judge(Evidence(plan, {**run.record["target"], "managed": True}, [run], enough, NOBODY, []))
