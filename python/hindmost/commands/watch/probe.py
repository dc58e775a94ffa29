"""A probe with real-time priority, so that its own waits for a CPU do not count as server latency."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from hindmost import _engine
from hindmost.commands.watch.daemon import translate_error
from hindmost.commands.watch.latency import LatencySource
from hindmost.errors import HostUnfit

PRIORITY = 2
"""Real-time round-robin priority of the probe. It sleeps between requests, so it delays no other process.
Without it, the probe's p95 on a shared CPU ranged from 0.6 to 24 ms while the server was healthy."""

TRIAL_S = 1.0
LEAST_PER_S = 20.0
BUSY = 0.3
"""Largest fraction of time that a probe may wait for replies. Above it, the probe measures its own queue."""


@contextmanager
def start_probe(latency: LatencySource, cpu: int | None = None) -> Iterator[_engine.Prober]:
    """Probe the application, at real-time priority where that is permitted.

    Parameters
    ----------
    latency : LatencySource
    cpu : int, optional
        CPU for the probe; any CPU by default.

    Raises
    ------
    HostUnfit
        Latency comes from a log, which reports it too late for an experiment.
    TargetError
        The application does not answer.
    """
    document = latency.document.get("probe")
    if document is None:
        raise HostUnfit(
            "needs-probe", "this needs a probe: an access log reports latency too late", hint="--probe 200/s"
        )
    before = _threads()
    try:
        probe = _engine.Prober(json.dumps(document))
    except _engine.EngineError as error:
        raise translate_error(error, value=document["address"]) from None
    try:
        for tid in _threads() - before:
            if cpu is not None:
                with contextlib.suppress(OSError):
                    os.sched_setaffinity(tid, {cpu})
            with contextlib.suppress(OSError):
                os.sched_setscheduler(tid, os.SCHED_RR, os.sched_param(PRIORITY))
        yield probe
    finally:
        probe.end()


def limit_probe_rate(latency: LatencySource) -> LatencySource:
    """Lower the rate of a probe to what one connection can serve, so that its requests do not queue.

    Parameters
    ----------
    latency : LatencySource
        Describes a probe. Its latency is measured for `TRIAL_S` at `LEAST_PER_S`.

    Raises
    ------
    TargetError
        The application does not answer.
    """
    document = latency.document.get("probe")
    if document is None or document["rate"] <= LEAST_PER_S:
        return latency

    def with_rate(rate: float) -> LatencySource:
        return replace(latency, document={**latency.document, "probe": {**document, "rate": rate}})

    with start_probe(with_rate(LEAST_PER_S)) as probe:
        time.sleep(TRIAL_S)
        replies, _, _ = probe.take()
    if not replies:
        return with_rate(LEAST_PER_S)
    mean_s = sum(took for _, took in replies) / len(replies) / 1e9
    return with_rate(min(document["rate"], max(LEAST_PER_S, BUSY / mean_s)))


def _threads() -> set[int]:
    return {int(entry.name) for entry in Path("/proc/self/task").iterdir()}
