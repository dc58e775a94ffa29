"""Makes the plan of a measurement from a request, and checks all of it before anything starts."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

from hindmost.core.fleet import allot
from hindmost.core.fleet.cpus import may_pin, read_cores, unpinned
from hindmost.core.laws import LEAST_MEASURED_S, Replay, parse_law, replay_of
from hindmost.core.notes import Note
from hindmost.core.plan import MeasurePlan, parse_duration, parse_quantiles, parse_rate
from hindmost.core.plan.batching import parse_batching
from hindmost.core.plan.protocols import ENTRIES
from hindmost.core.plan.schedules import parse_schedule
from hindmost.core.plan.secrets import conceal
from hindmost.core.plan.sessions import refuse_short_warmup
from hindmost.core.plan.workload import workload_source
from hindmost.core.run.request import OPTIONS, MeasureRequest, quick
from hindmost.core.run.request.connecting import check_capture, endpoints_of, login_of, sources_of, tls_of
from hindmost.core.run.request.elsewhere import places_of, refuse_unreachable
from hindmost.core.run.request.workload import workload_of
from hindmost.core.store.estimates import to_document
from hindmost.core.targets import cpu_affinity, local_owner, parse_target
from hindmost.core.targets.cpus import parse_cpus
from hindmost.errors import HostUnfit, UsageError

if TYPE_CHECKING:
    from hindmost.core.fleet.dask.hosts import Hosts
    from hindmost.core.plan.schedules import Points
    from hindmost.core.targets import Attached, Managed

DURATION = "10s"
DEFAULT_RATE_PER_S = 10_000.0
WEB_RATE_PER_S = 100.0
"""For web servers of other people, who may not expect load."""


def make_plan(request: MeasureRequest, *, rising: bool = False) -> MeasurePlan:
    """Check all options before anything starts, and return the plan for the CPUs of this host.

    Parameters
    ----------
    request : MeasureRequest
        The options.
    rising : bool
        Whether the rate will rise above the requested one, so that clients get all cores that are left.

    Raises
    ------
    UsageError
        If options are invalid or contradictory, or the engine refuses them.
    """
    for field in OPTIONS.values():
        field.check(getattr(request, field.name))
    if request.quick:
        return quick.expand(request).plan().model_copy(update=quick.PLAN)
    stopping = request.stopping_options()
    if request.target is None:
        raise UsageError(
            "missing-argument",
            "no target is given",
            hint="hindmost measure memcached, or hindmost measure --help",
            argument="TARGET",
        )
    target = parse_target(request.target)
    workload, notes = workload_of(request, target)
    workload = conceal(workload)
    hosts = _hosts(request, target)
    arrivals = parse_law(request.arrivals)
    if isinstance(arrivals, dict) and "file" in arrivals:
        arrivals["file"] = str(Path(arrivals["file"]).absolute())
    duration_s = parse_duration(request.duration or DURATION, "duration", LEAST_MEASURED_S)
    schedule, own_rate = _schedule(request, duration_s)
    replay = None if request.closed else replay_of(arrivals)
    web = not target.managed and ENTRIES[target.protocol].mix.paths
    usual = replay.rate_per_s if replay is not None else WEB_RATE_PER_S if web else DEFAULT_RATE_PER_S
    rate = None if request.closed else own_rate or usual
    if request.rate is not None:
        rate = parse_rate(request.rate)
    places = (
        allot(
            sorted(os.sched_getaffinity(0)),
            clients=request.clients,
            server=_processors_of(request, target),
            client_cpus=_cpus(request, "client_cpus"),
            threads=request.threads,
            rate_per_s=None if rising or schedule else rate,
            cores=read_cores(),
        )
        if hosts is None
        else places_of(
            hosts,
            clients=request.clients,
            threads=request.threads,
            server=tuple(_cpus(request, "server_cpus") or ()),
        )
    )
    if hosts is None and not may_pin():
        places = unpinned(places)
        notes = (*notes, _note_unpinned(request))
    plan = MeasurePlan(
        # A plan never has a URL's password: its login has a reference.
        target=request.target if target.managed else target.name,
        loop="closed" if request.closed else "open",
        rate_per_s=rate,
        arrivals=arrivals,
        schedule=schedule,
        clients=len(places.clients),
        threads=request.threads,
        connections=max(request.connections, len(places.clients) * request.threads),
        client_cpus=places.clients,
        server_cpus=places.server if target.managed else (),
        pacing=places.pacing if request.pacing == "auto" else request.pacing,
        io=request.io,
        in_flight=request.in_flight,
        requests_per_connection=request.requests_per_connection,
        batching=parse_batching(request.batching),
        duration_s=duration_s,
        warmup="auto" if request.warmup in (None, "auto") else parse_duration(request.warmup, "warm-up"),
        timeout_s=parse_duration(request.timeout, "timeout", 0.001),
        stream=request.stream,
        quantiles=parse_quantiles(request.quantiles),
        decide_on=request.decide_on,
        seed=request.seed,
        samples=request.samples,
        stamp_every=_stamp_every(request.stamps),
        sentinel=request.sentinel,
        verify_wire=request.verify_wire,
        trace=request.trace,
        live=request.live,
        workload=workload,
        notes=tuple({**to_document(note.document()), "hint": note.hint} for note in notes),
        tls=tls_of(request, target),
        login=login_of(request, target),
        source=sources_of(request.source, target),
        fleet=None if hosts is None else hosts.model_dump(mode="json", exclude_defaults=True),
        endpoints=endpoints_of(request.sharding, target),
        sharding=request.sharding,
        **stopping,
    )
    if replay is not None and plan.rate_per_s is not None:
        replay.refuse_shorter_than(plan.longest_run_s, plan.rate_per_s)
        plan = _end_with_trace(replay, plan)
    refuse_short_warmup(plan)
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
    if plan.live:
        _refuse_live(plan)
    # The engine makes its own checks; its reply has the workload's defaults filled in.
    workload_text = None if request.workload is None else workload_source(request.workload)
    checked = json.loads(plan.engine_plan(1, 0, target.protocol, "127.0.0.1:1", workload_text))
    return plan.model_copy(update={"workload": checked["workload"], "arrivals": checked["load"]["arrivals"]})


def _schedule(request: MeasureRequest, duration_s: float) -> tuple[Points | None, float | None]:
    if request.schedule is None:
        return None, None
    if request.closed:
        raise UsageError(
            "conflicting-options",
            "--schedule conflicts with --closed, where replies decide when requests are sent",
            hint="leave out --closed or --schedule",
            options=["--schedule", "--closed"],
        )
    return parse_schedule(request.schedule, duration_s)


def _refuse_live(plan: MeasurePlan) -> None:
    """Refuse a live view that would share a CPU with a client, or of clients on other hosts."""
    if plan.fleet is not None:
        raise UsageError(
            "conflicting-options",
            "--live reads counters of clients on this machine, and conflicts with --fleet",
            hint="leave out --live",
            options=["--live", "--fleet"],
        )
    clients = {cpu for cpus in plan.client_cpus for cpu in cpus}
    if not clients or not os.sched_getaffinity(0) - clients:
        raise UsageError(
            "few-processors",
            "--live needs a CPU that no client uses",
            hint="leave out --live, or give clients fewer CPUs: --client-cpus",
            option="--live",
            need=len(clients) + 1,
            have=len(os.sched_getaffinity(0)),
        )


def _note_unpinned(request: MeasureRequest) -> Note:
    """Return the note that nothing can be pinned here.

    Raises
    ------
    HostUnfit
        CPUs were named.
    """
    text = "this process may not choose CPUs (sched_setaffinity is refused): server and clients share them"
    hint = "allow sched_setaffinity in the container's seccomp profile"
    for option, given in (("--server-cpus", request.server_cpus), ("--client-cpus", request.client_cpus)):
        if given is not None:
            raise HostUnfit(
                "not-pinned",
                f"{option} {given}: {text}",
                hint=hint,
                option=option,
                value=given,
            )
    return Note("not-pinned", text, hint=hint)


def _hosts(request: MeasureRequest, target: Attached | Managed) -> Hosts | None:
    if request.fleet is None:
        return None
    if request.client_cpus is not None:
        raise UsageError(
            "conflicting-options",
            "--client-cpus is for clients on this machine, and conflicts with --fleet",
            hint="set cpus in the file of --fleet",
            options=["--client-cpus", "--fleet"],
        )
    if request.verify_wire:
        raise UsageError(
            "conflicting-options",
            "--verify-wire captures packets on this machine, and conflicts with --fleet",
            hint="leave out --verify-wire",
            options=["--verify-wire", "--fleet"],
        )
    from hindmost.core.fleet.dask.hosts import parse_fleet

    hosts = parse_fleet(request.fleet)
    refuse_unreachable(hosts, target)
    return hosts


def _processors_of(request: MeasureRequest, target: Attached | Managed) -> list[int] | None:
    """Return the server's CPUs, as requested or as found; empty if it runs elsewhere."""
    chosen = _cpus(request, "server_cpus")
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


def _cpus(request: MeasureRequest, name: str) -> list[int] | None:
    text = getattr(request, name)
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
    """Read ``--stamps``: one request in this many, or ``off``."""
    if text == "off":
        return 0
    if text.isdecimal() and 1 <= int(text) <= 1_000_000:
        return int(text)
    raise UsageError(
        "bad-value",
        f"--stamps {text!r} is neither off nor a whole number from 1 to 1000000",
        hint="--stamps 16 stamps one request in sixteen; --stamps off stamps no request",
        option="--stamps",
        value=text,
        least=1,
        most=1_000_000,
    )


def _end_with_trace(replay: Replay, plan: MeasurePlan) -> MeasurePlan:
    """Shorten the runs of a plan to its trace, if the trace has end=stop."""
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
