"""All claims about the client's cost in one table: ``python -m benches.peers.claims --rounds 5``.

Each protocol is compared with its own tools and the null client, flat out on a server on the first CPU, with
the clients alternating on the second. A ratio is ours divided by theirs within a round, in requests per
second of a client's CPU time; the table has median, minimum and maximum over rounds. Missing tools are
listed.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benches import http2
from benches.peers import dnsperf, ghz, https, native_tool, pgbench, servers
from benches.peers.flat import PATIENCE_S, flat_out, sleeping
from benches.peers.h2load import H2LOAD
from benches.peers.install import find, install_sources
from benches.peers.launch import Client
from benches.peers.null_client import NULL_CLIENT
from benches.peers.oha import OHA
from benches.peers.ourselves import HINDMOST, fill
from benches.peers.pages import describe_host, show
from benches.peers.peer import PROTOCOLS, Job, Peer, Protocol, Source
from benches.peers.redis_benchmark import REDIS_BENCHMARK
from benches.peers.wrk import WRK
from hindmost.core.targets import preset

LEAST, LEAST_OF_PLAIN = 0.95, 1.1
"""Required ratios: for any protocol; for HTTP/1.1 and RESP."""
LEAST_OF_NULL = 0.85
"""Required ratio to the null client: our own share of a request's cost is at most 15 %."""
CONNECTIONS = 16
OTHERS: dict[Protocol, tuple[Peer, ...]] = {
    "memcached": (),
    "redis": (REDIS_BENCHMARK,),
    "http": (WRK, OHA),
}

TOOLS = (
    *(peer.source for peer in (*NULL_CLIENT, REDIS_BENCHMARK, WRK, OHA, H2LOAD)),
    ghz.SOURCE,
    Source("debian", "dnsperf", "2.10.0", "dnsperf"),
)
"""Installable peers; pgbench comes with the server."""


@dataclass(frozen=True)
class Claim:
    """One claim: the ratio of ours to another's, by round."""

    protocol: str
    name: str
    ratios: Sequence[float]
    least: float

    def row(self) -> str:
        """Return the row of the table; a claim that only some rounds reach is undecided."""
        low, high = min(self.ratios), max(self.ratios)
        said = "held" if low >= self.least else "broken" if high < self.least else "undecided"
        middle = statistics.median(self.ratios)
        ratio = f"{middle:.2f} [{low:.2f}, {high:.2f}]"
        return f"| {self.protocol} | {self.name} | {ratio} | {self.least} | {said} |"


def _ratios_of_rounds(found: dict[str, list[float]], ours: str, name: str) -> list[float]:
    return [one / other for one, other in zip(found[ours], found[name], strict=True)]


def _fill(protocol: Protocol, address: str, cpu: int) -> None:
    """Store the keys that our client requests, so that each get hits."""
    with tempfile.TemporaryDirectory(prefix="peers-") as place:
        job = Job(address, CONNECTIONS, 0.2, None, 1.0, Path(place))
        program = find(HINDMOST[0].source).path or "hindmost"
        Client(fill(protocol, job, program), cpu, job.folder).finish(PATIENCE_S)


def _plain(protocol: Protocol, asked: argparse.Namespace, cpus: Sequence[int]) -> Iterator[Claim]:
    """Compare one of the contest's protocols with its tools and the null client."""
    null = next(peer for peer in NULL_CLIENT if peer.protocol == protocol)
    us = sleeping(next(peer for peer in HINDMOST if peer.protocol == protocol))
    paths = {peer: find(peer.source) for peer in (us, null, *OTHERS[protocol])}
    for peer, had in paths.items():
        if had.path is None:
            print(f"without {peer.name}: {had.remark}", file=sys.stderr)
    clients = {peer.name: (peer, had.path) for peer, had in paths.items() if had.path is not None}
    with servers.running(protocol, cpus[0]) as server:
        _fill(protocol, server.address, cpus[1])
        found = flat_out(Job, server.address, clients, asked.rounds, asked.seconds, CONNECTIONS, cpus[1])
    for name in clients:
        if name != us.name:
            of_others = LEAST if protocol == "memcached" else LEAST_OF_PLAIN
            least = LEAST_OF_NULL if name == null.name else of_others
            yield Claim(protocol, name, _ratios_of_rounds(found, us.name, name), least)


