"""redis-benchmark: closed loop, one thread; takes a number of requests instead of seconds."""

from __future__ import annotations

import re

from benches.peers.peer import KEYS, VALUE_BYTES, Job, Peer, Report, Source, Unreadable


def _command(job: Job, program: str) -> list[str]:
    return [
        program,
        "-h",
        job.host,
        "-p",
        job.port,
        "-c",
        str(job.connections),
        "-n",
        str(job.requests),
        "-r",
        str(KEYS),
        "-d",
        str(VALUE_BYTES),
        "-t",
        "get",
        "--precision",
        "3",
    ]


def read(job: Job, out: str) -> Report:
    """Parse its last report (it overwrites a progress line before).

    A percentile is its first row that reaches it: the levels of rows become ever finer, at least up to 99.9
    %.
    """
    text = out.replace("\r", "\n")
    rows = re.findall(
        r"^([0-9.]+)% <= ([0-9.]+) milliseconds \(cumulative count ([0-9]+)\)", text, re.MULTILINE
    )
    rate = re.search(r"throughput summary: ([0-9.]+) requests per second", text)
    summary = re.search(r"avg\s+min\s+p50\s+p95\s+p99\s+max\s+([0-9. ]+)", text)
    count = re.search(r"^\s*([0-9]+) requests completed in", text, re.MULTILINE)
    if rate is None or summary is None or count is None or not rows:
        raise Unreadable("redis-benchmark", "latency summary", out)
    mean, _, p50, _, p99, most = (float(value) * 1e3 for value in summary[1].split())
    p999 = next((float(ms) * 1e3 for percent, ms, _ in rows if float(percent) >= 99.9), most)
    found = {"p50": p50, "p99": p99, "p99.9": p999, "mean": mean, "max": most}
    return Report(int(count[1]), float(rate[1]), 0, found)


REDIS_BENCHMARK = Peer(
    "redis-benchmark", "redis", Source("debian", "redis-tools", "7.0.15", "redis-benchmark"), _command, read
)
