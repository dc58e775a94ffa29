"""``hindmost colocate supervise``: a batch job next to a server, as far as the server's promise allows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from hindmost.cli.options import LOAD, OUTPUT, PROCEDURE, TARGET, Json, option, switch, whole, words_of
from hindmost.cli.outcome import put_files, refuse_files
from hindmost.cli.streams import say
from hindmost.exits import Exit

if TYPE_CHECKING:
    from hindmost.studies.colocation.supervision.procedure import Told

ENOUGH = 0.95
"""Of the windows must be within the promise for exit code 0."""


def supervise(
    server: Annotated[
        str, option(TARGET, None, "A process id, or memcached://HOST:PORT (redis://, http://).")
    ],
    job: Annotated[str, option(TARGET, None, "A command to run, or the id of a process that runs.")],
    *,
    promise: Annotated[str, option(TARGET, "LIMIT", "Of the server's latency, like 'p95<1ms'.")],
    probe: Annotated[str, option(LOAD, "RATE", "Requests a second of the probe.")] = "200",
    probe_address: Annotated[
        str | None, option(LOAD, "URL", "Where the probe asks, of a process: http://127.0.0.1:80.")
    ] = None,
    window: Annotated[str, option(PROCEDURE, "TIME", "In each of which the promise must be kept.")] = "1s",
    duration: Annotated[
        str | None, option(PROCEDURE, "TIME", "How long at most. [default: until the job ends]")
    ] = None,
    processors: Annotated[
        int | None, whole(PROCEDURE, "Adapt nothing: give the job so many processors throughout.")
    ] = None,
    verbose: Annotated[bool, switch(OUTPUT, "Tell every window.", "--verbose")] = False,
    out: Annotated[Path | None, option(OUTPUT, "FILE", "Write all windows here (JSON).")] = None,
    json_: Json = False,
) -> int:
    """Run a batch job next to a server, and cut or pause it where the server's promise is in danger.

    The job gets only what nobody else wants (cpu.idle), on fewer processors as soon as slow requests use up
    what a window may have of them, and nothing where the promise breaks; it is given back one by one after
    quiet windows. All of it is in the knobs' journal before it is done. A job that is started here ends with
    this command, also by a kill -9; a running one goes on as it was found. A job that leaves daemons behind
    runs until they end. The exit code is that of a job that fails (128 and more: by a signal); else 3 where
    fewer than 95 % of the windows were within the promise.
    """
    from hindmost import _engine
    from hindmost.errors import HostUnfit, UsageError
    from hindmost.plan import parse_duration
    from hindmost.plan.term import parse_term
    from hindmost.report.colocation.supervision import render_supervision, render_window
    from hindmost.store.estimates import encode
    from hindmost.studies.colocation.supervision.controller import Rules
    from hindmost.studies.colocation.supervision.document import document_of, window_of
    from hindmost.studies.colocation.supervision.procedure import SuperviseRequest
    from hindmost.studies.colocation.supervision.procedure import supervise as supervised
    from hindmost.watch import find_application, latency_from

    term = parse_term(promise, "promise", "'p95<1ms' or 'p99<5ms'")
    if term.level is None or term.above or term.calm:
        raise UsageError(
            "bad-value",
            f"--promise {promise!r} is not a limit on a percentile",
            hint="--promise 'p95<1ms'",
            option="--promise",
            value=promise,
        )
    refuse_files({"--out": out})
    words = words_of(job)
    if not words:
        raise UsageError(
            "missing-argument",
            "no job is given",
            hint="hindmost colocate supervise SERVER 'xz -9 -k big.tar'",
            name="job",
        )
    found = find_application(server)
    source = latency_from(found, probe=probe, address=probe_address)
    if source is None:
        raise HostUnfit(
            "needs-probe",
            "the server is given as a process, so the probe needs an address",
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

    def tell(told: Told) -> None:
        if verbose or told.why is not None:
            say(render_window(window_of(told, begun_ns, term.limit), term.limit))

    document = document_of(supervised(request, tell))
    if json_:
        print(encode(document))
    else:
        print(render_supervision(document), end="")
    put_files({out: encode(document, indent=1) + "\n"})
    if document["job_exit"] is not None and document["job_exit"] > 0:
        return document["job_exit"]
    if not document["windows"]:
        return Exit.INCONCLUSIVE
    return Exit.DONE if document["kept"] >= ENOUGH * len(document["windows"]) else Exit.CROSSED
