"""Several clients at one server, flat out, in turns: requests for each second of a client's processor.

For claims that no capture is needed for. Whoever waits for the server sleeps.
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
    """Ours, which sleeps as others do, stamps nothing, and has more to say of the target, such as TLS."""

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
    """Requests a second of client processor; of the measurement alone where the client tells it."""
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
        Requests for each second of processor, by client and round.
    """
    found: dict[str, list[float]] = {name: [] for name in clients}
    expected = 30_000.0  # until somebody has said how many a second the server answers
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
