"""k6: scripted virtual users; a rate is a scenario with even arrivals."""

from __future__ import annotations

import json

from benches.peers.peer import Job, Peer, Report, Source, Unreadable

_SCRIPT = """
import http from "k6/http";
export const options = %s;
export default function () { http.get(%s); }
export function handleSummary(data) { return { %s: JSON.stringify(data.metrics) }; }
"""
_SUMMARY = "summary.json"
_NAMES = {"p50": "p(50)", "p99": "p(99)", "p99.9": "p(99.9)", "mean": "avg", "max": "max"}


def _command(job: Job, program: str) -> list[str]:
    duration = f"{round(job.seconds * 1000)}ms"
    scenario: dict[str, object]
    if job.rate is None:
        scenario = {"executor": "constant-vus", "vus": job.connections, "duration": duration}
    else:
        scenario = {
            "executor": "constant-arrival-rate",
            "rate": round(job.rate),
            "timeUnit": "1s",
            "duration": duration,
            "preAllocatedVUs": job.connections,
            "maxVUs": job.connections,
        }
    options = {
        "scenarios": {"all": scenario | {"gracefulStop": "2s"}},
        "discardResponseBodies": True,
        "summaryTrendStats": list(_NAMES.values()),
    }
    script = job.folder / "script.js"
    text = _SCRIPT % (json.dumps(options), json.dumps(job.url), json.dumps(str(job.folder / _SUMMARY)))
    script.write_text(text, encoding="utf-8")
    return [program, "run", "--quiet", "--no-usage-report", "--no-color", "--address", "", str(script)]


def read(job: Job, out: str) -> Report:
    """Parse the metrics that our script writes; they are in milliseconds."""
    try:
        metrics = json.loads((job.folder / _SUMMARY).read_text(encoding="utf-8"))
        latency = metrics["http_req_duration"]["values"]
        requests = metrics["http_reqs"]["values"]
        failed = metrics["http_req_failed"]["values"][
            "passes"
        ]  # a k6 rate metric: its true values are failures
    except (OSError, ValueError, KeyError):
        raise Unreadable("k6", "metrics", out) from None
    found = {name: latency[theirs] * 1e3 for name, theirs in _NAMES.items()}
    return Report(requests["count"] - failed, requests["rate"], failed, found)


K6 = Peer("k6", "http", Source("go", "go.k6.io/k6", "v1.8.1", "k6"), _command, read, paced=True)
