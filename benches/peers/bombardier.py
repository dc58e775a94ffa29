"""bombardier: a goroutine per connection, latency from the send; reports microseconds."""

from __future__ import annotations

import json

from benches.peers.peer import Job, Peer, Report, Source, Unreadable

_LEVELS = {"p50": "50", "p99": "99"}


def _command(job: Job, program: str) -> list[str]:
    paced = [] if job.rate is None else [f"--rate={round(job.rate)}"]
    how = ["--latencies", "--format=json", "--print=result"]
    return [program, f"-c{job.connections}", f"-d{job.seconds:g}s", *paced, *how, job.url]


def read(job: Job, out: str) -> Report:
    """Parse its JSON."""
    try:
        result = json.loads(out)["result"]
        latency, requests = result["latency"], result["req2xx"]
        found = {name: latency["percentiles"][theirs] for name, theirs in _LEVELS.items()}
    except (ValueError, KeyError):
        raise Unreadable("bombardier", "result", out) from None
    found |= {"mean": latency["mean"], "max": latency["max"]}
    errors = result["others"] + sum(result[f"req{n}xx"] for n in (1, 3, 4, 5))
    return Report(requests, requests / result["timeTakenSeconds"], errors, found)


BOMBARDIER = Peer(
    "bombardier",
    "http",
    Source("go", "github.com/codesenberg/bombardier", "v1.2.6", "bombardier"),
    _command,
    read,
    paced=True,
)
