"""Hindmost itself, through its public interface: ``hindmost load PLAN.json``, one client with one worker.

The load includes warm-up and calibration. The CPU time is therefore the worker's over the measurement
(``span``), and the capture is read over the same time (`Report.window_ns`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from benches.peers.peer import (
    KEY_BYTES,
    KEYS,
    PAGE,
    PROTOCOLS,
    VALUE_BYTES,
    Job,
    Peer,
    Protocol,
    Report,
    Source,
    Unreadable,
)
from benches.peers.samples import LEVELS
from hindmost import _engine
from hindmost._engine import Histogram

WARMUP_S, CALIBRATION_S = 0.5, 0.1
_KINDS = ("service", "wire", "latency", "send_delay")
_PLAN, _OUT = "plan.json", "out"


def _command(
    protocol: Protocol,
    job: Job,
    program: str,
    *,
    pacing: str = "spin",
    stamp_every: int = 16,
    io: str = "epoll",
    store: bool = False,
) -> list[str]:
    load: dict[str, object] = {"loop": "closed"}
    if job.rate is not None:
        load = {
            "loop": "open",
            "rate_per_s": job.rate,
            "arrivals": "deterministic" if job.even else "exponential",
        }
    workload: dict[str, object] = {"kind": "http", "paths": [PAGE]}
    if protocol != "http":
        sizes = {"keys": KEYS, "key_bytes": KEY_BYTES, "value_bytes": VALUE_BYTES}
        workload = {"kind": "key-value", "get_ratio": 1.0, **sizes}
    plan = {
        "schema": "hindmost.plan/1",
        "seed": job.seed,
        "target": {"protocol": protocol, "address": job.address},
        "load": load,
        "connections": job.connections,
        "threads": [{}],  # pinned from outside, like every peer
        "pacing": pacing,
        "stamp_every": stamp_every,
        "io": io,
        "workload": workload,
        "preload": store,
        "phases": {
            "warmup": {"fixed": {"seconds": WARMUP_S}},
            "calibration_s": CALIBRATION_S,
            "measure_s": job.seconds,
        },
        "timeout_s": 2.0,
        "keep": {"samples": 0, "worst": 1},
    }
    path = job.folder / _PLAN
    path.write_text(json.dumps(plan), encoding="utf-8")
    return [program, "load", str(path), "--out", str(job.folder / _OUT)]


def fill(protocol: Protocol, job: Job, program: str) -> list[str]:
    """Return the command that stores the keys which all other clients request, and requests some of them."""
    return _command(protocol, job, program, store=True)


def _figures(histogram: Histogram) -> dict[str, float]:
    found = {name: histogram.quantile(level) for name, level in LEVELS.items()}
    found |= {"mean": histogram.mean, "max": histogram.max}
    return {name: float(value) / 1e3 for name, value in found.items() if value is not None}


def read(job: Job, out: str) -> Report:
    """Parse the result that it prints, and its histogram files."""
    try:
        said = json.loads(out)
        counts, (thread,) = said["counts"], said["threads"]
    except (ValueError, KeyError):
        raise Unreadable("hindmost", "result", out) from None
    wholes: dict[str, Histogram] = {}
    for tag, _, _, histogram in _engine.read_hlog(str(job.folder / _OUT / "client-0.hlog")):
        wholes.setdefault((tag or "").partition("/")[0], Histogram()).merge(histogram)
    begin = said["started_s"] + said["warmup_s"] + said["calibration"]["seconds"]
    return Report(
        counts["completed"],
        said["achieved_per_s"],
        counts["scheduled"] - counts["completed"] + counts["misses"],
        _figures(wholes["latency" if job.rate is not None else "service"]),
        {kind: _figures(wholes[kind]) for kind in _KINDS if wholes[kind].count},
        busy_s=thread["busy_share"] * said["measure_s"],
        cpu_s=thread["cpu_share"] * said["measure_s"],
        window_ns=(round(begin * 1e9), round((begin + said["measure_s"]) * 1e9)),
    )


def _peers(protocol: Protocol) -> Iterator[Peer]:
    source = Source("here", "hindmost", _engine.__version__, "hindmost")
    common = Peer("hindmost", protocol, source, partial(_command, protocol), read, paced=True, spread=1.0)
    yield common
    sleeping = partial(_command, protocol, pacing="sleep")
    yield replace(common, name="hindmost, sleeping", command=sleeping, aside=("flat",))
    ring = partial(_command, protocol, io="io_uring")
    yield replace(common, name="hindmost, io_uring", command=ring, aside=("flat",))
    both = partial(_command, protocol, io="io_uring", pacing="sleep")
    yield replace(common, name="hindmost, io_uring, sleeping", command=both, aside=("flat",))
    stamped = partial(_command, protocol, stamp_every=1)
    yield replace(common, name="hindmost, all stamped", command=stamped, aside=("10%", "50%", "heard"))


HINDMOST = tuple(peer for protocol in PROTOCOLS for peer in _peers(protocol))
"""The default (spinning, one request in sixteen stamped by the kernel), and variants."""
