"""``hindmost trace``: where in the path of a server's requests time passes and variance arises."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from hindmost.cli.options import OUTPUT, PROCEDURE, TARGET, Json, option, switch, whole
from hindmost.cli.streams import say
from hindmost.errors import HindmostError, UsageError
from hindmost.exits import Exit

SERVER_HELP = (
    "A running server on this machine: memcached://HOST:PORT, redis://HOST:PORT, http://HOST:PORT, or a"
    " process id."
)
PROTOCOL_HELP = (
    "How requests are told apart: memcached, http, redis, length:OFFSET,WIDTH[le][,MORE], or exchange"
    " (whatever is read until something is sent). [default: by the address, or the program's name]"
)


def trace(
    server: Annotated[str, option(TARGET, None, SERVER_HELP)],
    *,
    port: Annotated[int | None, whole(TARGET, "Which port of a process that has several.")] = None,
    protocol: Annotated[str | None, option(TARGET, "NAME", PROTOCOL_HELP)] = None,
    duration: Annotated[str, option(PROCEDURE, "TIME", "How long; Ctrl-C ends it earlier.")] = "10s",
    connections: Annotated[
        int,
        whole(
            PROCEDURE, "Follow one connection in so many, whole: fewer records; the probes still run for all."
        ),
    ] = 1,
    windows: Annotated[
        int,
        whole(
            PROCEDURE,
            "Follow requests for a tenth of a second in so many, at random places; the probes are gone in"
            " between, and it costs as much less.",
        ),
    ] = 1,
    no_handover: Annotated[
        bool,
        switch(PROCEDURE, "Without the hand-over of responses, as before Linux 6.16.", "--no-handover"),
    ] = False,
    who: Annotated[
        bool,
        switch(
            PROCEDURE,
            "Follow the scheduler, too: what held requests up within their stages, and which threads did.",
            "--who",
        ),
    ] = False,
    probe_e4: Annotated[
        str | None,
        option(
            PROCEDURE,
            "[FILE:]FUNCTION",
            "A function that the server calls where it begins a request (e4), by a uprobe of some 2 us; FILE:"
            " by itself the server's program. redis: processCommand, nginx: ngx_http_process_request. Or a"
            " probe of its authors': usdt:PROVIDER:NAME, PostgreSQL: usdt:postgresql:query__start.",
        ),
    ] = None,
    records: Annotated[
        Path | None,
        option(OUTPUT, "FILE", "Keep requests in full here (Parquet): stamps, threads, processors."),
    ] = None,
    latency_log: Annotated[
        Path | None,
        option(
            OUTPUT,
            "FILE",
            "Write latencies there as they come, for hindmost watch start --log FILE --log-latency"
            " column:2/us.",
        ),
    ] = None,
    every: Annotated[int, whole(OUTPUT, "With --records or --latency-log: one request in so many.")] = 1,
    times: Annotated[
        Path | None,
        option(
            OUTPUT, "FILE", "Write service times there (CSV), for hindmost clone fit: a clone of the server."
        ),
    ] = None,
    page: Annotated[Path | None, option(OUTPUT, "FILE", "Write a page there (HTML).")] = None,
    before: Annotated[
        Path | None,
        option(OUTPUT, "FILE", "With --page: an earlier trace (--json) to show next to this one."),
    ] = None,
    json_: Json = False,
) -> int:
    """Say where in the path of a server's requests time passes, and where variance arises.

    The kernel is asked by eBPF: server and kernel stay as they are. It takes root (or CAP_BPF and
    CAP_PERFMON), and load on the server from elsewhere. Stages run from the network (e1) over TCP (e2), the
    read (e3), the beginning of this request in a batch (e4) and the response's hand-over (e5) to its leaving
    (e6).
    """
    from tempfile import TemporaryDirectory

    from hindmost.plan import parse_duration
    from hindmost.report.trace.terminal import render_trace
    from hindmost.store.estimates import encode
    from hindmost.trace import TraceRequest, find_server
    from hindmost.trace import trace as traced
    from hindmost.trace.begun import Function
    from hindmost.trace.times import write_times

    found = find_server(server, port=port, protocol=protocol)
    begun = None if probe_e4 is None else Function.parse(probe_e4, found)
    seconds = parse_duration(duration, "duration", 0.5)
    where = f"{found.name}, port {found.port}, as {found.protocol}"
    earlier = None if before is None else _earlier(before)
    if times is not None and every != 1:
        raise UsageError(
            "conflicting-options",
            f"--times needs every request, but --every {every} keeps one in {every}",
            hint="leave --every out",
            options=["--times", "--every"],
            value=every,
        )
    with TemporaryDirectory(prefix="hindmost-trace-") as folder:
        kept = Path(folder) / "records.parquet" if records is None and times is not None else records
        request = TraceRequest(
            found,
            seconds,
            connections,
            windows,
            kept,
            latency_log,
            every,
            handover=not no_handover,
            who=who,
            begun=begun,
        )
        document = traced(request, lambda: say(f"tracing {where} for {duration}; Ctrl-C ends it earlier"))
        if times is not None and kept is not None:
            count = write_times(kept, times)
            say(f"{count} service times: {times}; a clone of it: hindmost clone fit {times}")
        if records is None:
            document["records"] = None
    if page is not None:
        _write(page, document, earlier)
    if json_:
        print(encode(document))
    else:
        print(render_trace(document), end="")
    return Exit.DONE


def _earlier(path: Path) -> dict[str, Any]:
    """A document that ``hindmost trace --json`` wrote."""
    from hindmost.store.reading import read_document

    try:
        document = read_document(path)
    except (OSError, ValueError) as error:
        raise UsageError(
            "unreadable-file" if isinstance(error, OSError) else "bad-file",
            f"--before: cannot read {path}: {error}",
            hint=f"hindmost trace ... --json > {path}",
            option="--before",
            path=str(path),
        ) from None
    if not isinstance(document, dict) or document.get("schema") != "hindmost.trace/1":
        raise UsageError(
            "bad-file",
            f"--before: {path} does not contain a trace",
            hint=f"hindmost trace ... --json > {path}",
            option="--before",
            path=str(path),
        )
    return document


def _write(page: Path, document: dict[str, Any], earlier: dict[str, Any] | None) -> None:
    from hindmost.report.trace.page import render_trace_page

    try:
        page.write_text(render_trace_page(document, earlier), encoding="utf-8")
    except OSError as error:
        raise HindmostError(
            "unwritable-file",
            f"cannot write {page}: {error.strerror}",
            hint="--page FILE",
            option="--page",
            path=str(page),
        ) from None
    say(f"page: {page}")
