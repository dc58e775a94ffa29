"""The twin as much like the host's instance as can be had: asked by the same probe, with as much work."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hindmost.studies.diagnosis.demand import GREW, Work
from hindmost.watch import LatencySource

if TYPE_CHECKING:
    from hindmost.studies.diagnosis.asked import DiagnosisRequest
    from hindmost.studies.diagnosis.twin.asked import TwinRequest
    from hindmost.studies.diagnosis.twin.loads import Load
    from hindmost.studies.diagnosis.windows import Windows
    from hindmost.targets import ManagedServer

HOST_WINDOWS = 8
"""Of the sick host, looked at and not touched: what is to be explained."""
CALIBRATING = 3
"""Windows in which the twin is asked at a known rate, to see what a request costs it."""
LEAST_WORK = 0.002
"""Processors: below, what a request costs is not told from nothing."""


@dataclass(slots=True)
class Sick:
    """The host as it is: its percentile, the work of its instance, its metrics in windows."""

    now_us: float
    work: float
    metrics: NDArray[np.float64]


def look_at(request: DiagnosisRequest, pid: int, windows: Windows) -> Sick:
    """Look at the host, and do nothing to it."""
    work = Work(pid)
    values: list[float] = []
    rows: list[NDArray[np.float64]] = []
    for _ in range(HOST_WINDOWS):
        values.append(windows.measure())
        if windows.moved is not None:
            rows.append(windows.moved)
    now_us = math.exp(sum(map(math.log, values)) / len(values))
    return Sick(now_us, work.processors(), np.array(rows))


def source_of(protocol: str, server: ManagedServer, request: DiagnosisRequest) -> LatencySource:
    """Ask the twin as the host's instance is asked."""
    asked = request.latency.document["probe"] | {"protocol": protocol, "address": server.address}
    return LatencySource({"probe": asked}, request.latency.about)


def rate_of(
    asked: TwinRequest, request: DiagnosisRequest, load: Load, windows: Windows, pid: int, sick: Sick
) -> float:
    """Requests a second: as asked for, else as many as make the twin work as much as the host's instance."""
    probed = float(request.latency.document["probe"]["rate"])
    if asked.rate_per_s is not None:
        return asked.rate_per_s
    tried = max(2 * probed, 200.0)
    with load.running(tried - probed):
        windows.measure()
        work = Work(pid)
        for _ in range(CALIBRATING):
            windows.measure()
        a_request = work.processors() / tried
    if sick.work < LEAST_WORK or a_request <= 0:
        return probed
    return max(probed, sick.work / a_request)


def normal_rate_of(request: DiagnosisRequest, rate: float, sick: Sick) -> float:
    """What was asked for when all was well: by the work that the host's instance then had."""
    if request.normal_work is None or sick.work < LEAST_WORK:
        return math.nan
    return rate * request.normal_work / sick.work if sick.work > GREW * request.normal_work else rate
