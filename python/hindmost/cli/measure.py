"""``hindmost measure``: how slow is the tail, and how sure are we?"""

from __future__ import annotations

import json
import os
import sys
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from hindmost.errors import HindmostError, Interrupted, UsageError

if TYPE_CHECKING:
    from hindmost.plan import MeasurePlan, Threshold
    from hindmost.store import Study
    from hindmost.targets import Attached, Managed

EXITS = {"valid": 0, "inconclusive": 4, "invalid": 6}
SPIN_S = 0.3
"""Spin for the noise floor before a study: short, and long enough to see a host that is busy."""


def measure(
    target: str | None = None,
    *,
    rate: Annotated[str | None, Parameter(help="Requests a second of all clients together, like 50k. [default: 10k]")] = None,
    workload: Annotated[Path | None, Parameter(help="JSON file with mix, sizes and popularity.")] = None,
    clients: Annotated[int | None, Parameter(help="Load instances. [default: one for each processor left for clients]")] = None,
    threads: Annotated[int, Parameter(help="Worker threads of each instance.")] = 1,
    connections: Annotated[int, Parameter(help="Connections of all instances together.")] = 16,
    runs: Annotated[str | None, Parameter(help="Runs at least and at most, like 10..30, or 5. [default: 10..30]")] = None,
    precision: Annotated[str | None, Parameter(help="Half-width of the interval, of the value, at which to stop. [default: 5%]")] = None,
    duration: Annotated[str, Parameter(help="Length of the measurement in each run.")] = "10s",
    warmup: Annotated[str, Parameter(help="Length of the warm-up, or auto: until steady.")] = "auto",
    quantiles: Annotated[str, Parameter(help="Percentiles to report.")] = "50,95,99,99.9",
    arrivals: Annotated[Literal["exponential", "deterministic"], Parameter(help="Law of the gaps between requests.")] = "exponential",
    pacing: Annotated[Literal["auto", "spin", "sleep"], Parameter(help="How clients wait; auto spins where each has a processor.")] = "auto",
    closed: Annotated[bool, Parameter(negative="", help="Closed loop, to see its bias; with no --rate, flat out.")] = False,
    aggregate: Annotated[Literal["mean", "median"], Parameter(help="How instances' quantiles make a run's.")] = "mean",
    timeout: Annotated[str, Parameter(help="A request without reply for so long is infinitely late.")] = "2s",
    server_cpus: Annotated[str | None, Parameter(help="Processors of a managed server, like 0 or 0-3.")] = None,
    client_cpus: Annotated[str | None, Parameter(help="Processors of the clients.")] = None,
    seed: Annotated[int, Parameter(help="Same seed, same requests.")] = 1,
    samples: Annotated[int, Parameter(help="Single requests kept of each run, beside the worst 1,000.")] = 20_000,
    out: Annotated[Path | None, Parameter(help="Study folder. [default: hindmost-TARGET-TIME]")] = None,
    resume: Annotated[Path | None, Parameter(help="Go on with this study; only --runs and --precision may change.")] = None,
    require: Annotated[list[str], Parameter(negative="", help="Fail with exit code 3 unless so, like 'p99<500us'.")] = [],  # noqa: B006
    json_: Annotated[bool, Parameter(name="--json", negative="", help="Print the result as JSON.")] = False,
    quiet: Annotated[bool, Parameter(name=["--quiet", "-q"], negative="", help="No progress.")] = False,
) -> int:
    """Measure a server's tail latency with the whole Treadmill procedure.

    Open-loop load from several light clients; warm-up, calibration, measurement; runs against a freshly
    started server until the interval of every percentile is narrow enough; a verdict on whether the figures
    can be believed.

    Parameters
    ----------
    target
        A running server (memcached://HOST:PORT, redis://HOST:PORT, http://HOST:PORT/PATH), a preset that is
        started and restarted (memcached, redis, nginx, synth), or a target file (TOML).
    """
    from hindmost.plan import parse_percent, parse_runs, parse_threshold

    thresholds = [parse_threshold(text) for text in require]
    changes: dict[str, Any] = {}
    if runs is not None:
        changes["runs"] = parse_runs(runs)
    if precision is not None:
        changes["precision"] = parse_percent(precision)
    if resume is not None:
        if target is not None or out is not None:
            raise UsageError("--resume takes its target and folder from the study", hint=f"hindmost measure --resume {resume}")
        study, plan = _reopen(resume, changes)
    else:
        if target is None:
            raise UsageError("no target is named", hint="hindmost measure memcached, or hindmost measure --help")
        plan = _plan(locals() | changes)
        study = None
    for threshold in thresholds:
        if threshold.level is not None and threshold.level not in plan.quantiles:
            raise UsageError(
                f"--require {threshold.text!r} names a percentile that is not measured",
                hint=f"--quantiles {','.join(name[1:] for name in plan.labels)},{threshold.name[1:]}",
            )
    return _measure(plan, study, out, thresholds, as_json=json_, quiet=quiet)


