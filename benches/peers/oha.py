"""oha: asynchronous tasks; latency from the scheduled time with ``--latency-correction``."""

from __future__ import annotations

import json

from benches.peers.peer import Job, Peer, Report, Source, Unreadable

_LEVELS = ("p50", "p99", "p99.9")


def _command(job: Job, program: str) -> list[str]:
    paced = [] if job.rate is None else ["-q", f"{round(job.rate)}", "--latency-correction"]
    return [
        program,
        "--no-tui",
        "--output-format",
        "json",
        "-c",
        str(job.connections),
        "-z",
        f"{job.seconds:g}s",
        *paced,
        job.url,
    ]


def read(job: Job, out: str) -> Report:
    """Parse its JSON; it reports seconds."""
    try:
        said = json.loads(out)
        summary, latency = said["summary"], said["latencyPercentiles"]
        statuses = said["statusCodeDistribution"]
    except (ValueError, KeyError):
        raise Unreadable("oha", "summary", out) from None
    # Requests in flight at the end are listed as errors, but are not.
    wrong = {text: n for text, n in said.get("errorDistribution", {}).items() if "deadline" not in text}
    found = {level: latency[level] * 1e6 for level in _LEVELS}
    found |= {"mean": summary["average"] * 1e6, "max": summary["slowest"] * 1e6}
    requests = statuses.get("200", 0)
    errors = sum(statuses.values()) - requests + sum(wrong.values())
    return Report(requests, summary["requestsPerSec"], errors, found)


OHA = Peer("oha", "http", Source("cargo", "oha", "1.16.0", "oha"), _command, read, paced=True)
