"""What an explanation is asked for, and its study, new or to go on with."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from hindmost.errors import UsageError
from hindmost.explain.document import Candidate
from hindmost.plan import MeasurePlan, parse_duration
from hindmost.run.readings import plan_of
from hindmost.run.request import MeasureRequest
from hindmost.store import Study
from hindmost.studies.begin import begin, go_on
from hindmost.studies.comparison.rounds import check_figure
from hindmost.studies.kind import refuse_another
from hindmost.trace import find_server

KIND = "explain"
LEAST_BUDGET_S = 5.0
RUNS, FEWEST = 100, 40
"""A budget has room for so many measurements of usual length, and for no fewer; half of it goes between."""
LEAST_RUN_S, MOST_RUN_S, REQUESTS = 1.0, 10.0, 2_000
"""Of one run; so many requests have twenty beyond their p99."""
WITHOUT = ("runs", "precision", "decide_on", "verify_wire", "trace", "quick", "remake", "samples")
"""Fields of a measurement that an explanation decides by itself."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a study's manifest says next to its plan.

    Attributes
    ----------
    by : str
        The figure that is to be low.
    untraced : mapping or None
        Why requests are not traced: a note.
    candidates : sequence of Candidate or None
        None until they are drawn up; then fixed.
    left_out : sequence of mapping
        Notes: candidates that cannot be tried, and why.
    combined : sequence of int
        Places of the candidates, from 1 on, that are tried together.
    chosen : sequence of int or None
        Places of those that are confirmed.
    applied : sequence of str
        What ``--apply`` set.
    """

    by: str
    budget_s: float
    untraced: Mapping[str, Any] | None = None
    candidates: Sequence[Candidate] | None = None
    left_out: Sequence[Mapping[str, Any]] = ()
    combined: Sequence[int] = ()
    chosen: Sequence[int] | None = None
    applied: Sequence[str] = ()

    @classmethod
    def of(cls, study: Study) -> Asked:
        """Read it from a study."""
        return msgspec.convert(study.manifest[KIND], cls)

    def changed(self, study: Study, **what: Any) -> Asked:  # noqa: ANN401 (values of its fields)
        """With some fields decided, which the study keeps."""
        asked = replace(self, **what)
        study.manifest[KIND] = msgspec.to_builtins(asked)
        study.write("manifest.json", json.dumps(study.manifest, indent=1))
        return asked


def opened(asked: MeasureRequest, budget: str, by: str, out: Path | None) -> Study:
    """A new study.

    Raises
    ------
    UsageError
        If something of it cannot be meant.
    TargetError
        If a running server is not there.
    """
    budget_s = parse_duration(budget, "budget", LEAST_BUDGET_S)
    if asked.target is not None and asked.target.isdecimal():
        asked = replace(asked, target=address_of(int(asked.target)))
    plan = replace(asked, remake="0", runs="1").plan()
    check_figure(by, plan)
    given = asked.fixed_options()
    if "--duration" not in given:
        enough = REQUESTS / plan.rate_per_s if plan.rate_per_s else LEAST_RUN_S
        run_s = max(LEAST_RUN_S, min(MOST_RUN_S, budget_s / FEWEST, max(budget_s / RUNS, enough)))
        plan = plan.model_copy(update={"duration_s": round(run_s, 1)})
    if "--warmup" not in given:
        plan = plan.model_copy(update={"warmup": 0.5})
    return begin(plan, out, KIND, **{KIND: msgspec.to_builtins(Asked(by, budget_s))})


def address_of(pid: int) -> str:
    """The URL of a process that serves.

    Raises
    ------
    TargetError
        There is no such process, or it does not listen.
    UsageError
        It has several ports, or what it speaks is not known.
    """
    server = find_server(str(pid))
    if server.protocol not in ("memcached", "redis", "http"):
        raise UsageError(
            "needs-running-server",
            f"what {server.name} (process {pid}) speaks is not known",
            hint=f"hindmost explain PROTOCOL://127.0.0.1:{server.port}",
            target=str(pid),
        )
    return f"{server.protocol}://127.0.0.1:{server.port}"


def reopened(folder: Path, budget: str | None) -> Study:
    """A study to go on with as it was begun; only its budget may grow."""
    study = Study.open(folder)
    refuse_another(study, KIND)
    asked = Asked.of(study)
    budget_s = asked.budget_s if budget is None else parse_duration(budget, "budget", LEAST_BUDGET_S)
    return go_on(study, plan_of(study), **{KIND: msgspec.to_builtins(replace(asked, budget_s=budget_s))})


def plan_without(plan: MeasurePlan, changes: Sequence[Candidate]) -> MeasurePlan:
    """The plan of a run with these changes in how the client sends."""
    ours = {str(one.what["client"]): one.level for one in changes if "client" in one.what}
    return plan.model_copy(update=ours) if ours else plan
