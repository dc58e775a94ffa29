"""``hindmost trace``: find where requests spend time in a server, and where variance arises."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from hindmost.cli.options import OUTPUT, PROCEDURE, TARGET, Json, integer_option, option, switch
from hindmost.cli.streams import say
from hindmost.core.exits import Exit
from hindmost.errors import UsageError

if TYPE_CHECKING:
    from hindmost.core.tracing.document import Trace

SERVER_HELP = (
    "A running server on this machine: memcached://HOST:PORT, redis://HOST:PORT, http://HOST:PORT, or a"
    " process id."
)
PROTOCOL_HELP = (
    "How to find request boundaries: memcached, http, redis, length:OFFSET,WIDTH[le][,MORE], or exchange"
    " (all bytes read before a reply is sent). [default: from the address or the program's name]"
)


def trace(
    server: Annotated[str, option(TARGET, None, SERVER_HELP)],
    *,
    port: Annotated[
        int | None, integer_option(TARGET, "Port to trace, if the process listens on several.")
    ] = None,
    protocol: Annotated[str | None, option(TARGET, "NAME", PROTOCOL_HELP)] = None,
    duration: Annotated[
        str, option(PROCEDURE, "TIME", "Duration of the trace. Ctrl-C ends it earlier.")
    ] = "10s",
    connections: Annotated[
        int,
        integer_option(
            PROCEDURE, "Follow all requests of one connection in N. The probes still run for all connections."
        ),
    ] = 1,
    windows: Annotated[
        int | None,
        integer_option(
            PROCEDURE,
            "Follow requests in one of N windows of 50 ms, at random places, without probes in between; 1:"
            " all the time. [default: chosen to cost 2 % of the server's CPU time, in traces of a minute or"
            " more 1 %; all the time with --records, --latency-log or --times]",
        ),
    ] = None,
    no_handover: Annotated[
        bool,
        switch(
            PROCEDURE, "Do not trace the hand-over of responses, which needs Linux 6.16.", "--no-handover"
        ),
    ] = False,
    who: Annotated[
        bool,
        switch(
            PROCEDURE,
            "Also trace the scheduler: find what delayed requests within their stages, and which threads.",
            "--who",
        ),
    ] = False,
    probe_e4: Annotated[
        str | None,
        option(
            PROCEDURE,
            "[FILE:]FUNCTION",
            "Function that the server calls when it begins a request (e4), traced by a uprobe of about 2 µs."
            " Without FILE: a function of the server's program. redis: processCommand, nginx:"
            " ngx_http_process_request. Or a USDT probe: usdt:PROVIDER:NAME, for example for PostgreSQL"
            " usdt:postgresql:query__start.",
        ),
    ] = None,
    records: Annotated[
        Path | None,
        option(
            OUTPUT,
            "FILE",
            "Write each request with its time stamps, threads and processors to this Parquet file.",
        ),
    ] = None,
    latency_log: Annotated[
        Path | None,
        option(
            OUTPUT,
            "FILE",
            "Append latencies to this file during the trace, for `hindmost watch start --log FILE"
            " --log-latency"
            " column:2/us`.",
        ),
    ] = None,
    every: Annotated[
        int, integer_option(OUTPUT, "With --records or --latency-log: write one request in N.")
    ] = 1,
    times: Annotated[
        Path | None,
        option(
            OUTPUT,
            "FILE",
            "Write service times to this CSV file, from which `hindmost clone fit` fits a clone.",
        ),
    ] = None,
    page: Annotated[Path | None, option(OUTPUT, "FILE", "Write an HTML page to this file.")] = None,
    before: Annotated[
        Path | None,
        option(OUTPUT, "FILE", "With --page: an earlier trace (--json) to show next to this one."),
    ] = None,
    json_: Json = False,
) -> int:
    """Find where in a server's request path time is spent, and where variance arises.

    The command uses eBPF, so server and kernel stay unchanged. It needs root (or CAP_BPF and CAP_PERFMON),
    and load on the server from another source. Stages run from the network (e1) over TCP (e2), the read (e3),
    the start of this request in a batch (e4) and the hand-over of the response (e5) to its departure (e6).
    """
    from tempfile import TemporaryDirectory

    import msgspec

    from hindmost.cli.outcome import write_files
    from hindmost.commands.trace.view import view
    from hindmost.core.plan import parse_duration
    from hindmost.core.store.estimates import encode
    from hindmost.core.tracing import TraceRequest, find_server
    from hindmost.core.tracing import trace as traced
    from hindmost.core.tracing.begin_probe import Function
    from hindmost.core.tracing.times import write_times
    from hindmost.present.page import render_page
    from hindmost.present.terminal import render_terminal

    found = find_server(server, port=port, protocol=protocol)
    begun = None if probe_e4 is None else Function.parse(probe_e4, found)
    seconds = parse_duration(duration, "duration", 0.5)
    where = f"{found.name}, port {found.port}, as {found.protocol}"
    earlier = None if before is None else _earlier(before)
    for name, one_in in (("--every", every), ("--windows", windows or 1)):
        if times is not None and one_in != 1:
            raise UsageError(
                "conflicting-options",
                f"--times needs every request, but {name} {one_in} keeps one in {one_in}",
                hint=f"leave out {name}",
                options=["--times", name],
                value=one_in,
            )
    if windows is None and (records or latency_log or times):
        windows = 1
        say("all requests are traced, because the file needs them; --windows N records a part of the time")
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
            say(f"{count} service times: {times}; to fit a clone: hindmost clone fit {times}")
        if records is None:
            document = msgspec.structs.replace(document, records=None)
    shown = view(document, earlier)
    print(encode(document) if json_ else render_terminal(shown), end="\n" if json_ else "")
    if page is not None:
        write_files({page: render_page(shown)})
        say(f"page: {page}")
    return Exit.DONE


def _earlier(path: Path) -> Trace:
    """Read an earlier document of ``hindmost trace --json``."""
    from hindmost.core.tracing.document import read_trace

    try:
        return read_trace(path)
    except (OSError, ValueError) as error:
        raise UsageError(
            "unreadable-file" if isinstance(error, OSError) else "bad-file",
            f"--before: {path} is not a trace: {error}",
            hint="hindmost trace ... --json > before.json",
            option="--before",
            path=str(path),
        ) from None
