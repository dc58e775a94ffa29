"""Clones as servers: documents with short tails, ``clone serve`` as a process, and the network path from its log."""

from __future__ import annotations

import csv
import json
import re
import signal
from pathlib import Path
from typing import Any

import numpy as np
from measuring import measure, need_two_cpus, start

FEW = ("--loads", "30%", "--duration", "0.8s", "--warmup", "0.1s", "--quiet")
SERVICE_US = 300.0
CARRY_NS = 50_000
"""Most of a late-ending service that the thread's next service makes up for."""
LEAST = 0.8
"""Least service time as a share of the mean; a busy host can only add to it."""
SMALL = """
schema = "hindmost.clone/1"
name = "small"
[[service]]
law = { kind = "lognormal", median_us = 150.0, sigma_log = 0.4 }
"""


def write_clone(folder, factor=1.0):
    """Write the document of a server with short tails, so that few requests are enough."""
    path = folder / f"clone-{factor:g}.toml"
    low, high = (spread * factor * SERVICE_US for spread in (LEAST, 1.2))
    path.write_text(
        'schema = "hindmost.clone/1"\nname = "short-tails"\n[[service]]\n'
        f'law = {{ kind = "uniform", low_us = {low}, high_us = {high} }}\n'
    )
    return path


def synth_target(document):
    """The target of a server that behaves as the document says."""
    return f"synth?clone={document}&protocol=http"


def serve(*options: object) -> tuple[Any, str]:
    """Start ``clone serve``; returns the process and its address once it is ready."""
    child = start("clone", "serve", *options)
    for line in child.stderr:
        if match := re.search(r" at (\S+);", line):
            return child, match[1]
    raise AssertionError("clone serve exited before it was ready")


def stop_serving(child: Any) -> dict[str, Any]:
    """Send Ctrl-C and return the final JSON."""
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=30)
    assert child.returncode == 0, err
    return dict(json.loads(out))


def measure_paths(place: Path, duration: str = "2s") -> tuple[np.ndarray, np.ndarray]:
    """For each request, in microseconds: waiting plus drawn service by the server's log, and the rest of its latency.

    The logged end of a service is not used: a server that loses its CPU after the reply stamps it late, and makes up
    for that in the next service.
    """
    server_cpu, client_cpu = need_two_cpus()
    place.mkdir()
    (place / "small.toml").write_text(SMALL)
    log = place / "truth.csv"
    child, address = serve(
        place / "small.toml", "--cpus", server_cpu, "--idle", "spin", "--log", log, "--json"
    )
    load = (
        "--runs",
        1,
        "--rate",
        1500,
        "--duration",
        duration,
        "--client-cpus",
        client_cpu,
        "--samples",
        20_000,
    )
    # With one connection, replies arrive in the order of the requests, however late the client reads.
    load += ("--connections", 1)
    # Stored values are kept, because their removal would be logged after the requests.
    (place / "workload.json").write_text('{"clean_up": false}')
    load += ("--workload", place / "workload.json")
    answer = measure(f"memcached://{address}", place / "study", *load)
    summary = stop_serving(child)
    assert answer.code in (0, 4, 6), answer.err
    assert summary["schema"] == "hindmost.serve/1"
    # Requests that timed out were served all the same: each has its row in the log.
    samples = answer.study.samples()
    with log.open() as lines:
        truth = list(csv.DictReader(lines))
    assert len(truth) == summary["account"]["total"]["served"]
    truth = truth[-len(samples) :]
    own, late = np.empty(len(truth)), 0
    for index, row in enumerate(truth):
        arrival, start, end, drawn = (int(row[f"{name}_ns"]) for name in ("arrival", "start", "end", "drawn"))
        own[index] = start - arrival + drawn - late
        late = min(CARRY_NS, max(0, late + end - start - drawn))
    took = (samples["completed_ns"] - samples["sent_ns"]).cast(float).to_numpy()
    completed = ~np.isnan(took)
    return own[completed] / 1e3, (took - own)[completed] / 1e3
