"""Making the replica like the host's instance: the same probe, and as much work."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hindmost.commands.diagnose.demand import MORE_WORK, Work
from hindmost.commands.watch.latency import LatencySource

if TYPE_CHECKING:
    from hindmost.commands.diagnose.replica.loads import Load
    from hindmost.commands.diagnose.replica.request import ReplicaRequest
    from hindmost.commands.diagnose.request import DiagnosisRequest
    from hindmost.commands.diagnose.windows import Windows
    from hindmost.core.targets import ManagedServer

HOST_WINDOWS = 8
"""Windows measured on the unchanged host, to learn the latency to explain."""
CALIBRATING = 3
"""Windows in which the replica serves a known rate, to learn the CPU time of a request."""
LEAST_WORK = 0.002
"""CPUs used. Below this, the CPU time of a request cannot be estimated."""


@dataclass(slots=True)
class HostState:
    """The slow host: its latency percentile, the CPU use of its instance, its metrics by window."""

    now_us: float
    work: float
    metrics: NDArray[np.float64]


def measure_host(request: DiagnosisRequest, pid: int, windows: Windows) -> HostState:
    """Measure the host without changing it."""
    work = Work(pid)
    values: list[float] = []
    rows: list[NDArray[np.float64]] = []
    for _ in range(HOST_WINDOWS):
        values.append(windows.measure())
        if windows.metrics is not None:
            rows.append(windows.metrics)
    now_us = math.exp(sum(map(math.log, values)) / len(values))
    return HostState(now_us, work.processors(), np.array(rows))


def source_of(protocol: str, server: ManagedServer, request: DiagnosisRequest) -> LatencySource:
    """Return the probe of the host's instance, directed at the replica."""
    probe = request.latency.document["probe"] | {"protocol": protocol, "address": server.address}
    return LatencySource({"probe": probe}, request.latency.about)


def rate_of(
    replica: ReplicaRequest,
    request: DiagnosisRequest,
    load: Load,
    windows: Windows,
    pid: int,
    sick: HostState,
) -> float:
    """Return the requested rate, or one that makes the replica as busy as the host's instance, requests/s."""
    probed = float(request.latency.document["probe"]["rate"])
    if replica.rate_per_s is not None:
        return replica.rate_per_s
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


def normal_rate_of(request: DiagnosisRequest, rate: float, sick: HostState) -> float:
    """Estimate the usual request rate from the usual CPU use of the host's instance, requests/s."""
    if request.normal_work is None or sick.work < LEAST_WORK:
        return math.nan
    return rate * request.normal_work / sick.work if sick.work > MORE_WORK * request.normal_work else rate
