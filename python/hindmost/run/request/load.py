"""Options about the server and the load: their names, types, defaults and help stand here alone."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from hindmost.laws import KINDS, USUAL
from hindmost.run.request.options import Option


@dataclass(frozen=True, kw_only=True)
class LoadOptions:
    """What is measured, and what it is asked."""

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
            "Which of several servers (HOST:PORT,HOST:PORT) a request goes to: in turn, or by its key as"
            " libmemcached decides.",
        ),
    ] = "round-robin"
    ca: Annotated[
        Path | None,
        Option(
            "Target", "FILE", "TLS: CAs that may have issued the server's certificate. [default: this host's]"
        ),
    ] = None
    cert: Annotated[Path | None, Option("Target", "FILE", "TLS: our certificate, for servers that ask.")] = (
        None
    )
    key: Annotated[Path | None, Option("Target", "FILE", "TLS: the private key of --cert.")] = None
    sni: Annotated[
        str | None,
        Option("Target", "NAME", "TLS: the name that its certificate must hold. [default: TARGET's host]"),
    ] = None
    insecure: Annotated[bool, Option("Target", None, "TLS: do not verify the server's certificate.")] = False
    resumption: Annotated[
        Literal["on", "off"],
        Option("Target", "HOW", "TLS: whether connections made anew take up earlier sessions."),
    ] = "on"
    user: Annotated[
        str | None, Option("Target", "NAME", "Who logs in: redis, PostgreSQL. [default: as TARGET says]")
    ] = None
    password: Annotated[
        str | None,
        Option("Target", "WHERE", "The password: env:VARIABLE or file:PATH; no document holds it."),
    ] = None
    database: Annotated[
        str | None, Option("Target", "NAME", "Number (redis) or name (PostgreSQL) of the database.")
    ] = None
    server_cpus: Annotated[
        str | None, Option("Target", "CPUS", "Processors of a server that is started here, like 0 or 0-3.")
    ] = None
    rate: Annotated[
        str | None,
        Option("Load", "RATE", "Requests a second of all clients together, like 50k. [default: 10k]"),
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
            "HTTP body of every request, or message of WebSocket; a text may have fields like {{int:1..1000}}"
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
        Option("Load", "FILE", "HTTP requests of a vegeta targets file, an OpenAPI document or a HAR file."),
    ] = None
    descriptors: Annotated[
        Path | None,
        Option(
            "Load",
            "FILE",
            "gRPC: descriptors of the protos (protoc --include_imports --descriptor_set_out), by which"
            " messages written as JSON become bytes.",
        ),
    ] = None
    accept: Annotated[
        str | None,
        Option(
            "Load",
            "CODES",
            "HTTP status codes that are a success, like 2xx,304; 404 and 410 are misses, all others errors."
            " [default: 2xx]",
        ),
    ] = None
    arrivals: Annotated[
        str,
        Option(
            "Load",
            "LAW",
            f"Law of the gaps between requests, with its parameters, like gamma:shape=2: {', '.join(KINDS)}.",
        ),
    ] = USUAL
    schedule: Annotated[
        str | None,
        Option(
            "Load",
            "SHAPE",
            "How the rate changes in each run, about --rate: sine:amplitude=0.5,period=10s, steps:1,3,1,"
            " ramp:1,2, Facebook's var, app or etc, or a CSV file of seconds and rates. [default: constant]",
        ),
    ] = None
    closed: Annotated[
        bool, Option("Load", None, "Closed loop, to see its bias; without --rate as fast as it goes.")
    ] = False
    timeout: Annotated[
        str, Option("Load", "TIME", "A request without reply for so long counts as infinitely late.")
    ] = "2s"
    seed: Annotated[int, Option("Load", "N", "Same seed, same requests.")] = 1
