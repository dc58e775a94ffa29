"""``hindmost colocate supervise``: run a batch job next to a server without breaking its latency limit."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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

if TYPE_CHECKING:
    from hindmost.commands.colocate.supervision.procedure import WindowOutcome

ENOUGH = 0.95
"""Share of the windows that must meet the limit for exit code 0."""


def supervise(
    server: Annotated[
        str, option(TARGET, None, "Process id of the server, or memcached://HOST:PORT (redis://, http://).")
    ],
    job: Annotated[str, option(TARGET, None, "A command to run, or the id of a running process.")],
    *,
    promise: Annotated[str, option(TARGET, "LIMIT", "Limit on the server's latency, for example 'p95<1ms'.")],
    probe: Annotated[str, option(LOAD, "RATE", "Requests per second that the probe sends.")] = "200",
    probe_address: Annotated[
        str | None,
        option(
            LOAD, "URL", "Address to probe if the server is a process id, for example http://127.0.0.1:80."
        ),
    ] = None,
    window: Annotated[
        str, option(PROCEDURE, "TIME", "Length of a window. The limit must hold in each window.")
    ] = "1s",
    duration: Annotated[
        str | None, option(PROCEDURE, "TIME", "Maximum duration. [default: until the job ends]")
    ] = None,
    processors: Annotated[
        int | None,
        integer_option(PROCEDURE, "Give the job this fixed number of processors and do not adapt it."),
    ] = None,
    learn: Annotated[
        Path | None,
        option(
            OUTPUT,
            "PROFILE",
            "The server's profile. Keep what is observed in a file next to it, for `colocate predict`.",
        ),
    ] = None,
    name: Annotated[
        str | None,
        option(OUTPUT, "NAME", "With --learn: name of the job's profile. [default: the program's]"),
    ] = None,
    verbose: Annotated[bool, switch(OUTPUT, "Print a line for every window.", "--verbose")] = False,
    out: Annotated[Path | None, option(OUTPUT, "FILE", "Write all windows to this JSON file.")] = None,
    json_: Json = False,
) -> int:
    """Run a batch job next to a server, and throttle or pause it when the server's latency limit is at risk.

    The job runs at idle priority (cpu.idle). It loses processors when slow requests use up what a window
    allows, and it is paused when a window exceeds the limit. It gets processors back one at a time after
    quiet windows. Every change is in the settings' journal before it is made. A job that this command started
    ends with it, even after a kill -9. A job that was already running continues with its original settings. A
    job that leaves daemons behind runs until they end. The exit code is that of a failed job (128 and more: a
    signal). Otherwise it is 3 if fewer than 95 % of the windows met the limit.

    --learn adds a line a minute to NAME.supervised.jsonl, next to the profile NAME.json: how many windows
    kept the limit, with which job, share, load and host. `colocate predict` answers from what was observed.
    """
    from contextlib import nullcontext

    from msgspec.structs import replace

    from hindmost import _engine
    from hindmost.commands.colocate.cli.output import print_document
    from hindmost.commands.colocate.supervision.controller import Rules
    from hindmost.commands.colocate.supervision.document import document_of, window_of
    from hindmost.commands.colocate.supervision.learning import record_evidence
    from hindmost.commands.colocate.supervision.procedure import SuperviseRequest
    from hindmost.commands.colocate.supervision.procedure import supervise as supervised
    from hindmost.commands.colocate.view.supervision import view_supervision, window_line
    from hindmost.commands.watch.application import find_application
    from hindmost.commands.watch.latency import latency_from
    from hindmost.core.plan import parse_duration
    from hindmost.core.plan.term import parse_term
    from hindmost.core.store.estimates import encode
    from hindmost.errors import HindmostError, HostUnfit, UsageError

    term = parse_term(promise, "promise", "'p95<1ms' or 'p99<5ms'")
    if term.level is None or term.above or term.isolated:
        raise UsageError(
            "bad-value",
            f"--promise {promise!r} is not a limit on a percentile",
            hint="--promise 'p95<1ms'",
            option="--promise",
            value=promise,
        )
    if name is not None and learn is None:
        raise UsageError(
            "missing-argument", "--name needs --learn", hint="--learn server.json", option="--learn"
        )
    refuse_files({"--out": out})
    words = split_command(job)
    if not words:
        raise UsageError(
            "missing-argument",
            "the job is missing",
            hint="hindmost colocate supervise SERVER 'xz -9 -k big.tar'",
            name="job",
        )
    found = find_application(server)
    source = latency_from(found, probe=probe, address=probe_address)
    if source is None:
        raise HostUnfit(
            "needs-probe",
            "a process id does not tell the probe the server's address",
            hint="--probe-address memcached://127.0.0.1:11211",
            option="--probe-address",
        )
    request = SuperviseRequest(
        found,
        source,
        int(job) if job.isdecimal() else words,
        Rules(term.limit),
        term.level,
        parse_duration(window, "window", 0.1),
        None if duration is None else parse_duration(duration, "duration", 1.0),
        processors,
    )

    begun_ns = _engine.monotonic_ns()

    with nullcontext() if learn is None else record_evidence(learn, name, request) as recorder:

        def tell(told: WindowOutcome) -> None:
            if recorder is not None:
                recorder.add(told)
            if verbose or told.why is not None:
                say(window_line(window_of(told, begun_ns, term.limit), term.limit))

        document = document_of(supervised(request, tell))
    if recorder is not None:
        document = replace(document, learned=str(recorder.path))
    print_document(document, view_supervision(document), as_json=json_)
    write_files({out: encode(document, indent=1) + "\n"})
    if recorder is not None and recorder.fault is not None:
        raise HindmostError(
            "unwritable-file",
            f"{recorder.path} cannot be written: {recorder.fault.strerror}",
            hint=f"df -h {recorder.path.absolute().parent}",
            option="--learn",
            path=str(recorder.path),
        )
    if document.job_exit is not None and document.job_exit > 0:
        return document.job_exit
    if not document.windows:
        return Exit.INCONCLUSIVE
    return Exit.DONE if document.kept >= ENOUGH * len(document.windows) else Exit.CROSSED
