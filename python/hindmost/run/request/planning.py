"""The plan of a measurement: everything that was asked for, checked before anything starts."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

from hindmost.errors import UsageError
from hindmost.fleet import allot
from hindmost.laws import LEAST_MEASURED_S, Replay, parse_law, replay_of
from hindmost.plan import MeasurePlan, parse_duration, parse_quantiles, parse_rate
from hindmost.plan.batching import parse_batching
from hindmost.plan.protocols import ENTRIES
from hindmost.plan.schedules import parse_schedule
from hindmost.plan.secrets import conceal
from hindmost.plan.workload import written_workload
from hindmost.run.request import OPTIONS, MeasureRequest, quick
from hindmost.run.request.connecting import check_capture, endpoints_of, login_of, sources_of, tls_of
from hindmost.run.request.elsewhere import places_of, refuse_unreachable
from hindmost.run.request.workload import workload_of
from hindmost.targets import cpu_affinity, local_owner, parse_target
from hindmost.targets.cpus import parse_cpus

if TYPE_CHECKING:
    from hindmost.fleet.dask.hosts import Hosts
    from hindmost.plan.schedules import Points
    from hindmost.targets import Attached, Managed

DEFAULT_RATE_PER_S = 10_000.0
WEB_RATE_PER_S = 100.0
"""Of a web server that somebody else runs, who may not expect a load."""


def plan_of(asked: MeasureRequest) -> MeasurePlan:
    """Everything that was asked for, checked before anything starts, for the processors of this host.

    Raises
    ------
    UsageError
        If something of it cannot be meant, or the engine refuses it.
    """
    for one in OPTIONS.values():
        one.check(getattr(asked, one.name))
    if asked.quick:
        return quick.asked(asked).plan().model_copy(update=quick.PLAN)
    stopping = asked.stopping()
    if asked.target is None:
        raise UsageError(
            "missing-argument",
            "no target is given",
            hint="hindmost measure memcached, or hindmost measure --help",
            argument="TARGET",
        )
    target = parse_target(asked.target)
    workload, notes = workload_of(asked, target)
    workload = conceal(workload)
    hosts = _hosts(asked, target)
    places = (
        allot(
            sorted(os.sched_getaffinity(0)),
            clients=asked.clients,
            server=_processors_of(asked, target),
            client_cpus=_cpus(asked, "client_cpus"),
            threads=asked.threads,
        )
        if hosts is None
        else places_of(
            hosts,
            clients=asked.clients,
            threads=asked.threads,
            server=tuple(_cpus(asked, "server_cpus") or ()),
        )
    )
    arrivals = parse_law(asked.arrivals)
    if isinstance(arrivals, dict) and "file" in arrivals:
        arrivals["file"] = str(Path(arrivals["file"]).absolute())
    duration_s = parse_duration(asked.duration, "duration", LEAST_MEASURED_S)
    schedule, own_rate = _schedule(asked, duration_s)
    replay = None if asked.closed else replay_of(arrivals)
    web = not target.managed and ENTRIES[target.protocol].mix.paths
    usual = replay.rate_per_s if replay is not None else WEB_RATE_PER_S if web else DEFAULT_RATE_PER_S
    rate = None if asked.closed else own_rate or usual
    plan = MeasurePlan(
        # A URL's password is in no plan: its login has a reference.
        target=asked.target if target.managed else target.name,
        loop="closed" if asked.closed else "open",
        rate_per_s=rate if asked.rate is None else parse_rate(asked.rate),
        arrivals=arrivals,
        schedule=schedule,
        clients=len(places.clients),
        threads=asked.threads,
        connections=max(asked.connections, len(places.clients) * asked.threads),
        client_cpus=places.clients,
        server_cpus=places.server if target.managed else (),
        pacing=places.pacing if asked.pacing == "auto" else asked.pacing,
        io=asked.io,
        in_flight=asked.in_flight,
        requests_per_connection=asked.requests_per_connection,
        batching=parse_batching(asked.batching),
        duration_s=duration_s,
        warmup="auto" if asked.warmup == "auto" else parse_duration(asked.warmup, "warm-up"),
        timeout_s=parse_duration(asked.timeout, "timeout", 0.001),
        quantiles=parse_quantiles(asked.quantiles),
        decide_on=asked.decide_on,
        seed=asked.seed,
        samples=asked.samples,
        stamp_every=_stamp_every(asked.stamps),
        sentinel=asked.sentinel,
        verify_wire=asked.verify_wire,
        trace=asked.trace,
        workload=workload,
        notes=tuple(dict(one.document()) for one in notes),
        tls=tls_of(asked, target),
        login=login_of(asked, target),
        source=sources_of(asked.source, target),
        fleet=None if hosts is None else hosts.model_dump(mode="json", exclude_defaults=True),
        endpoints=endpoints_of(asked.sharding, target),
        sharding=asked.sharding,
        **stopping,
    )
    if replay is not None and plan.rate_per_s is not None:
        replay.refuse_shorter_than(plan.longest_run_s, plan.rate_per_s)
        plan = _ending_with(replay, plan)
    check_capture(plan, target)
    if plan.pacing == "spin" and places.shared:
        cpus = len(set(sum(places.clients, ())))
        raise UsageError(
            "few-processors",
            f"{plan.clients} clients cannot all spin on {cpus} CPU{'' if cpus == 1 else 's'}",
            hint="--pacing auto, or fewer --clients",
            option="--pacing",
            value="spin",
            need=plan.clients,
            have=cpus,
        )
    # The engine's own checks; what it returns has the workload's defaults filled in.
    written = None if asked.workload is None else written_workload(asked.workload)
    checked = json.loads(plan.engine_plan(1, 0, target.protocol, "127.0.0.1:1", written))
    return plan.model_copy(update={"workload": checked["workload"], "arrivals": checked["load"]["arrivals"]})


def _schedule(asked: MeasureRequest, duration_s: float) -> tuple[Points | None, float | None]:
    if asked.schedule is None:
        return None, None
    if asked.closed:
        raise UsageError(
            "conflicting-options",
            "--schedule conflicts with --closed, where replies decide when requests are sent",
            hint="leave out --closed or --schedule",
            options=["--schedule", "--closed"],
        )
    return parse_schedule(asked.schedule, duration_s)


def _hosts(asked: MeasureRequest, target: Attached | Managed) -> Hosts | None:
    if asked.fleet is None:
        return None
    if asked.client_cpus is not None:
        raise UsageError(
            "conflicting-options",
            "--client-cpus is for clients on this machine, and conflicts with --fleet",
            hint="set cpus in the file of --fleet",
            options=["--client-cpus", "--fleet"],
        )
    if asked.verify_wire:
        raise UsageError(
            "conflicting-options",
            "--verify-wire captures packets on this machine, and conflicts with --fleet",
            hint="leave out --verify-wire",
            options=["--verify-wire", "--fleet"],
        )
    from hindmost.fleet.dask.hosts import parse_fleet

    hosts = parse_fleet(asked.fleet)
    refuse_unreachable(hosts, target)
    return hosts


def _processors_of(asked: MeasureRequest, target: Attached | Managed) -> list[int] | None:
    """Processors of the server, as far as they are asked for or known; empty where it is elsewhere."""
    chosen = _cpus(asked, "server_cpus")
    if target.managed:
        return list(target.spec.cpus) if chosen is None and target.spec.cpus else chosen
    if chosen is not None:
        raise UsageError(
            "unsupported",
            "--server-cpus is for servers that Hindmost starts",
            hint="taskset -cp CPUS PID",
            option="--server-cpus",
        )
    pid = local_owner(target.address)
    if pid is None:
        return []
    bound = cpu_affinity(pid)
    at_hand = sorted(os.sched_getaffinity(0))
    return bound if set(bound) < set(at_hand) else at_hand[: len(at_hand) // 2]


def _cpus(asked: MeasureRequest, name: str) -> list[int] | None:
    text = getattr(asked, name)
    try:
        return None if text is None else parse_cpus(text)
    except ValueError as error:
        raise UsageError(
            "bad-value",
            f"--{name.replace('_', '-')} {text!r}: {error}",
            hint="write it like 0-3,5",
            option=f"--{name.replace('_', '-')}",
            value=text,
        ) from None


def _stamp_every(text: str) -> int:
    """Read ``--stamps``: one request in so many, or ``off``."""
    if text == "off":
        return 0
    if text.isdecimal() and 1 <= int(text) <= 1_000_000:
        return int(text)
    raise UsageError(
        "bad-value",
        f"--stamps {text!r} is neither off nor a whole number from 1 to 1000000",
        hint="--stamps 16 stamps one request in sixteen; --stamps off none",
        option="--stamps",
        value=text,
        least=1,
        most=1_000_000,
    )


def _ending_with(replay: Replay, plan: MeasurePlan) -> MeasurePlan:
    """The plan whose runs end with their trace, where it says that they do."""
    if replay.end == "stop" and plan.schedule is not None:
        raise UsageError(
            "conflicting-options",
            "--schedule conflicts with end=stop, because it changes when a trace ends",
            hint="leave out --schedule, or use end=again",
            options=["--schedule", "end=stop"],
        )
    before_s = None if plan.warmup == "auto" else plan.warmup + plan.calibration_s
    assert plan.rate_per_s is not None
    measured_s = replay.measured_s(plan.duration_s, before_s, plan.rate_per_s)
    if measured_s == plan.duration_s:
        return plan
    return plan.model_copy(update={"duration_s": measured_s, "asked_duration_s": plan.duration_s})
