"""A probe that looks on: its own waits for a processor are none of the server's latency."""

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
from hindmost.errors import HostUnfit
from hindmost.watch import LatencySource
from hindmost.watch.daemon import told

PRIORITY = 2
"""Of the kernel's real-time round robin: the probe sleeps between requests, so that it keeps nobody waiting.
Without it, its p95 on a shared processor ranged from 0.6 to 24 ms where nothing was wrong with the server."""

LOOK_S = 1.0
LEAST_PER_S = 20.0
BUSY = 0.3
"""Of the time a probe may wait for answers: beyond, what it measures is its own queue."""


@contextmanager
def probing(latency: LatencySource, cpu: int | None = None) -> Iterator[_engine.Prober]:
    """Probe the application, at real-time priority where that is permitted.

    Parameters
    ----------
    latency : LatencySource
    cpu : int, optional
        Where the probe runs; wherever there is room.

    Raises
    ------
    HostUnfit
        Latency comes from a log, which reports it too late for an experiment.
    TargetError
        The application does not answer.
    """
    asked = latency.document.get("probe")
    if asked is None:
        raise HostUnfit(
            "needs-probe", "this needs a probe: an access log reports latency too late", hint="--probe 200/s"
        )
    before = _threads()
    try:
        probe = _engine.Prober(json.dumps(asked))
    except _engine.EngineError as error:
        raise told(error, value=asked["address"]) from None
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


def unhurried(latency: LatencySource) -> LatencySource:
    """Lower the rate of a probe to what it can ask: beyond, its requests wait for each other.

    Parameters
    ----------
    latency : LatencySource
        With a probe; looked at for `LOOK_S` at `LEAST_PER_S`.

    Raises
    ------
    TargetError
        The application does not answer.
    """
    asked = latency.document.get("probe")
    if asked is None or asked["rate"] <= LEAST_PER_S:
        return latency

    def at(rate: float) -> LatencySource:
        return replace(latency, document={**latency.document, "probe": {**asked, "rate": rate}})

    with probing(at(LEAST_PER_S)) as probe:
        time.sleep(LOOK_S)
        each, _, _ = probe.take()
    if not each:
        return at(LEAST_PER_S)
    mean_s = sum(took for _, took in each) / len(each) / 1e9
    return at(min(asked["rate"], max(LEAST_PER_S, BUSY / mean_s)))


def _threads() -> set[int]:
    return {int(entry.name) for entry in Path("/proc/self/task").iterdir()}
