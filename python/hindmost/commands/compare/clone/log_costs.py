"""CPU time of a request of an original in the studies whose logs a clone is fitted to.

A log has the CPU time of every service; the kernel has the CPU time of the whole server. Their difference per
request is work outside of services: sockets, queues, wake-ups. It depends on the rate, because a busy server
takes several requests from one system call and sleeps less. So it is stored for the rate of each study.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import parse_qs

import numpy as np

from hindmost.commands.clone.document import Clone
from hindmost.commands.clone.fit.reading.table import open_table
from hindmost.core.store import Study
from hindmost.core.store.manifest import LoggedCost
from hindmost.core.store.measure import Measure, Run
from hindmost.core.store.reading import load
from hindmost.errors import StudyError


def cost_at(logged: LoggedCost, clone: Clone, rate_per_s: float) -> float:
    """Return the CPU time of a request of the original at a rate, in microseconds.

    The service part depends on the load as the clone's services do.
    """
    outside = float(np.interp(rate_per_s, logged.rates_per_s, logged.beside_us))
    growth = float(clone.document.get("load", {}).get("time", 0.0)) / (clone.capacity_per_s or math.inf)
    usual = np.average(1.0 + growth * np.array(logged.rates_per_s), weights=logged.rates_per_s)
    return outside + logged.service_us * (1.0 + growth * rate_per_s) / float(usual)


def request_cost_us(run: Run) -> float | None:
    """Return the server's CPU time per request in a run of ``hindmost.measure/2``, if it is known."""
    share, rate = run.server_cpu_share, run.throughput.achieved
    return 1e6 * share / rate if share and rate else None


def read_logged(studies: Sequence[Path]) -> LoggedCost:
    """Read studies of an original that logged its services.

    Raises
    ------
    StudyError
        If a study has no complete result or no log, or the server's CPU time is not known.
    """
    outside: dict[float, list[float]] = {}
    spent_us, served = 0.0, 0
    for folder in studies:
        rate, costs = _costs(folder)
        tables = [open_table(log) for log in _logs(folder)]
        cpu = [table.whole(["cpu_ns"])[0] / 1e3 for table in tables if "cpu_ns" in table.names]
        if not costs or not cpu:
            missing = "the server's CPU time" if cpu else "a server log with cpu_ns"
            raise StudyError(
                "no-request-costs",
                f"{folder} lacks {missing}, so the CPU time of a request is not known",
                hint=f"log and measure at once: hindmost measure 'TARGET?log=FILE' --out {folder}-again",
                path=str(folder),
                missing="cpu-time" if cpu else "log",
            )
        services_us = np.concatenate(cpu)
        spent_us, served = spent_us + float(services_us.sum()), served + services_us.size
        outside.setdefault(rate, []).append(float(np.mean(costs)) - float(services_us.mean()))
    means = {rate: float(np.mean(values)) for rate, values in sorted(outside.items())}
    return LoggedCost(rates_per_s=list(means), beside_us=list(means.values()), service_us=spent_us / served)


def _costs(folder: Path) -> tuple[float, list[float]]:
    try:
        result = load(folder / "result.json", Measure)
        costs = [cost for run in result.runs if (cost := request_cost_us(run)) is not None]
        return float(result.throughput.requested or math.nan), costs
    except (OSError, ValueError) as error:
        raise StudyError(
            "bad-file",
            f"{folder} has no complete result: {error}",
            hint=f"hindmost study report {folder}",
            path=str(folder / "result.json"),
        ) from None


def _logs(folder: Path) -> list[Path]:
    # The target's option ``log`` names them; ``%p`` stands for the process.
    target = str(Study.open(folder).manifest["plan"]["target"])
    (name,) = parse_qs(target.partition("?")[2]).get("log", [""])
    path = Path(name)
    return sorted(path.parent.glob(path.name.replace("%p", "*"))) if name else []
