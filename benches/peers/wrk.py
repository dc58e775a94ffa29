"""wrk: closed loop, one event loop per thread; latencies in whole microseconds."""

from __future__ import annotations

import json

from benches.peers.peer import Job, Peer, Report, Source, Unreadable

_MARK = "peers "
_SCRIPT = """
done = function(summary, latency, requests)
  local e = summary.errors
  io.write(string.format('peers {"requests": %d, "duration_us": %d, "errors": %d, ' ..
    '"p50": %.3f, "p99": %.3f, "p99.9": %.3f, "mean": %.3f, "max": %.3f}\\n',
    summary.requests, summary.duration, e.connect + e.read + e.write + e.status + e.timeout,
    latency:percentile(50), latency:percentile(99), latency:percentile(99.9), latency.mean, latency.max))
end
"""
"""Its own summary stops at p99; a script can query more."""


def _command(job: Job, program: str) -> list[str]:
    script = job.folder / "report.lua"
    script.write_text(_SCRIPT, encoding="utf-8")
    seconds = max(1, round(job.seconds))  # it accepts whole seconds only
    return [program, "-t1", f"-c{job.connections}", f"-d{seconds}s", "-s", str(script), job.url]


def read(job: Job, out: str) -> Report:
    """Parse the line that our script prints."""
    line = next((line for line in out.splitlines() if line.startswith(_MARK)), None)
    if line is None:
        raise Unreadable("wrk", "summary", out)
    said = json.loads(line.removeprefix(_MARK))
    requests, microseconds, errors = (said.pop(name) for name in ("requests", "duration_us", "errors"))
    return Report(requests, requests / microseconds * 1e6, errors, said)


WRK = Peer("wrk", "http", Source("debian", "wrk", "4.1.0", "wrk"), _command, read)