def _https_claims(asked: argparse.Namespace, cpus: Sequence[int]) -> Iterator[Claim]:
    clients = https.clients({})
    with https.server(cpus[0]) as running:
        found = flat_out(
            https.SecuredJob, running.address, clients, asked.rounds, asked.seconds, CONNECTIONS, cpus[1]
        )
    for name in clients:
        if name != https.OURS.name:
            yield Claim("https", name, _ratios_of_rounds(found, https.OURS.name, name), LEAST)


def _second(asked: argparse.Namespace) -> Iterator[Claim]:
    words = argparse.Namespace(rounds=asked.rounds, seconds=asked.seconds, connections=4, streams=25)
    pairs = zip(*http2.rounds_of(words), strict=True)
    yield Claim("http2", "h2load", [one[1] / other[1] for one, other in pairs], LEAST)


def _dns(asked: argparse.Namespace) -> Iterator[Claim]:
    us = native_tool.ours({"protocol": "dns"}, dnsperf.WORKLOAD)
    found = native_tool.rounds_of(
        preset("unbound"), "dnsperf", dnsperf.dnsperf, us, asked.seconds, asked.rounds
    )
    pairs = zip(found["hindmost"], found["dnsperf"], strict=True)
    yield Claim("dns", "dnsperf", [one[1] / other[1] for one, other in pairs], LEAST)


def _sql(asked: argparse.Namespace) -> Iterator[Claim]:
    us = native_tool.ours({"protocol": "postgresql", "login": pgbench.LOGIN}, pgbench.WORKLOAD)
    server = preset("postgresql")
    found = native_tool.rounds_of(server, "pgbench", pgbench.pgbench, us, asked.seconds, asked.rounds)
    pairs = zip(found["hindmost"], found["pgbench"], strict=True)
    yield Claim("postgresql", "pgbench", [one[1] / other[1] for one, other in pairs], LEAST)


def _calls(asked: argparse.Namespace) -> Iterator[Claim]:
    us = native_tool.ours(ghz.TARGET, ghz.WORKLOAD)
    found = native_tool.rounds_of(ghz.server(), "ghz", ghz.ghz, us, asked.seconds, asked.rounds)
    pairs = zip(found["hindmost"], found["ghz"], strict=True)
    yield Claim("grpc", "ghz", [one[1] / other[1] for one, other in pairs], LEAST)


def page(claims: Sequence[Claim], asked: argparse.Namespace) -> str:
    """Return the table, below the machine and the versions."""
    versions = {source.program: find(source).version for source in TOOLS if source.kind != "example"}
    named = ", ".join(f"{program} {version}" for program, version in versions.items() if version)
    return "\n".join(
        [
            f"Requests per second of client CPU time; medians [least, most] of {asked.rounds} rounds of "
            f"{asked.seconds:g} s; {describe_host()}. Clients: {named}.",
            "",
            "| protocol | compared with | Hindmost : other | goal | |",
            "| --- | --- | ---: | ---: | --- |",
            *(claim.row() for claim in claims),
        ]
    )


def main() -> int:
    """Measure all, print the table; return 1 if a claim is broken."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--seconds",
        type=int,
        default=2,
        help="length of each measurement; h2load and pgbench need whole seconds",
    )
    parser.add_argument("--install", action="store_true", help="install missing tools first")
    parser.add_argument(
        "--into", type=Path, metavar="PAGE.md", help="write the table to this page, between the marks"
    )
    asked = parser.parse_args()
    if asked.install:
        for program, why in install_sources(TOOLS).items():
            print(f"without {program}: {why}", file=sys.stderr)
    begun = time.monotonic()
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        sys.exit("error: there is only one CPU: server and client would compete for it")
    parts = [*(_plain(protocol, asked, cpus) for protocol in PROTOCOLS), _https_claims(asked, cpus)]
    parts += [_second(asked), _calls(asked), _sql(asked), _dns(asked)]
    found = []
    for part in parts:
        try:
            found += list(part)
        except (SystemExit, OSError, ValueError, subprocess.SubprocessError) as error:
            print(f"left out: {error}", file=sys.stderr)
    print(f"{time.monotonic() - begun:.0f} s in all", file=sys.stderr)
    show(page(found, asked), "CLAIMS", asked.into)
    return int(any(max(one.ratios, default=math.inf) < one.least for one in found))


if __name__ == "__main__":
    sys.exit(main())
