"""What a request of an original cost when it was logged: from the studies in which it was, and their logs.

A log tells the CPU time of every service; the kernel tells that of the whole server. The difference, over
the requests, is what lies next to services: sockets, queues, waking up. It depends on the rate, since a busy
server takes several requests from one call and sleeps less; so it is kept for the rate of every study.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import numpy as np

from hindmost.errors import StudyError
from hindmost.models import Clone
from hindmost.models.fit.reading.table import open_table
from hindmost.store import Study
from hindmost.store.reading import read_document


def cost_us(run: Mapping[str, Any]) -> float | None:
    """CPU time of the server a request, in microseconds, of a run of ``hindmost.measure/1``, if known."""
    share, rate = run.get("server_cpu_share"), (run.get("throughput") or {}).get("achieved")
    return 1e6 * float(share) / float(rate) if share and rate else None


@dataclass(frozen=True, slots=True)
class Logged:
    """What a request of the original cost when it was logged.

    Parameters
    ----------
    rates_per_s : tuple of float
        Of the studies, rising.
    beside_us : tuple of float
        At each, CPU time of the server that is in no service: sockets, queues, waking up.
    service_us : float
        CPU time of a service, over the requests of all logs: that of the law which was fitted to them.
    """

    rates_per_s: tuple[float, ...]
    beside_us: tuple[float, ...]
    service_us: float

    def at(self, clone: Clone, rate_per_s: float) -> float:
        """CPU time of a request at one rate in us, its service as dependent on the load as the clone's."""
        beside = float(np.interp(rate_per_s, self.rates_per_s, self.beside_us))
        grows = float(clone.document.get("load", {}).get("time", 0.0)) / (clone.capacity_per_s or math.inf)
        usual = np.average(1.0 + grows * np.array(self.rates_per_s), weights=self.rates_per_s)
        return beside + self.service_us * (1.0 + grows * rate_per_s) / float(usual)


def read_logged(studies: Sequence[Path]) -> Logged:
    """Read studies of an original that logged its services, and their logs.

    Raises
    ------
    StudyError
        There is no whole answer or no log, or the server's CPU time is not known.
    """
    found: dict[float, list[float]] = {}
    spent, served = 0.0, 0
    for folder in studies:
        again = f"log and measure at once: hindmost measure 'TARGET?log=FILE' --out {folder}-again"
        try:
            result = read_document(folder / "result.json")
            rate = float(result["throughput"]["asked"])
            costs = [cost for run in result["runs"] if (cost := cost_us(run)) is not None]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise StudyError(
                "bad-file",
                f"{folder} has no complete result: {error}",
                hint=f"hindmost study report {folder}",
                path=str(folder / "result.json"),
            ) from None
        tables = [open_table(log) for log in _logs_of(folder)]
        cpu = [table.whole(["cpu_ns"])[0] / 1e3 for table in tables if "cpu_ns" in table.names]
        if not costs or not cpu:
            lacks = "the server's CPU time" if cpu else "a server log with cpu_ns"
            raise StudyError(
                "no-request-costs",
                f"{folder} lacks {lacks}, so the CPU time of a request is not known",
                hint=again,
                path=str(folder),
                missing="cpu-time" if cpu else "log",
            )
        own = np.concatenate(cpu)
        spent, served = spent + float(own.sum()), served + own.size
        found.setdefault(rate, []).append(float(np.mean(costs)) - float(own.mean()))
    beside = {rate: float(np.mean(costs)) for rate, costs in sorted(found.items())}
    return Logged(tuple(beside), tuple(beside.values()), spent / served)


def _logs_of(folder: Path) -> list[Path]:
    """Where the server of a study logged, by the options of its target (``%p``: its process)."""
    target = str(Study.open(folder).manifest["plan"]["target"])
    (name,) = parse_qs(target.partition("?")[2]).get("log", [""])
    path = Path(name)
    return sorted(path.parent.glob(path.name.replace("%p", "*"))) if name else []
