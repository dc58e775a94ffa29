"""Makes one run with a fresh server, its companions and all clients. Its folder is whole or absent."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from hindmost.core.fleet import HERE, Fleet, LiveView, Moment, Setting, jobs_of, run_clients
from hindmost.core.plan import MeasurePlan
from hindmost.core.run.clean_up import is_cleaned_up, remove_keys
from hindmost.core.run.companions import Scene, accompany
from hindmost.core.run.serving import ServerContext, no_context, serving
from hindmost.core.store import Study, now_utc
from hindmost.core.targets import Attached, Managed
from hindmost.errors import ClientError, HostLost

SPARE_S = 30.0
"""Extra time, in s, beyond the load's own, for the last replies and for writing files."""


def make_run(
    study: Study,
    number: int,
    plan: MeasurePlan,
    target: Attached | Managed,
    *,
    look: Callable[[Moment], None] = lambda _: None,
    context: ServerContext = no_context,
    fleet: Fleet = HERE,
    settings: Sequence[Setting] = (),
) -> None:
    """Make run `number` of a study.

    Parameters
    ----------
    study : Study
        An open, locked study.
    number : int
        A number without a run.
    plan : MeasurePlan
        The plan of the study.
    target : Attached or Managed
        The resolved `plan.target`.
    look : callable, optional
        Called with the progress of the run, as by `hindmost.core.fleet.run_clients`.
    context : callable, optional
        A context in force while a server started here runs.
    fleet : Fleet, optional
        Where the clients run; default: this machine.
    settings : sequence of Setting, optional
        Settings in force on the fleet's server host while the server runs, if the fleet has such a host.

    Raises
    ------
    TargetError
        If the server cannot be started, reached, or dies.
    InstanceError
        If a client fails. If its host was lost, the run is void, and repeated once the host is back.
    StudyError
        If the run cannot be stored.
    """
    voided: list[str] = []
    while True:
        try:
            return _make_once(study, number, plan, target, look, context, fleet, settings, voided)
        except HostLost as lost:
            if not fleet.recover_host(lost, len(voided)):
                raise
            voided.append(lost.message)


def _make_once(
    study: Study,
    number: int,
    plan: MeasurePlan,
    target: Attached | Managed,
    look: Callable[[Moment], None],
    context: ServerContext,
    fleet: Fleet,
    settings: Sequence[Setting],
    voided: list[str],
) -> None:
    """Make the run; `voided` lists why earlier attempts were void."""
    began = time.monotonic()
    measure_s = plan.calibration_s + plan.duration_s
    with study.new_run(number) as (folder, record):
        record |= {"seed": plan.run_seed(number), "started": now_utc()}
        with serving(target, plan, folder, context, fleet, settings) as server:
            plans = [
                plan.engine_plan(number, index, target.protocol, server.address, tls=server.tls, secrets=True)
                for index in range(plan.clients)
            ]
            live = LiveView(plan.clients * plan.threads) if plan.live else None
            counters = None if live is None else live.fileno()
            jobs = jobs_of(plans, plan.client_cpus, fleet.hosts, counters)
            scene = Scene(plan, folder, server.address, server.pid, measure_s, target.protocol)
            clean_up: AbstractContextManager[dict[str, Any]] = (
                remove_keys(plans[0]) if is_cleaned_up(plan, target) else nullcontext({})
            )
            with clean_up as cleaned, accompany(scene) as companions:

                def handle_moment(now: Moment) -> None:
                    if now.phase == "collect":
                        companions.after_measurement()
                    look(now)

                try:
                    patience = (measure_s, plan.timeout_s + SPARE_S)
                    before = companions.before_measurement
                    run_clients(fleet, jobs, folder, patience, handle_moment, before, record, live)
                except HostLost:
                    raise
                except ClientError as error:
                    raise server.explain_failure(error, number) from None
                record |= companions.record()
            record |= cleaned
        record |= {
            "seconds": time.monotonic() - began,
            "clients": plan.clients,
            "target": server.document,
        }
        if voided:
            record["voided"] = voided
