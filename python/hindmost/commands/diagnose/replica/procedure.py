"""A diagnosis with a replica: only suspects that slow the replica as much are then removed on the host."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path

from hindmost.commands.diagnose.demand import Work
from hindmost.commands.diagnose.experiment import Trial, measure_pairs
from hindmost.commands.diagnose.metrics import MetricRates
from hindmost.commands.diagnose.replica.doses import Doses, Scene, doses_of
from hindmost.commands.diagnose.replica.likeness import (
    HostState,
    measure_host,
    normal_rate_of,
    rate_of,
    source_of,
)
from hindmost.commands.diagnose.replica.loads import Load
from hindmost.commands.diagnose.replica.network import Network, create_network
from hindmost.commands.diagnose.replica.removal import confirm_on_host, mark_not_tried
from hindmost.commands.diagnose.replica.request import ReplicaRequest, ReplicaResult
from hindmost.commands.diagnose.request import DiagnosisRequest, DiagnosisResult
from hindmost.commands.diagnose.stages import STAGES
from hindmost.commands.diagnose.suspects import Suspects, find_suspects
from hindmost.commands.diagnose.windows import Windows
from hindmost.commands.watch.probe import start_probe
from hindmost.core.interventions.changes import Intervention, Sham
from hindmost.core.interventions.policy import TOUCHES, Policy
from hindmost.core.interventions.session import Session
from hindmost.core.knobs.kinds.cgroup import Cgroup, hierarchy
from hindmost.core.notes import Note
from hindmost.core.targets import ManagedServer
from hindmost.errors import UsageError
from hindmost.stats.causes import (
    Arm,
    Decision,
    Gates,
    Normal,
    Reproduction,
    Signature,
    no_suspect,
    reproduction_of,
    signature_of,
)

FREE = "max 100000"
REAL_TIME_US = "500000"
"""Real-time CPU time per second, µs."""


def through_replica(
    request: DiagnosisRequest,
    replica: ReplicaRequest,
    session: Session,
    windows: Windows,
    say: Callable[[str], None],
) -> DiagnosisResult:
    """Reproduce the anomaly on a replica, then remove its cause on the host if the policy allows it.

    Raises
    ------
    UsageError
        The normal latency is not known, or the replica cannot be probed.
    TargetError
        The replica does not start, or cannot serve its load.
    """
    pid = request.application.pid
    assert pid is not None
    if request.normal_us is None:
        raise UsageError(
            "missing-argument",
            "a replica needs the normal latency, which is not known",
            hint="--normal 150us, or --ring FILE",
            option="--normal",
        )
    everything = Policy(may=list(TOUCHES), hours=list(range(24)))
    suspects = find_suspects(pid, everything, first=request.first)
    sick = measure_host(request, pid, windows)
    say(f"the unchanged host: {sick.now_us:.0f} µs, normally {request.normal_us:.0f} µs")
    if sick.now_us < Gates().least_ratio * request.normal_us:
        times = sick.now_us / request.normal_us
        text = f"latency is {times:.2f} times normal: there is nothing to explain, and no replica was started"
        note = Note("no-slowdown", text, {"ratio": times, "limit": Gates().least_ratio})
        return DiagnosisResult(
            request, sick.now_us, mark_not_tried(suspects), Decision("inconclusive", None, (), None, note)
        )
    result = _on_replica(request, replica, session, suspects, sick, say)
    say(f"on the replica: {result.reproduction.outcome}: {result.reproduction.why}")
    return confirm_on_host(request, session, windows, result, say)


def _on_replica(
    request: DiagnosisRequest,
    replica: ReplicaRequest,
    session: Session,
    suspects: Suspects,
    sick: HostState,
    say: Callable[[str], None],
) -> ReplicaResult:
    with ExitStack() as stack:
        where = _network(stack, session, suspects)
        spec = replica.target.spec if where is None else where.inside(replica.target.spec)
        server = stack.enter_context(ManagedServer(spec))
        _create_group(stack, request, suspects, server)
        source = source_of(replica.target.protocol, server, request)
        probe = stack.enter_context(start_probe(source))
        metric_rates = None if request.normal_metrics is None else MetricRates(server.pid)
        windows = Windows(
            probe, request.quantile, request.window_s, request.settle_s, metric_rates=metric_rates
        )
        load = Load(source.document["probe"], replica.workload)
        rate = rate_of(replica, request, load, windows, server.pid, sick)
        normal_rate = normal_rate_of(request, rate, sick)
        grew = normal_rate < rate
        probed = float(source.document["probe"]["rate"])
        stack.enter_context(load.running((normal_rate if grew else rate) - probed))
        work = Work(server.pid)
        windows.measure()
        scene = Scene(server.pids(), work.processors(), sick.work, rate, normal_rate, load, where)
        doses = doses_of(suspects, scene)
        say(
            f"replica {replica.target.name} at {server.address}: {rate:.0f} requests/s,"
            f" {scene.work:.2f} CPUs (the application {sick.work:.2f});"
            f" doses: {', '.join(doses.interventions) or 'none'}"
        )
        result = ReplicaResult(
            replica.target.name,
            rate,
            scene.work,
            sick.work,
            sick.now_us,
            math.nan,
            Reproduction("inconclusive", None, (), (), None, no_suspect()),
            doses.interventions,
            {**suspects.left_out, **doses.left_out},
            doses.members,
        )
        if not doses.interventions:
            result.base_us = windows.measure()
            return result
        _run_doses(request, session, windows, doses, suspects, sick, result, say)
        return result


def _run_doses(
    request: DiagnosisRequest,
    session: Session,
    windows: Windows,
    doses: Doses,
    suspects: Suspects,
    sick: HostState,
    result: ReplicaResult,
    say: Callable[[str], None],
) -> None:
    """Run up to three stages of experiments with the doses and a sham."""
    every: dict[str, Intervention] = {"sham": Sham(), **doses.interventions}
    seed, gates = f"{request.seed} replica", Gates(looks=len(STAGES))
    assert request.normal_us is not None
    with ExitStack() as stack:
        for one in every.values():
            stack.enter_context(session.journal(one))
        live = {
            name: Trial(one, session, windows, seed, reproduces=name not in doses.shields)
            for name, one in every.items()
        }
        for multiple in STAGES:
            trials, live = live, measure_pairs(live, seed, multiple * request.pairs)
            result.left_out |= {
                name: trial.dropped for name, trial in trials.items() if trial.dropped is not None
            }
            effects = {name: trial.effect for name, trial in live.items() if name != "sham"}
            result.signatures = _signatures(live, request.normal_metrics, sick, suspects, doses)
            result.base_us = min(_middle(trial.gone) for trial in live.values())
            result.reproduction = reproduction_of(
                effects,
                {name: _middle(trial.there) for name, trial in live.items()},
                live["sham"].effect,
                (sick.now_us, request.normal_us),
                result.base_us,
                gates,
                result.signatures,
            )
            say(f"replica, {multiple * request.pairs} pairs: {result.reproduction.outcome}")
            if result.reproduction.outcome != "inconclusive" or not effects:
                break
        result.sham = Arm("sham", live["sham"].effect, math.nan, math.nan, math.nan, "open")
        result.measured = {name: trial.pairs for name, trial in live.items()}


def _signatures(
    live: Mapping[str, Trial], normal: Normal | None, sick: HostState, suspects: Suspects, doses: Doses
) -> dict[str, Signature]:
    """Return the signature of each dose except load, which sets all metrics."""
    if normal is None or not len(sick.metrics):
        return {}
    signatures = {}
    for name, trial in live.items():
        there, gone = trial.metric_rows(there=True), trial.metric_rows(there=False)
        loads = any(one in suspects.demand for one in doses.members.get(name, [name])) or name == "more load"
        if name != "sham" and not loads and len(there):
            direct = suspects.direct.get(name, frozenset())
            signatures[name] = signature_of(normal, sick.metrics, there, gone, direct)
    return signatures


def _middle(values: Mapping[int, float]) -> float:
    return math.exp(sum(map(math.log, values.values())) / len(values))


def _network(stack: ExitStack, session: Session, suspects: Suspects) -> Network | None:
    """Create a network for the replica if a shaper or receive processing is suspected."""
    if not any(name.startswith(("link ", "receive processing")) for name in suspects.tried):
        return None
    return stack.enter_context(create_network(session))


def _create_group(
    stack: ExitStack, request: DiagnosisRequest, suspects: Suspects, server: ManagedServer
) -> None:
    """Give the replica its own cgroup if a quota is suspected."""
    if any(name.startswith("quota of ") for name in suspects.tried):
        group = Cgroup("cpu.max", request.journal)
        stack.enter_context(group.on_server(FREE, server))
        real_time = (hierarchy("cpu").group_of(server.pid) or Path("/")) / "cpu.rt_runtime_us"
        if (
            real_time.is_file()
        ):  # version 1 gives a new group no real-time budget, so no shield from neighbours
            with contextlib.suppress(OSError):
                real_time.write_text(REAL_TIME_US)
