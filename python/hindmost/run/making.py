"""Makes one run: a fresh server, its companions, all load clients; a whole folder or none."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from hindmost.errors import HostLost, InstanceError
from hindmost.fleet import HERE, Fleet, Moment, Setting, jobs_of, run_instances
from hindmost.plan import MeasurePlan
from hindmost.run.clean_up import cleaned_up, is_cleaned_up
from hindmost.run.companions import Scene, accompanied
from hindmost.run.serving import Beside, nothing_beside, serving
from hindmost.store import Study, now_utc
from hindmost.targets import Attached, Managed

SPARE_S = 30.0
"""Patience beyond the load's own time, for the last replies and for writing files."""


def make_run(
    study: Study,
    number: int,
    plan: MeasurePlan,
    target: Attached | Managed,
    *,
    look: Callable[[Moment], None] = lambda _: None,
    beside: Beside = nothing_beside,
    fleet: Fleet = HERE,
    settings: Sequence[Setting] = (),
) -> None:
    """Make run `number` of a study.

    Parameters
    ----------
    study : Study
        An open, locked study.
    number : int
        None that is there already.
    plan : MeasurePlan
        What to do.
    target : Attached or Managed
        What `plan.target` means.
    look : callable, optional
        Told where the run stands, as by `hindmost.fleet.run_instances`.
    beside : callable, optional
        What is in force while a server that was started here runs.
    fleet : Fleet, optional
        Where the clients run; default: this machine.
    settings : sequence of Setting, optional
        What is in force on the fleet's host of the server while that runs, where it has one.

    Raises
    ------
    TargetError
        If the server cannot be started, reached, or dies.
    InstanceError
        If a load client fails. Where its host went, the run is void, and made again if that host comes
        back.
    StudyError
        If the run cannot be stored.
    """
    voided: list[str] = []
    while True:
        try:
            return _made(study, number, plan, target, look, beside, fleet, settings, voided)
        except HostLost as lost:
            if not fleet.mended(lost, len(voided)):
                raise
            voided.append(lost.message)


def _made(
    study: Study,
    number: int,
    plan: MeasurePlan,
    target: Attached | Managed,
    look: Callable[[Moment], None],
    beside: Beside,
    fleet: Fleet,
    settings: Sequence[Setting],
    voided: list[str],
) -> None:
    """Make it; `voided` says why it was void so far."""
    begun = time.monotonic()
    measure_s = plan.calibration_s + plan.duration_s
    with study.new_run(number) as (folder, record):
        record |= {"seed": plan.run_seed(number), "started": now_utc()}
        with serving(target, plan, folder, beside, fleet, settings) as server:
            plans = [
                plan.engine_plan(number, index, target.protocol, server.address, tls=server.tls, secrets=True)
                for index in range(plan.clients)
            ]
            jobs = jobs_of(plans, plan.client_cpus, fleet.hosts)
            scene = Scene(plan, folder, server.address, server.pid, measure_s, target.protocol)
            clean_up: AbstractContextManager[dict[str, Any]] = (
                cleaned_up(plans[0]) if is_cleaned_up(plan, target) else nullcontext({})
            )
            with clean_up as cleaned, accompanied(scene) as companions:

                def moment(now: Moment) -> None:
                    if now.phase == "collect":
                        companions.over()
                    look(now)

                try:
                    patience = (measure_s, plan.timeout_s + SPARE_S)
                    run_instances(fleet, jobs, folder, patience, moment, companions.measuring, record)
                except HostLost:
                    raise
                except InstanceError as error:
                    raise server.explained(error, number) from None
                record |= companions.record()
            record |= cleaned
        record |= {
            "seconds": time.monotonic() - begun,
            "instances": plan.clients,
            "target": server.document,
        }
        if voided:
            record["voided"] = voided
