"""Constructed evidence for the verdict: one good measurement, in which a test spoils one thing."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import msgspec
from engine_documents import complete
from partial_documents import partial
from run_records import run_record

from hindmost import Histogram, MeasurePlan
from hindmost.core.run.figures import ClientFigures, RunFigures
from hindmost.core.run.verdict import Evidence, Reason, judge
from hindmost.core.store.engine import ClientResult
from hindmost.core.store.measure import Arrivals
from hindmost.core.store.types import Counts, Target
from hindmost.stats import Decision, Ownership

LABELS = ("p50", "p95", "p99", "p99.9")
NO_OWNER = Ownership((0.5, 0.5), (0.5, 0.5), None, 1.0, 1.0, "no instance owns the tail")
REACHED = Decision(True, True, "p99 is known to ±2 % after 10 runs", None, 10, "p99", 0.02)


def histogram(count: int = 400_000) -> Histogram:
    histogram_ = Histogram()
    histogram_.record(30_000, count)
    return histogram_


def arrivals(distance: float | None = 0.05, dispersion: float = 1.0, error: float = 0.01) -> Arrivals:
    return Arrivals(
        gaps=400_000,
        distance=distance,
        low=distance,
        high=distance,
        anderson_darling=None,
        dispersion={"1ms": dispersion, "10ms": 1.0},
        dispersion_error={"1ms": error, "10ms": error},
    )


def sockets(**changes: Any) -> dict[str, Any]:
    """Return sixteen healthy connections, each with a buffer of 128 KiB."""
    names = ("retransmits", "out_of_order", "busy_us", "peer_full_us", "send_full_us", "blocked_writes")
    buffers = {name: {"bytes": 0, "limit_bytes": 131_072} for name in ("receive", "send")}
    return dict.fromkeys(names, 0) | {"looked_at": 16, "largest_read_bytes": 500} | buffers | changes


def thread(*, switches: int = 0, delay_ns: int = 0, wall_s: float = 10.0, **changes: Any) -> dict[str, Any]:
    """Return a worker that spun on CPU 1 for ten seconds, undisturbed except for the given changes."""
    wall_ns = int(wall_s * 1e9)
    span = {
        "wall_ns": wall_ns,
        "involuntary_switches": switches,
        "voluntary_switches": 0,
        "schedule": {"run_delay_ns": delay_ns},
    }
    shares = {"busy_share": 0.3, "cpu_share": 1.0 - delay_ns / wall_ns, "run_delay_share": delay_ns / wall_ns}
    return {"cpu": 1, "span": span, "sockets": sockets(), **shares} | changes


def by_stage(**requests: int) -> dict[str, dict[str, int]]:
    """Return requests that were sent late, by stage."""
    return {
        stage: {"requests": requests.get(stage, 0), "worst_ns": 0}
        for stage in ("writing", "reading", "waiting")
    }


def tcp(**changes: int) -> dict[str, int]:
    """Return TCP counters without trouble except for the given changes."""
    return {"retransmits": 0, "syn_retransmits": 0, "listen_drops": 0, "listen_overflows": 0} | changes


def neighbour(name: str, **changes: Any) -> dict[str, Any]:
    """Return a program that used CPU 1 for a tenth of a second."""
    schedule = {"on_cpu_ns": 100_000_000, "turns": 50, "bound": True, "kernel": False}
    return {"pid": 77, "tid": 77, "process": name, "name": name} | schedule | changes


def host(**changes: Any) -> dict[str, Any]:
    """Return ten seconds of CPU 1 without another process."""
    quiet = {"named": [], "more": 0, "forks": 0}
    timer = {"hard": [{"source": "Local timer interrupts", "count": 2500}], "hard_total": 2500, "soft": []}
    facts = {"wall_ns": 10_000_000_000, "cpus": [1], "throttled": None}
    return facts | {"interrupts": timer, "neighbours": quiet} | changes


def client(
    index: int = 0,
    *,
    busy: float = 0.3,
    samples: int = 400_000,
    arrivals: Arrivals | None = None,
    **result: Any,
) -> ClientFigures:
    document = {
        "index": index,
        "tcp": tcp(),
        "tcp_before": tcp(),
        "host": host(),
        "warmup_ended": "steady",
        "warmup_s": 2.0,
        "calibration": {"above": 0, "seconds": 0.5},
        "series": [],
        "first_error": None,
        "counts": {"lost": 0},
        "reconnects": 0,
        "steal_share": 0.0,
        "threads": [thread(busy_share=busy)],
    }
    return ClientFigures(complete(ClientResult, document | result), {}, histogram(samples), arrivals)


def run(number: int = 1, *, latency: dict[str, float] | None = None, **given: Any) -> RunFigures:
    """Return a flawless run: 50 us everywhere, hardly any send delay, all 100,000 requests answered."""
    wobble = (0.0, 0.3, -0.2, 0.1, -0.3, 0.2, 0.25, -0.15, 0.05, -0.1)[number % 10]
    values = dict.fromkeys((*LABELS, "mean"), 50.0 + wobble) | (latency or {})
    service = {name: value - 0.1 for name, value in values.items()} | given.pop("service", {})
    send_delay = dict.fromkeys(values, 0.1) | given.pop("send_delay", {})
    counts = {
        "scheduled": 100_000,
        "completed": 100_000,
        "misses": 0,
        "errors": 0,
        "timeouts": 0,
        "unsent": 0,
    }
    counts |= given.pop("counts", {})
    clients = given.pop("clients", None) or [client(0), client(1)]
    return RunFigures(
        number=number,
        record=run_record(**{"server_cpu_share": 0.4, "server_steal_share": 0.0} | given.pop("record", {})),
        values={"latency": values, "service": service, "send_delay": send_delay},
        kind_values={},
        within=dict.fromkeys(values),
        counts=Counts(**counts),
        kind_counts={},
        clients=clients,
        latency=histogram(),
        **given,
    )


def with_record(runs: Sequence[RunFigures], **fields: Any) -> list[RunFigures]:
    """Return the runs with these fields in their records."""
    return [replace(run, record=msgspec.structs.replace(run.record, **fields)) for run in runs]


def evidence(*, plan: dict[str, Any] | None = None, **given: Any) -> Evidence:
    """Return ten good runs of two clients at 10,000 requests/s for 10 s, except for the given changes."""
    plan_fields = {"target": "memcached", "clients": 2, "rate_per_s": 10_000.0, "client_cpus": ((1,), (2,))}
    parts = {
        "plan": MeasurePlan(**(plan_fields | (plan or {}))),
        "target": {"managed": True, "cpus": [0]},
        "runs": [run(number) for number in range(1, 11)],
        "decision": REACHED,
        "owner": NO_OWNER,
        "findings": [],
        "again": "hindmost measure --resume STUDY",
    }
    parts |= given
    return Evidence(**parts | {"target": partial(Target, **parts["target"])})


def reasons(**given: Any) -> dict[str, Reason]:
    """Return the verdict's reasons, by code."""
    return {reason.code: reason for reason in judge(evidence(**given))}


def ten(**given: Any) -> list[RunFigures]:
    """Return ten runs with the same changes."""
    return [
        run(number, **{k: v() if callable(v) else v for k, v in given.items()}) for number in range(1, 11)
    ]


INFINITE = math.inf
