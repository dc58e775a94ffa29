"""The request for an explanation, and the state of its study."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from hindmost.commands.compare.rounds import check_figure
from hindmost.commands.explain.document import Candidate
from hindmost.core.plan import MeasurePlan, parse_duration
from hindmost.core.run.readings import plan_of
from hindmost.core.run.request import MeasureRequest
from hindmost.core.store import Study
from hindmost.core.store.types import Note
from hindmost.core.study.begin import begin, continue_study
from hindmost.core.study.kind import refuse_another
from hindmost.core.tracing import find_server
from hindmost.errors import UsageError

KIND = "explain"
LEAST_BUDGET_S = 5.0
RUNS, FEWEST = 100, 40
"""Runs of usual length, and smallest number of runs, that fit into a budget. Half of it is spent between
runs."""
LEAST_RUN_S, MOST_RUN_S, REQUESTS = 1.0, 10.0, 2_000
"""Bounds of a run's duration, s, and requests in a run: 2,000 requests have twenty beyond their p99."""
WITHOUT = ("runs", "precision", "decide_on", "verify_wire", "trace", "quick", "remake", "samples", "live")
"""Options of a measurement that an explanation decides itself."""


@dataclass(frozen=True, slots=True)
class State:
    """The part of a study's manifest that belongs to the explanation.

    Attributes
    ----------
    by : str
        The figure to lower.
    untraced : Note or None
        Note on why requests are not traced.
    candidates : sequence of Candidate or None
        None until the candidates are listed; fixed from then on.
    left_out : sequence of Note
        Notes on candidates that cannot be tried.
    combined : sequence of int
        Indices (from 1) of the candidates that are tried together.
    chosen : sequence of int or None
        Indices of the candidates to confirm.
    hopeless : sequence of sequence of int
        Candidates that were chosen before and did not help in fresh pairs.
    applied : sequence of str
        Settings that ``--apply`` set.
    """

    by: str
    budget_s: float
    untraced: Note | None = None
    candidates: Sequence[Candidate] | None = None
    left_out: Sequence[Note] = ()
    combined: Sequence[int] = ()
    chosen: Sequence[int] | None = None
    hopeless: Sequence[Sequence[int]] = ()
    applied: Sequence[str] = ()

    @property
    def confirmation(self) -> str:
        """The stage, and its folder, in which the chosen candidates are confirmed."""
        return "confirm" if not self.hopeless else f"confirm-{len(self.hopeless) + 1}"

    @property
    def confirmations(self) -> list[str]:
        """The stages of all confirmations so far, the last one first."""
        earlier = ["confirm", *(f"confirm-{n}" for n in range(2, len(self.hopeless) + 2))]
        return earlier[::-1]

    @classmethod
    def load(cls, study: Study) -> State:
        """Read the state from a study."""
        return study.part(KIND, cls)

    def update(self, study: Study, **what: Any) -> State:  # noqa: ANN401 (values of its fields)
        """Return the state with some fields replaced, and save it in the study."""
        state = replace(self, **what)
        study.update(**{KIND: state})
        return state


def create_study(request: MeasureRequest, budget: str, by: str, out: Path | None) -> Study:
    """Create a study.

    Raises
    ------
    UsageError
        An option is not valid.
    TargetError
        A running server does not answer.
    """
    budget_s = parse_duration(budget, "budget", LEAST_BUDGET_S)
    if request.target is not None and request.target.isdecimal():
        request = replace(request, target=address_of(int(request.target)))
    plan = replace(request, remake="0", runs="1").plan()
    check_figure(by, plan)
    given = request.fixed_options()
    if "--duration" not in given:
        enough = REQUESTS / plan.rate_per_s if plan.rate_per_s else LEAST_RUN_S
        run_s = max(LEAST_RUN_S, min(MOST_RUN_S, budget_s / FEWEST, max(budget_s / RUNS, enough)))
        plan = plan.model_copy(update={"duration_s": round(run_s, 1)})
    if "--warmup" not in given:
        plan = plan.model_copy(update={"warmup": 0.5})
    return begin(plan, out, KIND, **{KIND: msgspec.to_builtins(State(by, budget_s))})


def address_of(pid: int) -> str:
    """Return the URL of a process that serves.

    Raises
    ------
    TargetError
        There is no such process, or it does not listen.
    UsageError
        It listens on several ports, or its protocol is unknown.
    """
    server = find_server(str(pid))
    if server.protocol not in ("memcached", "redis", "http"):
        raise UsageError(
            "needs-running-server",
            f"the protocol of {server.name} (process {pid}) is not known",
            hint=f"hindmost explain PROTOCOL://127.0.0.1:{server.port}",
            target=str(pid),
        )
    return f"{server.protocol}://127.0.0.1:{server.port}"


def resume_study(folder: Path, budget: str | None) -> Study:
    """Open a study to resume it unchanged, except that its budget may grow."""
    study = Study.open(folder)
    refuse_another(study, KIND)
    state = State.load(study)
    budget_s = state.budget_s if budget is None else parse_duration(budget, "budget", LEAST_BUDGET_S)
    return continue_study(
        study, plan_of(study), **{KIND: msgspec.to_builtins(replace(state, budget_s=budget_s))}
    )


def plan_without(plan: MeasurePlan, changes: Sequence[Candidate]) -> MeasurePlan:
    """Return the plan of a run with these changes to the client's sending applied."""
    ours = {str(one.what["client"]): one.level for one in changes if "client" in one.what}
    return plan.model_copy(update=ours) if ours else plan
