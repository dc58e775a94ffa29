"""What one run by itself gives reason to doubt; nothing that only several can tell."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hindmost.plan import MeasurePlan
from hindmost.run.figures import RunFigures
from hindmost.run.verdict import judge
from hindmost.run.verdict.reason import Evidence, Reason
from hindmost.stats import Decision, Ownership

NOBODY = Ownership((), (), None, None, 1.0, "")
"""Of one run, who owns the slowest requests is not asked."""


def reasons_of_run(plan: MeasurePlan, run: RunFigures, target: Mapping[str, Any]) -> list[Reason]:
    """The reasons of a run, gravest first; that a server was not restarted is no matter of one run."""
    enough = Decision(True, True, "", None, 1, plan.labels[0], 0.0)
    return judge(Evidence(plan, {**target, "managed": True}, [run], enough, NOBODY, []))
