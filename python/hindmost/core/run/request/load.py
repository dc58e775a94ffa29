"""Options about the server and the load: their names, types, defaults and help are declared here only."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from hindmost.core.laws import DEFAULT_LAW, KINDS
from hindmost.core.run.request.options import Option


@dataclass(frozen=True, kw_only=True)
class LoadOptions:
    """The server and the load on it."""

    target: Annotated[
        str | None,
        Option(
            "Target",
            None,
            "A running server (memcached://HOST:PORT, redis://HOST:PORT, http://HOST:PORT/PATH), a preset"
            " that is started and restarted (memcached, redis, nginx, apache, synth), or a target file"
            " (TOML).",
        ),
    ] = None
    sharding: Annotated[
        Literal["round-robin", "ketama", "modulo"],
        Option(
            "Target",
            "HOW",
            "How requests are spread over several servers (HOST:PORT,HOST:PORT): in turn, or by key as in"
            " libmemcached.",
        ),
    ] = "round-robin"
    ca: Annotated[
        Path | None,
        Option("Target", "FILE", "TLS: certificates of accepted CAs. [default: this host's]"),
    ] = None
    cert: Annotated[
        Path | None, Option("Target", "FILE", "TLS: client certificate, if the server wants one.")
    ] = None
    key: Annotated[Path | None, Option("Target", "FILE", "TLS: private key of --cert.")] = None
    sni: Annotated[
        str | None,
        Option("Target", "NAME", "TLS: name in the server's certificate. [default: TARGET's host]"),
    ] = None
    insecure: Annotated[bool, Option("Target", None, "TLS: do not verify the server's certificate.")] = False
    resumption: Annotated[
        Literal["on", "off"],
        Option("Target", "HOW", "TLS: resume sessions on new connections."),
    ] = "on"
    user: Annotated[
        str | None, Option("Target", "NAME", "User name for redis or PostgreSQL. [default: as in TARGET]")
    ] = None
    password: Annotated[
        str | None,
        Option("Target", "WHERE", "Password, as env:VARIABLE or file:PATH. It is never stored."),
    ] = None
    database: Annotated[
        str | None, Option("Target", "NAME", "Number (redis) or name (PostgreSQL) of the database.")
    ] = None
    server_cpus: Annotated[
        str | None, Option("Target", "CPUS", "CPUs of a server that is started here, like 0 or 0-3.")
    ] = None
    rate: Annotated[
        str | None,
        Option(
            "Load",
            "RATE",
            "Requests per second of all clients together, like 50k. [default: 10k; web URLs: 100]",
        ),
    ] = None
    workload: Annotated[
        Path | None,
        Option(
            "Load",
            "FILE",
            "JSON file with mix, sizes and popularity, or a published mix: facebook-etc, facebook-usr or"
            " facebook-var. [default: 90 % get, 200-byte values]",
        ),
    ] = None
    method: Annotated[
        str | None,
        Option("Load", "METHOD", "HTTP method of every request. [default: POST with --body, else GET]"),
    ] = None
    body: Annotated[
        str | None,
        Option(
            "Load",
            "TEXT|@FILE",
            "HTTP body of every request, or WebSocket message. Text may contain fields like {{int:1..1000}}"
            " or {{uuid}}.",
        ),
    ] = None
    header: Annotated[
        tuple[str, ...],
        Option(
            "Load",
            "'NAME: VALUE'",
            "HTTP header of every request, like 'Authorization: Bearer env:TOKEN'; may be repeated.",
        ),
    ] = ()
    requests: Annotated[
        Path | None,
        Option(
            "Load",
            "FILE",
            "HTTP requests from a HAR file, an OpenAPI document or vegeta targets.",
        ),
    ] = None
    descriptors: Annotated[
        Path | None,
        Option(
            "Load",
            "FILE",
            "gRPC: descriptor set (protoc --include_imports --descriptor_set_out) to encode messages that are"
            " written as JSON.",
        ),
    ] = None
    accept: Annotated[
        str | None,
        Option(
            "Load",
            "CODES",
            "HTTP status codes that count as success, like 2xx,304. 404 and 410 count as misses, all others"
            " as errors. [default: 2xx]",
        ),
    ] = None
    check: Annotated[
        tuple[str, ...],
        Option(
            "Load",
            "CHECK",
            "HTTP/1: count a reply that fails this check as an error: 'body contains TEXT', 'header NAME:"
            " VALUE', 'size<=10k'; may be repeated.",
        ),
    ] = ()
    follow: Annotated[
        int | None,
        Option(
            "Load",
            "N",
            "HTTP/1: follow up to N redirections of a request to the same server; its latency includes them."
            " [default: a redirection is an error]",
            least=1,
            most=20,
        ),
    ] = None
    stream: Annotated[
        bool,
        Option(
            "Load",
            None,
            "Also measure the time to the first message of a reply, and the gaps between its messages:"
            " server-sent events, other chunks (HTTP/1), or messages of gRPC calls.",
        ),
    ] = False
    arrivals: Annotated[
        str,
        Option(
            "Load",
            "LAW",
            f"Distribution of the gaps between requests, like gamma:shape=2: {', '.join(KINDS)}.",
        ),
    ] = DEFAULT_LAW
    schedule: Annotated[
        str | None,
        Option(
            "Load",
            "SHAPE",
            "How the rate varies around --rate within a run: sine:amplitude=0.5,period=10s, steps:1,3,1,"
            " ramp:1,2, Facebook's var, app or etc, or a CSV file of seconds and rates. [default: constant]",
        ),
    ] = None
    closed: Annotated[
        bool,
        Option("Load", None, "Closed loop, to see its bias. Without --rate, as fast as possible."),
    ] = False
    timeout: Annotated[
        str, Option("Load", "TIME", "A request without a reply after this time has infinite latency.")
    ] = "2s"
    seed: Annotated[int, Option("Load", "N", "Random seed of requests and arrivals.")] = 1
