"""Several clients on one server, flat out, in alternation: requests per second of a client's CPU time.

For claims that need no capture. A client sleeps while it waits for the server.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from benches.peers.launch import Client
from benches.peers.peer import Job, Peer, Report

PATIENCE_S = 30.0


def sleeping(peer: Peer, **target: object) -> Peer:
    """Return our client, which sleeps like the others and stamps nothing, with further target fields, such as
    TLS."""

    def command(job: Job, program: str) -> list[str]:
        words = peer.command(job, program)
        path = job.folder / "plan.json"
        plan = json.loads(path.read_text(encoding="utf-8"))
        plan["target"] |= target
        plan |= {"pacing": "sleep", "stamp_every": 0}
        path.write_text(json.dumps(plan), encoding="utf-8")
        return words

    return Peer(peer.name, peer.protocol, peer.source, command, peer.read)


def per_core(report: Report, cpu_s: float) -> float:
    """Return requests per second of client CPU time; of the measurement alone if the client reports that."""
    return report.requests / (cpu_s if report.cpu_s is None else report.cpu_s)


def flat_out(
    job: type[Job],
    address: str,
    clients: Mapping[str, tuple[Peer, str]],
    rounds: int,
    seconds: float,
    connections: int,
    cpu: int,
) -> dict[str, list[float]]:
    """Let each client drive the server in each round; `clients` are peers with their programs.

    Returns
    -------
    dict
        Requests per second of CPU time, by client and round.
    """
    found: dict[str, list[float]] = {name: [] for name in clients}
    expected = 30_000.0  # until a client has reported the rate of the server
    for number in range(rounds):
        for name, (peer, program) in clients.items():
            with tempfile.TemporaryDirectory(prefix="peers-") as place:
                folder = Path(place)
                asked = job(address, connections, seconds, None, expected, folder)
                ran = Client(peer.command(asked, program), cpu, folder).finish(seconds + PATIENCE_S)
                report = peer.read(asked, ran.out)
            expected = report.per_s
            found[name].append(value := per_core(report, ran.cpu_s))
            print(
                f"round {number + 1}  {name:16} {value:10,.0f} a core-second,"
                f" {report.per_s:10,.0f}/s, {report.errors} errors",
                file=sys.stderr,
            )
    return found
