"""The procedure (Treadmill III-B): restart the server, run all instances, repeat until certain enough."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from hindmost.errors import InstanceError, TargetError
from hindmost.fleet import LocalFleet, Moment
from hindmost.plan import MeasurePlan
from hindmost.run.capacity import fell_short
from hindmost.run.companions.capture import witnessed
from hindmost.run.companions.server import ServerWatch
from hindmost.run.figures import RunFigures, Totals, run_figures
from hindmost.run.limits import SHORT_RUNS
from hindmost.stats import Decision
from hindmost.store import Study, now_utc
from hindmost.studies.measure.answer import rule_of
from hindmost.targets import Attached, Managed, ManagedServer, cpu_affinity, first_answering, local_owner

SPARE_S = 30.0
"""Patience beyond the load's own time, for the last replies and for writing files."""


class Rule(Protocol):
    """Decides after each run whether to make another; `PrecisionRule` and `ObjectiveRule` are such."""

    def decide(self, values: Mapping[str, Sequence[float]]) -> Decision:
        """Look at the values of all runs made so far, by quantile."""


class Watcher(Protocol):
    """Whoever wants to see how far it is."""

    def run_begins(self, number: int, least: int, most: int) -> None:
        """Run `number` begins."""

    def moment(self, moment: Moment) -> None:
        """Where the run stands."""

    def run_ended(self, figures: RunFigures, decision: Decision) -> None:
        """A run is stored; what was decided after it."""


@dataclass(frozen=True, slots=True)
class _Server:
    """The server of one run: where it listens and whom to watch."""

    address: str
    pid: int | None
    document: dict[str, Any]
    managed: ManagedServer | None


class Procedure:
    """Measures a target into a study.

    Parameters
    ----------
    study : Study
        An open, locked study.
    plan : MeasurePlan
        What to do.
    target : Attached or Managed
        What `plan.target` means.
    watcher : Watcher
        Told how far it is.
    rule : Rule, optional
        Decides when the runs are enough; default: the plan's precision.
    saw : callable, optional
        Told of the figures of every run, those made earlier included, before the rule is asked.
    beside : callable, optional
        What is in force while a server that was started here runs, from before the load until after it.
    """

    def __init__(
        self,
        study: Study,
        plan: MeasurePlan,
        target: Attached | Managed,
        watcher: Watcher,
        rule: Rule | None = None,
        saw: Callable[[RunFigures], None] = lambda _: None,
        beside: Callable[[ManagedServer], AbstractContextManager[None]] = lambda _: nullcontext(),
    ) -> None:
        self.rule = rule or rule_of(plan)
        self.saw = saw
        self.beside = beside
        self.study = study
        self.plan = plan
        self.target = target
        self.watcher = watcher
        self.fleet = LocalFleet(plan.client_cpus)

    def run(self) -> Decision:
        """Make runs until the plan's rule says that it is enough; finished ones are never made again.

        Raises
        ------
        TargetError
            If the server cannot be started, reached, or dies.
        InstanceError
            If a load instance fails.
        StudyError
            If a run cannot be stored.
        """
        values: dict[str, list[float]] = {name: [] for name in (*self.plan.labels, "mean")}

        short: list[bool] = []

        def look(figures: RunFigures) -> Decision:
            self.saw(figures)
            for name, column in values.items():
                column.append(figures.values["latency"][name])
            short.append(fell_short(self.plan, [figures]))
            decision = self.rule.decide(values)
            if not decision.stop and len(short) >= SHORT_RUNS and all(short):
                reason = f"{len(short)} runs fell short of the asked rate: more would not help"
                return replace(decision, stop=True, reason=reason, next_look=None)
            return decision

        decision = self.rule.decide(values)
        for finished in self.study.runs():
            decision = look(run_figures(finished, self.plan, Totals()))
        number = max((run.number for run in self.study.runs()), default=0)  # one may have been moved away
        while not decision.stop:
            number += 1
            self.watcher.run_begins(number, *self.plan.runs)
            self.one(number)
            figures = run_figures(self.study.runs()[-1], self.plan, Totals())
            decision = look(figures)
            self.watcher.run_ended(figures, decision)
        return decision

    def one(self, number: int) -> None:
        """Make run `number`, whatever the rule says; raises what `run` raises."""
        begun = time.monotonic()
        measure_s = self.plan.calibration_s + self.plan.duration_s
        with self.study.new_run(number) as (place, record):
            record |= {"seed": self.plan.run_seed(number), "started": now_utc()}
            with self._server(place) as server:
                plans = [
                    self.plan.engine_plan(number, index, self.target.protocol, server.address)
                    for index in range(self.plan.clients)
                ]
                watch = ServerWatch(server.pid, server.address, self.plan.server_cpus, measure_s)

                patience = self.plan.timeout_s + SPARE_S
                with witnessed(self.plan, place, server.address, measure_s) as witness:

                    def look(moment: Moment) -> None:
                        watch.look(moment)
                        if moment.phase == "collect":
                            witness.over()
                        self.watcher.moment(moment)

                    try:
                        self.fleet.run(plans, place, (measure_s, patience), look, witness.measuring)
                    except InstanceError as error:
                        raise _explained(error, server, number) from None
                    record |= witness.record(self.plan.clients)
            record |= {
                "seconds": time.monotonic() - begun,
                "instances": self.plan.clients,
                "target": server.document,
            } | watch.record()

    @contextmanager
    def _server(self, place: Path) -> Iterator[_Server]:
        if isinstance(self.target, Attached):
            yield self._attached(self.target)
            return
        starting = ManagedServer(self.target.spec, cpus=self.plan.server_cpus, log=place / "server.log")
        with starting as server, self.beside(server):
            document = {
                "name": self.target.name,
                "protocol": self.target.protocol,
                "address": server.address,
                "managed": True,
                "command": list(server.command),
                "cpus": list(self.plan.server_cpus),
                "server_version": server.server_version,
            }
            yield _Server(server.address, server.pid, document, server)

    def _attached(self, target: Attached) -> _Server:
        address, version = first_answering(target.addresses, target.protocol, path=target.path)
        pid = local_owner(address)
        document = {
            "name": target.name,
            "protocol": target.protocol,
            "address": address,
            "managed": False,
            "command": None,
            "cpus": list(cpu_affinity(pid)) if pid is not None else None,
            "server_version": version,
        }
        return _Server(address, pid, document, None)


def _explained(error: InstanceError, server: _Server, number: int) -> Exception:
    """An instance's failure, with what is known of the server."""
    managed = server.managed
    if managed is None or error.code not in ("server_gone", "connect", "full", "closing", "preload"):
        return InstanceError(f"run {number}: {error.message}", hint=error.hint)
    report = None
    for _ in range(20):  # its death may reach us a moment after its connections' end
        report = managed.exit_report()
        if report is not None:
            break
        time.sleep(0.05)
    if report is None:
        return InstanceError(f"run {number}: {error.message}", hint=error.hint)
    log = f"\nits last words:\n  {report.log.strip()[-1000:]}" if report.log.strip() else ""
    return TargetError(
        f"run {number}: {server.document['name']} {report.describe()} in mid-run ({error.message}){log}",
        hint="start it by hand to see why; finished runs are kept",
    )
