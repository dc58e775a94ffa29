"""HTTPS compared with other load testers: ``python -m benches.peers.https``, requests per second of CPU
time.

One nginx worker over TLS on the first CPU, each client in turn on the second, closed loop, flat out. Rounds
alternate over all clients, so that interference affects all of them. A client sleeps while it waits for the
server.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from benches.peers.flat import flat_out, sleeping
from benches.peers.install import find
from benches.peers.oha import OHA
from benches.peers.ourselves import HINDMOST
from benches.peers.peer import Job, Peer
from benches.peers.wrk import WRK
from hindmost.core.targets import ManagedServer, load_target_file

EXAMPLE = Path(__file__).parents[2] / "examples/targets/nginx-tls.toml"
OURS = next(peer for peer in HINDMOST if peer.protocol == "http")
LEAST = 0.95
"""Required ratio to the best of the others."""


@dataclass(frozen=True)
class SecuredJob(Job):
    """A job whose server uses TLS."""

    @property
    def url(self) -> str:
        """Return the URL for HTTP clients."""
        return super().url.replace("http://", "https://")


@contextmanager
def server(cpu: int) -> Iterator[ManagedServer]:
    """Start nginx with one worker on `cpu`, and a certificate made for it."""
    with tempfile.TemporaryDirectory(prefix="secured-") as place:
        folder = Path(place)
        shutil.copy(EXAMPLE, folder)
        subprocess.run(
            [
                *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"),
                *("-nodes", "-days", "2", "-subj", "/CN=localhost"),
                *("-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"),
                *("-keyout", folder / "server.key", "-out", folder / "server.pem"),
            ],
            check=True,
            capture_output=True,
        )
        with ManagedServer(load_target_file(folder / EXAMPLE.name), cpus=[cpu]) as running:
            yield running


def theirs(peer: Peer) -> Callable[[Job, str], list[str]]:
    """Return a peer's command; oha is told not to verify the certificate, and wrk never does."""
    extra = ["--insecure"] if peer is OHA else []

    def command(job: Job, program: str) -> list[str]:
        first, *others = peer.command(job, program)
        return [first, *extra, *others]

    return command


def clients(program: Mapping[str, str]) -> dict[str, tuple[Peer, str]]:
    """Return our client, wrk and oha over TLS, if installed or given by path."""
    peers = [sleeping(OURS, tls={"verify": False})]
    peers += [replace(peer, command=theirs(peer)) for peer in (WRK, OHA)]
    paths = {peer.name: program.get(peer.name) or find(peer.source).path for peer in peers}
    return {peer.name: (peer, path) for peer in peers if (path := paths[peer.name]) is not None}


def main() -> int:
    """Measure, and print medians and ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--program", action="append", default=[], metavar="NAME=PATH")
    asked = parser.parse_args()
    given = dict(one.split("=", 1) for one in asked.program)
    cpus = sorted(os.sched_getaffinity(0))
    with server(cpus[0]) as running:
        found = flat_out(
            SecuredJob,
            running.address,
            clients(given),
            asked.rounds,
            asked.seconds,
            asked.connections,
            cpus[-1],
        )
    medians = {name: statistics.median(values) for name, values in found.items()}
    best = max((value for name, value in medians.items() if name != OURS.name), default=float("nan"))
    for name, value in medians.items():
        low, high = min(found[name]), max(found[name])
        print(f"{name:10} {value:10,.0f} a core-second [{low:,.0f}, {high:,.0f}]")
    ratio = medians[OURS.name] / best
    print(f"ratio of ours to the best of the others: {ratio:.2f}, required: {LEAST}")
    return 0 if ratio >= LEAST else 1


if __name__ == "__main__":
    sys.exit(main())
