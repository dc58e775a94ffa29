"""Clones as servers: documents of short tails, ``clone serve`` as a process, and what its log says of the way to it."""

from __future__ import annotations

import csv
import json
import re
import signal
from pathlib import Path
from typing import Any

import numpy as np
from measuring import measure, need_two_processors, start

FEW = ("--loads", "30%", "--duration", "0.8s", "--warmup", "0.1s", "--quiet")
SERVICE_US = 300.0
CARRY_NS = 50_000
"""What a service that ends late takes out of the thread's next one, at most."""
LEAST = 0.8
"""No service takes less than this share of the mean; a busy host can only add to it."""
SMALL = """
schema = "hindmost.clone/1"
name = "small"
[[service]]
law = { kind = "lognormal", median_us = 150.0, sigma_log = 0.4 }
"""


def clone(folder, factor=1.0):
    """A document of a server with short tails, so that few requests are enough."""
    path = folder / f"clone-{factor:g}.toml"
    low, high = (spread * factor * SERVICE_US for spread in (LEAST, 1.2))
    path.write_text(
        'schema = "hindmost.clone/1"\nname = "short-tails"\n[[service]]\n'
        f'law = {{ kind = "uniform", low_us = {low}, high_us = {high} }}\n'
    )
    return path


def served(document):
    """The original: a server that does as a document says."""
    return f"synth?clone={document}&protocol=http"


def serve(*words: object) -> tuple[Any, str]:
    """A server that is ready, and its address."""
    child = start("clone", "serve", *words)
    for line in child.stderr:
        if found := re.search(r" at (\S+);", line):
            return child, found[1]
    raise AssertionError("it ended before it served")


def ended(child: Any) -> dict[str, Any]:
    """Its last words after Ctrl-C."""
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=30)
    assert child.returncode == 0, err
    return dict(json.loads(out))


def ways(place: Path, duration: str = "2s") -> tuple[np.ndarray, np.ndarray]:
    """Of each request: waiting and service as drawn, by the server's own log, and what it took besides; microseconds.

    The end of a service is not asked for: a server that loses its processor after the reply stamps it late, and
    makes up for that in the next one.
    """
    server_cpu, client_cpu = need_two_processors()
    place.mkdir()
    (place / "small.toml").write_text(SMALL)
    log = place / "truth.csv"
    child, address = serve(
        place / "small.toml", "--cpus", server_cpu, "--idle", "spin", "--log", log, "--json"
    )
    words = (
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
    # One connection: replies come in the order of the requests, however late the client reads.
    words += ("--connections", 1)
    # What was stored stays: its removal would stand in the log behind the requests.
    (place / "workload.json").write_text('{"clean_up": false}')
    words += ("--workload", place / "workload.json")
    answer = measure(f"memcached://{address}", place / "study", *words)
    told = ended(child)
    assert answer.code in (0, 4, 6), answer.err
    assert told["schema"] == "hindmost.serve/1"
    # Those whose time was up were served all the same: each has its row in the log.
    seen = answer.study.samples()
    with log.open() as lines:
        truth = list(csv.DictReader(lines))
    assert len(truth) == told["account"]["total"]["served"]
    truth = truth[-len(seen) :]
    own, late = np.empty(len(truth)), 0
    for index, row in enumerate(truth):
        arrival, start, end, drawn = (int(row[f"{name}_ns"]) for name in ("arrival", "start", "end", "drawn"))
        own[index] = start - arrival + drawn - late
        late = min(CARRY_NS, max(0, late + end - start - drawn))
    took = (seen["completed_ns"] - seen["sent_ns"]).cast(float).to_numpy()
    came = ~np.isnan(took)
    return own[came] / 1e3, (took - own)[came] / 1e3
