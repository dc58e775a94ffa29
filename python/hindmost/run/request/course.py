"""Options about clients and procedure: their names, types, defaults and help stand here alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from hindmost.run.request.options import Option


@dataclass(frozen=True, kw_only=True)
class CourseOptions:
    """Who asks, and in which runs."""

    clients: Annotated[
        int | None,
        Option(
            "Clients",
            "N",
            "Load instances. [default: one for each processor left for clients]",
            least=1,
            most=1024,
        ),
    ] = None
    threads: Annotated[int, Option("Clients", "N", "Worker threads of each instance.", least=1, most=256)] = 1
    connections: Annotated[
        int, Option("Clients", "N", "Connections of all instances together.", least=1, most=100_000)
    ] = 16
    source: Annotated[
        str | None,
        Option(
            "Clients",
            "ADDRESSES",
            "Own addresses to connect from, in turn: each has 28,000 ports towards one server.",
        ),
    ] = None
    client_cpus: Annotated[
        str | None, Option("Clients", "CPUS", "Processors of the clients. [default: all but the server's]")
    ] = None
    fleet: Annotated[
        str | None,
        Option(
            "Clients",
            "HOSTS",
            "Load machines: a TOML file that names hosts (SSH), or the address of a Dask scheduler,"
            " tls://HOST:8786. [default: this one]",
        ),
    ] = None
    pacing: Annotated[
        Literal["auto", "spin", "sleep"],
        Option("Clients", "HOW", "How clients wait; auto spins where each has a processor of its own."),
    ] = "auto"
    io: Annotated[
        Literal["epoll", "io_uring"],
        Option(
            "Clients", "HOW", "How clients ask the kernel; io_uring makes two calls a request (Linux 6.1)."
        ),
    ] = "epoll"
    in_flight: Annotated[
        int | None,
        Option(
            "Clients",
            "N",
            "Requests in flight on a connection at most, pipelined or in streams of their own; what is due"
            " beyond waits at the client, its latency counted from when it was due."
            " [default: as many as come; with --closed: 1]",
            least=1,
            most=4096,
        ),
    ] = None
    requests_per_connection: Annotated[
        int | None,
        Option(
            "Clients",
            "N",
            "Requests that each connection carries, one at a time, before it is closed and the next is made;"
            " the time to connect, with TLS and login, is in latency."
            " [default: as many as the server lets it]",
            least=1,
            most=2**32 - 1,
        ),
    ] = None
    batching: Annotated[
        str,
        Option(
            "Clients",
            "HOW",
            "Requests due on a connection leave each alone (none), by Nagle's algorithm (nagle), or together"
            " within an interval, like 100us; latency counts from when each was due.",
        ),
    ] = "none"
    quick: Annotated[
        bool,
        Option(
            "Procedure",
            None,
            "A first look in some 15 s: 3 short runs, wide intervals, no precision promised.",
        ),
    ] = False
    runs: Annotated[
        str | None,
        Option(
            "Procedure",
            "MIN..MAX",
            "Runs at least and at most, or just 5. [default: 10..30; 5..8 with --find-rate]",
            may_change=True,
        ),
    ] = None
    precision: Annotated[
        str | None,
        Option(
            "Procedure",
            "SHARE",
            "Stop when each percentile's interval is within this share of its value. [default: 5%]",
            may_change=True,
        ),
    ] = None
    decide_on: Annotated[
        Literal["isolated", "raw"],
        Option(
            "Procedure",
            "LATENCY",
            "Where interference was seen, isolated latency decides whether the study is valid; raw: latency"
            " decides always.",
            may_change=True,
        ),
    ] = "isolated"
    remake: Annotated[
        str | None,
        Option(
            "Procedure",
            "SHARE",
            "Set aside runs that the host disturbed, and make so many more again, as a share of those asked"
            " for; 0: all runs count. [default: 50%]",
            may_change=True,
        ),
    ] = None
    duration: Annotated[str, Option("Procedure", "TIME", "Length of the measurement in each run.")] = "10s"
    warmup: Annotated[str, Option("Procedure", "TIME", "Length of the warm-up, or auto: until steady.")] = (
        "auto"
    )
    quantiles: Annotated[str, Option("Procedure", "LIST", "Percentiles to report.")] = "50,95,99,99.9"
    aggregate: Annotated[
        Literal["mean", "median"],
        Option("Procedure", "HOW", "How the percentiles of a run's instances make the run's."),
    ] = "mean"
    over_runs: Annotated[
        Literal["median", "mean"],
        Option(
            "Procedure",
            "HOW",
            "What intervals over runs are about: the median (what a run is like), or their mean.",
        ),
    ] = "median"
    stamps: Annotated[
        str,
        Option(
            "Procedure",
            "EVERY|off",
            "Wire latency by the kernel's stamps of one request in so many, or none.",
        ),
    ] = "16"
    sentinel: Annotated[
        Literal["auto", "off"],
        Option(
            "Procedure",
            "HOW",
            "A thread on the server's processors that sees when others have them, for calm latency; it takes"
            " up to 2 % of them.",
        ),
    ] = "auto"
    verify_wire: Annotated[
        bool,
        Option(
            "Procedure",
            None,
            "Capture packets beside each run (tcpdump) and lay our latencies beside theirs.",
        ),
    ] = False
    trace: Annotated[
        bool,
        Option(
            "Procedure",
            None,
            "Follow the server's requests through the kernel beside each run: stages, and who held them up.",
        ),
    ] = False
    samples: Annotated[
        int,
        Option("Output", "N", "Single requests kept of each run, beside the worst 1000.", most=10_000_000),
    ] = 20_000
