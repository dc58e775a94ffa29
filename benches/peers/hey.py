"""hey: a goroutine per connection, each with a ticker if a rate is given; lists every request in units of 0.1
ms."""

from __future__ import annotations

import csv
import io

import numpy as np

from benches.peers.peer import Job, Peer, Report, Source, Unreadable
from benches.peers.samples import figures


def _command(job: Job, program: str) -> list[str]:
    paced = [] if job.rate is None else ["-q", f"{job.rate / job.connections:.6f}"]
    # Without -cpus it would start a thread for each CPU of the machine, including those that it may not
    # use.
    return [
        program,
        "-c",
        str(job.connections),
        "-z",
        f"{job.seconds:g}s",
        "-cpus",
        "1",
        "-o",
        "csv",
        *paced,
        job.url,
    ]


def read(job: Job, out: str) -> Report:
    """Parse its list; its summary has the same resolution but no p99.9."""
    rows = list(csv.DictReader(io.StringIO(out)))
    if not rows or "response-time" not in rows[0]:
        raise Unreadable("hey", "requests", out)
    latency_us = np.array([float(row["response-time"]) for row in rows]) * 1e6
    ends = np.array([float(row["offset"]) + float(row["response-time"]) for row in rows])
    errors = sum(row["status-code"] != "200" for row in rows)
    return Report(len(rows) - errors, len(rows) / float(ends.max()), errors, figures(latency_us))


HEY = Peer("hey", "http", Source("debian", "hey", "0.1.4", "hey"), _command, read, paced=True)
