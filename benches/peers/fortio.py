"""fortio: a goroutine per connection, each with its own even schedule; a histogram with buckets of about 10
%."""

from __future__ import annotations

import json

from benches.peers.peer import Job, Peer, Report, Source, Unreadable


def _command(job: Job, program: str) -> list[str]:
    rate = 0 if job.rate is None else job.rate  # 0: flat out
    return [
        program,
        "load",
        "-quiet",
        "-json",
        "-",
        "-c",
        str(job.connections),
        "-t",
        f"{job.seconds:g}s",
        "-qps",
        f"{rate:g}",
        "-uniform",
        "-r",
        "0.000001",
        "-p",
        "50,99,99.9",
        job.url,
    ]


def read(job: Job, out: str) -> Report:
    """Parse its JSON; it reports seconds."""
    try:
        said = json.loads(out)
        histogram = said["DurationHistogram"]
        found = {f"p{one['Percentile']:g}": one["Value"] * 1e6 for one in histogram["Percentiles"]}
    except (ValueError, KeyError):
        raise Unreadable("fortio", "DurationHistogram", out) from None
    found |= {"mean": histogram["Avg"] * 1e6, "max": histogram["Max"] * 1e6}
    requests = said["RetCodes"].get("200", 0)
    return Report(requests, said["ActualQPS"], histogram["Count"] - requests, found)


FORTIO = Peer(
    "fortio", "http", Source("go", "fortio.org/fortio", "v1.66.5", "fortio"), _command, read, paced=True
)
