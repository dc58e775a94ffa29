"""``hindmost colocate profile``: measure what a program loses next to each stressor, and what it inflicts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from hindmost.cli.options import (
    LOAD,
    OUTPUT,
    PROCEDURE,
    TARGET,
    Json,
    integer_option,
    option,
    split_command,
    switch,
)
from hindmost.cli.outcome import refuse_files, write_files
from hindmost.cli.streams import say
from hindmost.core.exits import Exit


def profile(
    program: Annotated[
        str, option(TARGET, None, "A command that reports each unit of its work and keeps running.")
    ],
    *,
    counter: Annotated[
        Path | None,
        option(
            TARGET,
            "FILE",
            "Count units by the number in this file, or by its size in bytes. [default: lines on stdout]",
        ),
    ] = None,
    work: Annotated[
        Literal["cpu"] | None,
        option(TARGET, "cpu", "Each run of the command is a unit of work, which costs its CPU time."),
    ] = None,
    probe: Annotated[
        str | None,
        option(
            LOAD,
            "RATE",
            "Treat the command as a server and send requests at this rate. Each reply is a unit of work.",
        ),
    ] = None,
    probe_address: Annotated[
        str | None, option(LOAD, "URL", "Address of that server, for example memcached://127.0.0.1:11299.")
    ] = None,
    name: Annotated[
        str | None, option(TARGET, "NAME", "Name of the profile. [default: the program's]")
    ] = None,
    cpu: Annotated[
        int | None,
        integer_option(
            PROCEDURE, "Processor for the program. Stressors run on another one. [default: the last one]"
        ),
    ] = None,
    other: Annotated[
        str | None,
        option(
            PROCEDURE,
            "N|sibling",
            "Processor for the stressors; sibling: the second hardware thread of the core."
            ", [default: the nearest one]",
        ),
    ] = None,
    stressors: Annotated[
        str | None,
        option(PROCEDURE, "NAMES", "Stressors to run, for example l3,dram. [default: one per resource]"),
    ] = None,
    budget: Annotated[
        str | None, option(PROCEDURE, "TIME", "Maximum time. [default: 10s; 60s with --probe]")
    ] = None,
    window: Annotated[
        str | None,
        option(PROCEDURE, "TIME", "Length of a window. [default: 40ms; 1,000 requests with --probe]"),
    ] = None,
    seed: Annotated[int, integer_option(PROCEDURE, "Random seed for the order of windows.")] = 1,
    no_real_time: Annotated[
        bool,
        switch(
            PROCEDURE, "Run stressors without real-time priority, even if it is permitted.", "--no-real-time"
        ),
    ] = False,
    out: Annotated[Path | None, option(OUTPUT, "FILE", "Write the JSON profile to this file.")] = None,
    json_: Json = False,
) -> int:
    """Measure a program's profile: its sensitivity to each stressor, and its contentiousness on each.

    The program runs in windows: next to each stressor, next to an inert one, and alone. Windows run in random
    order for at least four rounds, until all intervals are narrow or the time is used up. Windows in which
    the hypervisor moved a processor are dropped. Child processes count as part of the program. No privilege
    is needed; SCHED_FIFO, if permitted, reduces noise. With --probe the program is a server under open-loop
    load, and the profile includes the growth of its p50 and p99 next to each stressor.
    """
    from hindmost.commands.colocate.cli.output import print_document
    from hindmost.commands.colocate.profile import STRESSORS
    from hindmost.commands.colocate.profile import profile as profiled
    from hindmost.commands.colocate.units import Counter
    from hindmost.commands.colocate.view.profile import view_profile
    from hindmost.commands.watch.application import Application
    from hindmost.commands.watch.latency import latency_from
    from hindmost.core.plan import parse_duration
    from hindmost.core.store.estimates import encode
    from hindmost.errors import UsageError

    command = split_command(program)
    if not command:
        raise UsageError(
            "missing-argument",
            "the program is missing",
            hint="hindmost colocate profile 'python -u batch.py'",
            name="program",
        )
    if work and counter:
        raise UsageError(
            "conflicting-options",
            "--work cpu and --counter are mutually exclusive: each sets the unit of work",
            hint="leave out one of them",
            options=["--work", "--counter"],
        )
    if probe and (work or counter):
        raise UsageError(
            "conflicting-options",
            "--probe uses answered requests as the unit of work, so it excludes --work and --counter",
            hint="leave out --work and --counter",
            options=["--probe", "--work" if work else "--counter"],
        )
    if (probe is None) != (probe_address is None):
        raise UsageError(
            "missing-argument",
            "--probe (the rate) and --probe-address go together",
            hint="--probe 2000 --probe-address memcached://127.0.0.1:11299",
            option="--probe" if probe is None else "--probe-address",
        )
    source = None
    if probe is not None:
        source = latency_from(Application(command[0], None), probe=probe, address=probe_address)
        if source is None:
            raise UsageError(
                "bad-value",
                f"--probe {probe}: the rate must be above 0",
                hint="--probe 2000",
                option="--probe",
                value=probe,
            )
    refuse_files({"--out": out})
    card = profiled(
        command,
        name=name,
        units=source or (work if counter is None else Counter(counter)),
        stressors=STRESSORS if stressors is None else stressors.split(","),
        cpu=cpu,
        other=other,
        window_ms=None if window is None else parse_duration(window, "window", 0.005) * 1000,
        budget_s=None if budget is None else parse_duration(budget, "budget", 1.0),
        real_time=not no_real_time,
        seed=seed,
        say=say,
    )
    print_document(card, view_profile(card), as_json=json_)
    write_files({out: encode(card, indent=1) + "\n"})
    return Exit.DONE