def _plan(asked: dict[str, Any]) -> MeasurePlan:
    """Everything that was asked for, checked before anything starts."""
    from hindmost.fleet import allot
    from hindmost.plan import MeasurePlan, load_workload, parse_duration, parse_quantiles, parse_rate
    from hindmost.targets import parse_target
    from hindmost.targets.cpus import parse_cpus

    def cpus(name: str) -> list[int] | None:
        if asked[name] is None:
            return None
        try:
            return parse_cpus(asked[name])
        except ValueError as error:
            raise UsageError(f"--{name.replace('_', '-')} {asked[name]!r}: {error}", hint="write it like 0-3,5") from None

    for name, least, most in (("clients", 1, 1024), ("threads", 1, 256), ("connections", 1, 100_000), ("samples", 0, 10_000_000)):
        if asked[name] is not None and not least <= asked[name] <= most:
            raise UsageError(f"--{name} {asked[name]} is not between {least} and {most}", hint="hindmost measure --help")
    if not 0 <= asked["seed"] < 2**63:
        raise UsageError(f"--seed {asked['seed']} is not between 0 and 2^63", hint="--seed 1")
    closed, rate = asked["closed"], asked["rate"]
    target = parse_target(asked["target"])
    if asked["workload"] is not None:
        workload = load_workload(asked["workload"])
    else:
        workload = {"kind": "http", "paths": [target.path]} if target.protocol == "http" else {"kind": "key-value"}
    server = cpus("server_cpus")
    if target.managed and server is None and target.spec.cpus:
        server = list(target.spec.cpus)
    if not target.managed:
        if server is not None:
            raise UsageError("--server-cpus is for servers that Hindmost starts", hint="taskset -cp CPUS PID")
        server = _cpus_of_attached(target)
    places = allot(
        sorted(os.sched_getaffinity(0)),
        clients=asked["clients"],
        server=server,
        client_cpus=cpus("client_cpus"),
        threads=asked["threads"],
    )
    warmup = asked["warmup"]
    plan = MeasurePlan(
        target=asked["target"],
        loop="closed" if closed else "open",
        rate_per_s=parse_rate(rate) if rate is not None else (None if closed else 10_000.0),
        arrivals=asked["arrivals"],
        clients=len(places.clients),
        threads=asked["threads"],
        connections=max(asked["connections"], len(places.clients) * asked["threads"]),
        client_cpus=places.clients,
        server_cpus=places.server if target.managed else (),
        pacing=places.pacing if asked["pacing"] == "auto" else asked["pacing"],
        duration_s=parse_duration(asked["duration"], "duration", 0.1),
        warmup="auto" if warmup == "auto" else parse_duration(warmup, "warm-up"),
        timeout_s=parse_duration(asked["timeout"], "timeout", 0.001),
        quantiles=parse_quantiles(asked["quantiles"]),
        aggregate=asked["aggregate"],
        seed=asked["seed"],
        samples=asked["samples"],
        workload=workload,
        **{name: asked[name] for name in ("runs", "precision") if asked[name] is not None},
    )
    if plan.pacing == "spin" and places.shared:
        raise UsageError(
            f"{plan.clients} clients cannot all spin on {len(set(sum(places.clients, ())))} processor(s)",
            hint="--pacing auto, or fewer --clients",
        )
    plan.engine_plan(1, 0, target.protocol, "127.0.0.1:1")  # the engine's own checks, before anything starts
    return plan.model_copy(update={"workload": json.loads(plan.engine_plan(1, 0, target.protocol, "127.0.0.1:1"))["workload"]})


