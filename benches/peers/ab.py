"""Apache's ab: closed loop, one thread; percentiles in milliseconds with three decimals, without p99.9."""

from __future__ import annotations

import csv
import re

from benches.peers.peer import Job, Peer, Report, Source, Unreadable

_TABLE = "percentiles.csv"


def _command(job: Job, program: str) -> list[str]:
    # -t alone would stop after 50 000 requests; a later -n sets a limit that is never reached.
    limit = 3 * job.requests
    return [
        program,
        "-k",
        "-q",
        "-c",
        str(job.connections),
        "-t",
        str(max(1, round(job.seconds))),
        "-n",
        str(limit),
        "-e",
        str(job.folder / _TABLE),
        job.url,
    ]


def _number(label: str, out: str) -> float:
    found = re.search(rf"^{re.escape(label)}:\s+([0-9.]+)", out, re.MULTILINE)
    if found is None:
        raise Unreadable("ab", label, out)
    return float(found[1])


def read(job: Job, out: str) -> Report:
    """Parse its summary, and the percentiles from the table that ``-e`` writes."""
    with (job.folder / _TABLE).open(encoding="ascii", newline="") as file:
        table = {row[0]: float(row[1]) * 1e3 for row in list(csv.reader(file))[1:]}
    latency = {"p50": table["50"], "p99": table["99"]}
    total = re.search(r"^Total:\s+\S+\s+\S+\s+\S+\s+\S+\s+([0-9]+)", out, re.MULTILINE)
    if total is not None:
        latency["max"] = float(total[1]) * 1e3
    requests = int(_number("Complete requests", out))
    # Mean time per request x requests = connections x length of the test, by ab's own arithmetic.
    latency["mean"] = _number("Time per request", out) * 1e3
    errors = int(_number("Failed requests", out))
    return Report(requests, _number("Requests per second", out), errors, latency)


AB = Peer("ab", "http", Source("debian", "apache2-utils", "2.4", "ab"), _command, read)
