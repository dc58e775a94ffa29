"""``hindmost measure``: how slow the tail is, and how sure we are."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from hindmost.cli.options import (
    CLIENTS,
    LOAD,
    OUTPUT,
    PROCEDURE,
    TARGET,
    Json,
    option,
    switch,
    whole,
)
from hindmost.errors import UsageError
from hindmost.laws import USUAL, ArrivalLaw

if TYPE_CHECKING:
    from hindmost.plan import MeasurePlan
    from hindmost.store import Study

TARGET_HELP = (
    "A running server (memcached://HOST:PORT, redis://HOST:PORT, http://HOST:PORT/PATH), a preset that is"
    " started and restarted (memcached, redis, nginx, apache, synth), or a target file (TOML)."
)


def measure(
    target: Annotated[str | None, option(TARGET, None, TARGET_HELP)] = None,
    *,
    server_cpus: Annotated[
        str | None, option(TARGET, "CPUS", "Processors of a server that is started here, like 0 or 0-3.")
    ] = None,
    rate: Annotated[
        str | None,
        option(LOAD, "RATE", "Requests a second of all clients together, like 50k. [default: 10k]"),
    ] = None,
    find_rate: Annotated[
        str | None,
        option(
            LOAD,
            "OBJECTIVE",
            "Search for the highest rate at which this holds, like 'p99<500us'; starts at --rate.",
        ),
    ] = None,
    workload: Annotated[
        Path | None,
        option(
            LOAD, "FILE", "JSON file with mix, sizes and popularity. [default: 90 % get, 200-byte values]"
        ),
    ] = None,
    arrivals: Annotated[ArrivalLaw, option(LOAD, "LAW", "Law of the gaps between requests.")] = USUAL,
    closed: Annotated[
        bool, switch(LOAD, "Closed loop, to see its bias; without --rate as fast as it goes.")
    ] = False,
    timeout: Annotated[
        str, option(LOAD, "TIME", "A request without reply for so long counts as infinitely late.")
    ] = "2s",
    seed: Annotated[int, whole(LOAD, "Same seed, same requests.")] = 1,
    clients: Annotated[
        int | None, whole(CLIENTS, "Load instances. [default: one for each processor left for clients]")
    ] = None,
    threads: Annotated[int, whole(CLIENTS, "Worker threads of each instance.")] = 1,
    connections: Annotated[int, whole(CLIENTS, "Connections of all instances together.")] = 16,
    client_cpus: Annotated[
        str | None, option(CLIENTS, "CPUS", "Processors of the clients. [default: all but the server's]")
    ] = None,
    pacing: Annotated[
        Literal["auto", "spin", "sleep"],
        option(CLIENTS, "HOW", "How clients wait; auto spins where each has a processor of its own."),
    ] = "auto",
    io: Annotated[
        Literal["epoll", "io_uring"],
        option(CLIENTS, "HOW", "How clients ask the kernel; io_uring makes two calls a request (Linux 6.1)."),
    ] = "epoll",
    runs: Annotated[
        str | None,
        option(
            PROCEDURE,
            "MIN..MAX",
            "Runs at least and at most, or just 5. [default: 10..30; 3..8 with --find-rate]",
        ),
    ] = None,
    precision: Annotated[
        str | None,
        option(
            PROCEDURE,
            "SHARE",
            "Stop when each percentile's interval is within this share of its value. [default: 5%]",
        ),
    ] = None,
    duration: Annotated[str, option(PROCEDURE, "TIME", "Length of the measurement in each run.")] = "10s",
    warmup: Annotated[
        str, option(PROCEDURE, "TIME", "Length of the warm-up, or auto: until steady.")
    ] = "auto",
    quantiles: Annotated[str, option(PROCEDURE, "LIST", "Percentiles to report.")] = "50,95,99,99.9",
    aggregate: Annotated[
        Literal["mean", "median"],
        option(PROCEDURE, "HOW", "How the percentiles of a run's instances make the run's."),
    ] = "mean",
    stamps: Annotated[
        str,
        option(
            PROCEDURE, "EVERY|off", "Wire latency by the kernel's stamps of one request in so many, or none."
        ),
    ] = "16",
    verify_wire: Annotated[
        bool,
        switch(PROCEDURE, "Capture packets beside each run (tcpdump) and lay our latencies beside theirs."),
    ] = False,
    resume: Annotated[
        Path | None,
        option(
            PROCEDURE, "STUDY", "Go on with this study or search; only --runs and --precision may change."
        ),
    ] = None,
    out: Annotated[
        Path | None, option(OUTPUT, "STUDY", "Folder of the study. [default: hindmost-TARGET-TIME]")
    ] = None,
    samples: Annotated[
        int, whole(OUTPUT, "Single requests kept of each run, beside the worst 1000.")
    ] = 20_000,
    require: Annotated[
        tuple[str, ...],
        Parameter(
            group=OUTPUT,
            metavar="LIMIT",
            negative="",
            help="Exit with 3 unless this holds, like 'p99<500us'; may be repeated.",
        ),
    ] = (),
    json_: Json = False,
    quiet: Annotated[bool, switch(OUTPUT, "No progress.", "--quiet", "-q")] = False,
) -> int:
    """Measure a server's tail latency with the whole Treadmill procedure.

    Open-loop load from several light clients; warm-up, calibration, measurement; runs against a freshly
    started server until the interval of every percentile is narrow enough; a verdict on whether the figures
    can be believed.
    """
    asked = locals().copy()
    from hindmost.cli.asked import nothing_else, plan_asked_for, plan_of_search
    from hindmost.cli.outcome import tell
    from hindmost.cli.progress import Talk
    from hindmost.cli.require import exit_code
    from hindmost.plan import parse_objective, parse_percent, parse_runs, parse_threshold
    from hindmost.studies.begin import begin
    from hindmost.studies.kind import carry_out, name_of
    from hindmost.studies.search.asked import enough_runs, refuse_contradictions

    thresholds = [parse_threshold(text) for text in require]
    changes: dict[str, Any] = {}
    if runs is not None:
        changes["runs"] = parse_runs(runs)
    if precision is not None:
        changes["precision"] = parse_percent(precision)
    study, kind, more = None, "measure", {}
    if resume is not None:
        if target is not None or out is not None:
            raise UsageError(
                "--resume takes its target and folder from the study",
                hint=f"hindmost measure --resume {resume}",
            )
        nothing_else(asked, inspect.signature(measure), resume)
        study, plan = _reopen(resume, changes)
        kind = name_of(study.manifest)
        if kind == "search":
            refuse_contradictions(asked)
            enough_runs(plan)
    else:
        if target is None:
            raise UsageError(
                "no target is named", hint="hindmost measure memcached, or hindmost measure --help"
            )
        if find_rate is not None:
            plan = plan_of_search(asked | changes, find_rate)
            kind, more = "search", {"search": {"objective": parse_objective(find_rate).text}}
        else:
            plan = plan_asked_for(asked | changes)
    for threshold in thresholds:
        if threshold.level is not None and threshold.level not in plan.quantiles:
            raise UsageError(
                f"--require {threshold.text!r} names a percentile that is not measured",
                hint=f"--quantiles {','.join(name[1:] for name in plan.labels)},{threshold.name[1:]}",
            )
    study = begin(plan, study, out, kind, **more)
    shown = carry_out(study, Talk(quiet=quiet))
    code = tell(shown, as_json=json_, quiet=quiet)
    return exit_code(shown.document, thresholds, study.folder) if kind == "measure" else code


def _reopen(folder: Path, changes: dict[str, Any]) -> tuple[Study, MeasurePlan]:
    from hindmost.run.readings import plan_of
    from hindmost.store import Study
    from hindmost.studies.kind import refuse_another

    study = Study.open(folder)
    refuse_another(study, "measure", "search")
    plan = plan_of(study).model_copy(update=changes)
    study.manifest["plan"] = plan.model_dump(mode="json")
    return study, plan