def _cpus_of_attached(target: Attached) -> list[int]:
    """Processors of a server on this host, as far as it is bound; empty where it is elsewhere."""
    from hindmost.targets import cpu_affinity, local_owner

    pid = local_owner(target.address)
    if pid is None:
        return []
    bound = cpu_affinity(pid)
    at_hand = sorted(os.sched_getaffinity(0))
    return bound if set(bound) < set(at_hand) else at_hand[: len(at_hand) // 2]


def _reopen(folder: Path, changes: dict[str, Any]) -> tuple[Study, MeasurePlan]:
    from hindmost.plan import MeasurePlan
    from hindmost.store import Study

    study = Study.open(folder)
    plan = MeasurePlan.model_validate(study.manifest["plan"]).model_copy(update=changes)
    study.manifest["plan"] = plan.model_dump(mode="json")
    return study, plan


def _measure(
    plan: MeasurePlan,
    study: Study | None,
    out: Path | None,
    thresholds: list[Threshold],
    *,
    as_json: bool,
    quiet: bool,
) -> int:
    from hindmost.cli.progress import Progress
    from hindmost.cli.report import publish
    from hindmost.experiment import Procedure
    from hindmost.targets import parse_target

    target = parse_target(plan.target)
    if not target.managed:
        _greet(target)
    if study is None:
        study = _new_study(plan, target, out)
    else:
        study.write("manifest.json", json.dumps(study.manifest, indent=1))
    _step_aside(plan)
    progress = Progress(plan, quiet=quiet)
    progress.say(
        f"{plan.target}: {plan.clients} client(s), {plan.connections} connections,"
        f" {'flat out' if plan.rate_per_s is None else f'{plan.rate_per_s:g} requests/s'},"
        f" {plan.runs[0]}..{plan.runs[1]} runs of {plan.duration_s:g} s; study {study.folder}"
    )
    try:
        with study.lock():
            Procedure(study, plan, target, progress).run()
            result = publish(study, as_json=as_json, quiet=quiet)
    except (KeyboardInterrupt, Interrupted) as stop:
        kept = len(study.runs())
        raise Interrupted(
            f"{stop or 'interrupted'}; {kept} finished run(s) are kept in {study.folder}",
            hint=f"hindmost measure --resume {study.folder}",
        ) from None
    except HindmostError as error:
        if study.runs():
            print(f"{len(study.runs())} finished run(s) are kept: hindmost measure --resume {study.folder}", file=sys.stderr)
        raise error
    return _exit_code(result, thresholds)


def _greet(target: Attached) -> None:
    """Make sure that a running server is there and speaks its protocol, before anything is written."""
    from hindmost.targets import first_answering

    first_answering(target.addresses, target.protocol, path=target.path)


def _new_study(plan: MeasurePlan, target: Attached | Managed, out: Path | None) -> Study:
    from hindmost import __version__, _engine
    from hindmost.store import Study, now_utc

    safe = "".join(c if c.isalnum() or c in "-." else "-" for c in Path(target.name).stem).strip("-.") or "target"
    folder = out or Path(f"hindmost-{safe}-{datetime.now():%Y%m%d-%H%M%S}")
    host = json.loads(_engine.doctor("/", SPIN_S))
    host.pop("noise", None)
    manifest = {
        "created": now_utc(),
        "version": __version__,
        "python": sys.version.split()[0],
        "plan": plan.model_dump(mode="json"),
        "host": host,
    }
    return Study.create(folder, manifest)


def _step_aside(plan: MeasurePlan) -> None:
    """Keep this process off the server's processors: what it disturbs must show as slip, not as latency."""
    mine = os.sched_getaffinity(0)
    clients = {cpu for cpus in plan.client_cpus for cpu in cpus}
    server = set(plan.server_cpus)
    rest = (mine - server - clients) or (mine - server) or mine
    os.sched_setaffinity(0, rest)


def _exit_code(result: dict[str, Any], thresholds: list[Threshold]) -> int:
    code = EXITS[result["verdict"]]
    if code == EXITS["invalid"]:
        return code
    for threshold in thresholds:
        one = result["latency_us"][threshold.name]
        low, high = (one[end] if one[end] is not None else one["value"] for end in ("low", "high"))
        if low is None or low >= threshold.limit_us:
            print(f"error: --require {threshold.text!r} does not hold: {_found(threshold, one)}", file=sys.stderr)
            return 3
        if high is None or high >= threshold.limit_us:
            print(f"error: --require {threshold.text!r} is undecided: {_found(threshold, one)}", file=sys.stderr)
            print("hint: more runs narrow the interval: hindmost measure --resume STUDY --runs 30..60", file=sys.stderr)
            code = EXITS["inconclusive"]
    return code


def _found(threshold: Threshold, one: dict[str, Any]) -> str:
    if one["value"] is None:
        return f"{threshold.name} is infinitely late"
    if one["low"] is None:
        return f"{threshold.name} is {one['value']:.4g} us (one run, no interval)"
    high = "infinite" if one["high"] is None else f"{one['high']:.4g}"
    return f"{threshold.name} is {one['value']:.4g} us, interval {one['low']:.4g} to {high}"
