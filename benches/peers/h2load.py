"""nghttp2's h2load, over HTTP/1.1: a timer per connection; logs every request in whole microseconds."""

from __future__ import annotations

import re

import numpy as np

from benches.peers.peer import Job, Peer, Report, Source, Unreadable
from benches.peers.samples import figures

_LOG = "requests.tsv"


def _command(job: Job, program: str) -> list[str]:
    paced = [] if job.rate is None else [f"--rps={job.rate / job.connections:.6f}"]
    return [
        program,
        "--h1",
        "-t",
        "1",
        "-c",
        str(job.connections),
        "-D",
        f"{job.seconds:g}",
        f"--log-file={job.folder / _LOG}",
        *paced,
        job.url,
    ]


def read(job: Job, out: str) -> Report:
    """Parse counts from its summary, latencies from its log (start, status, microseconds)."""
    done = re.search(r"^requests: .* ([0-9]+) succeeded, ([0-9]+) failed", out, re.MULTILINE)
    rate = re.search(r"^finished in .*?([0-9.]+) req/s", out, re.MULTILINE)
    if done is None or rate is None:
        raise Unreadable("h2load", "requests", out)
    rows = np.loadtxt(job.folder / _LOG, dtype=np.int64, ndmin=2)
    return Report(int(done[1]), float(rate[1]), int(done[2]), figures(rows[:, 2]))


H2LOAD = Peer(
    "h2load", "http", Source("debian", "nghttp2-client", "1.52.0", "h2load"), _command, read, paced=True
)
