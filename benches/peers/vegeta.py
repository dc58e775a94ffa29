"""vegeta: a goroutine per request in flight; lists every request in nanoseconds, latency from the send."""

from __future__ import annotations

import csv
import subprocess
from pathlib import Path

import numpy as np

from benches.peers.install import find
from benches.peers.peer import Job, Peer, Report, Source, Unreadable
from benches.peers.samples import figures

_RESULTS, _LIST = "results.bin", "summary.csv"
_SOURCE = Source("go", "github.com/tsenart/vegeta/v12", "v12.13.0", "vegeta")
_SENT, _CODE, _LATENCY = 0, 1, 2
"""Columns of the list: nanoseconds since the epoch, status code, nanoseconds."""


def _command(job: Job, program: str) -> list[str]:
    targets = job.folder / "script.targets"
    targets.write_text(f"GET {job.url}\n", encoding="utf-8")
    many = job.connections
    return [
        program,
        "-cpus=1",
        "attack",
        f"-targets={targets}",
        f"-rate={round(job.rate or 0)}",  # 0: as fast as its workers can
        f"-duration={job.seconds:g}s",
        f"-workers={many}",
        f"-max-workers={many}",
        f"-connections={many}",
        f"-max-connections={many}",
        "-http2=false",
        "-max-body=0",
        f"-output={job.folder / _RESULTS}",
    ]


def _decode(job: Job, listed: Path) -> None:
    """Let vegeta write its binary results as a list, after the measurement."""
    results = job.folder / _RESULTS
    program = find(_SOURCE).path
    if program is not None and results.exists():
        command = [program, "encode", "-to=csv", f"-output={listed}", str(results)]
        subprocess.run(command, check=True, capture_output=True)


def read(job: Job, out: str) -> Report:
    """Parse its list of requests; its own report has no p99.9."""
    listed = job.folder / _LIST
    if not listed.exists():
        _decode(job, listed)
    try:
        with listed.open(newline="", encoding="utf-8") as file:
            rows = [(int(row[_SENT]), int(row[_LATENCY]), row[_CODE]) for row in csv.reader(file)]
        sent_ns, latency_ns = (np.array(values) for values in list(zip(*rows, strict=True))[:2])
    except (OSError, ValueError, IndexError):
        raise Unreadable("vegeta", "requests", out) from None
    seconds = float((sent_ns + latency_ns).max() - sent_ns.min()) / 1e9
    errors = sum(code != "200" for _, _, code in rows)
    return Report(len(rows) - errors, len(rows) / seconds, errors, figures(latency_ns / 1e3))


VEGETA = Peer("vegeta", "http", _SOURCE, _command, read, paced=True)
