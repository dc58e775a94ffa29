"""Options about clients and procedure: their names, types, defaults and help are declared here only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from hindmost.core.run.request.options import Option


@dataclass(frozen=True, kw_only=True)
class CourseOptions:
    """Which clients send requests, and in which runs."""

    clients: Annotated[
        int | None,
        Option(
            "Clients",
            "N",
            "Client processes. [default: as many as the rate needs, each with a core of its own]",
            least=1,
            most=1024,
        ),
    ] = None
    threads: Annotated[int, Option("Clients", "N", "Worker threads of each client.", least=1, most=256)] = 1
    connections: Annotated[
        int, Option("Clients", "N", "Connections of all clients together.", least=1, most=100_000)
    ] = 16
    source: Annotated[
        str | None,
        Option(
            "Clients",
            "ADDRESSES",
            "Local addresses to connect from, in turn. Each has 28,000 ports for one server.",
        ),
    ] = None
    client_cpus: Annotated[
        str | None,
        Option("Clients", "CPUS", "CPUs of the clients. [default: all except the server's]"),
    ] = None
    fleet: Annotated[
        str | None,
        Option(
            "Clients",
            "HOSTS",
            "Load hosts: a TOML file that names them (SSH), or the address of a Dask scheduler,"
            " tls://HOST:8786. [default: this host]",
        ),
    ] = None
    pacing: Annotated[
        Literal["auto", "spin", "sleep"],
        Option(
            "Clients",
            "HOW",
            "How clients wait between requests; auto spins if each has its own CPU.",
        ),
    ] = "auto"
    io: Annotated[
        Literal["epoll", "io_uring"],
        Option(
            "Clients", "HOW", "System calls that clients use; io_uring makes two per request (Linux 6.1)."
        ),
    ] = "epoll"
    in_flight: Annotated[
        int | None,
        Option(
            "Clients",
            "N",
            "Maximum number of requests in flight on a connection, pipelined or in streams. Further requests"
            " wait in the client; their latency counts from the scheduled time."
            " [default: unlimited; with --closed: 1]",
            least=1,
            most=4096,
        ),
    ] = None
    requests_per_connection: Annotated[
        int | None,
        Option(
            "Clients",
            "N",
            "Close a connection after this many requests, sent one at a time, and open a new one. Latency"
            " includes the time to connect, with TLS and login. [default: unlimited]",
            least=1,
            most=2**32 - 1,
        ),
    ] = None
    batching: Annotated[
        str,
        Option(
            "Clients",
            "HOW",
            "Send each request alone (none), by Nagle's algorithm (nagle), or together with others scheduled"
            " within an interval, like 100us. Latency counts from the scheduled time.",
        ),
    ] = "none"
    quick: Annotated[
        bool,
        Option(
            "Procedure",
            None,
            "Take a first look in about 15 s: 3 short runs with wide intervals.",
        ),
    ] = False
    runs: Annotated[
        str | None,
        Option(
            "Procedure",
            "MIN..MAX",
            "Minimum and maximum number of runs, or a fixed number. [default: 10..30; 5..9 with --find-rate]",
            may_change=True,
        ),
    ] = None
    precision: Annotated[
        str | None,
        Option(
            "Procedure",
            "SHARE",
            "Stop when each interval's half-width is at most this share of the value. [default: 5%]",
            may_change=True,
        ),
    ] = None
    decide_on: Annotated[
        Literal["isolated", "raw"],
        Option("Procedure", "LATENCY", "Latency that decides the verdict if there was interference."),
    ] = "isolated"
    remake: Annotated[
        str | None,
        Option(
            "Procedure",
            "SHARE",
            "Exclude runs with interference and repeat up to this share of the requested runs. 0 counts all"
            " runs. [default: 50%]",
            may_change=True,
        ),
    ] = None
    duration: Annotated[
        str | None,
        Option(
            "Procedure",
            "TIME",
            "Length of the measurement in each run. [default: 10s; shorter with compare --live]",
        ),
    ] = None
    warmup: Annotated[
        str | None,
        Option(
            "Procedure",
            "TIME",
            "Length of the warm-up, or auto: until steady. [default: auto; shorter with compare --live]",
        ),
    ] = None
    quantiles: Annotated[str, Option("Procedure", "LIST", "Percentiles to report.")] = "50,95,99,99.9"
    stamps: Annotated[
        str,
        Option(
            "Procedure",
            "EVERY|off",
            "Measure wire latency by kernel time stamps of one request in this many.",
        ),
    ] = "16"
    sentinel: Annotated[
        Literal["auto", "off"],
        Option(
            "Procedure",
            "HOW",
            "Run a thread on the server's CPUs that detects interference there. It uses up to 2 % of them.",
        ),
    ] = "auto"
    verify_wire: Annotated[
        bool,
        Option(
            "Procedure",
            None,
            "Capture packets during each run (tcpdump) and compare our latencies with theirs.",
        ),
    ] = False
    trace: Annotated[
        bool,
        Option(
            "Procedure",
            None,
            "Trace the server's requests during each run: stages, and threads that delay them.",
        ),
    ] = False
    live: Annotated[
        bool,
        Option(
            "Output",
            None,
            "Show rate, failures, p50 and p99 of every second while a run goes on. Needs a CPU that no client"
            " uses.",
        ),
    ] = False
    samples: Annotated[
        int,
        Option(
            "Output",
            "N",
            "Random requests to store of each run, besides the slowest 1000.",
            most=10_000_000,
        ),
    ] = 20_000
