"""A probe that looks on: its own waits for a processor are none of the server's latency."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hindmost import _engine
from hindmost.errors import HostUnfit
from hindmost.watch import LatencySource
from hindmost.watch.daemon import told

PRIORITY = 2
"""Of the kernel's real-time round robin: the probe sleeps between requests, so that it keeps nobody waiting.
Without it, its p95 on a shared processor ranged from 0.6 to 24 ms where nothing was wrong with the server."""


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


def _threads() -> set[int]:
    return {int(entry.name) for entry in Path("/proc/self/task").iterdir()}
