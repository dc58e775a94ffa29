"""The programs that serve and the batch work offered in a cluster: generated, or from a public list of pods.

The list is a CSV in the layout of Alibaba's ``cluster-trace-gpu-v2023`` (``openb_pod_list_*.csv``). The
columns ``cpu_milli``, ``memory_mib``, ``qos``, ``creation_time`` and ``deletion_time`` are read. Pods of QoS
``LS`` serve, pods of QoS ``BE`` are batch work; others are ignored. Pods with equal CPU and memory requests
count as one program, because lists do not name the programs.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hindmost.commands.colocate.prediction.models import Index
from hindmost.commands.colocate.prediction.profiles import Array
from hindmost.core.notes import Note
from hindmost.errors import UsageError

WORKERS = 6
"""Workers of a server, as in the paper (section 3.3.3)."""
_NEEDED = ("cpu_milli", "memory_mib", "qos", "creation_time", "deletion_time")


@dataclass(frozen=True, slots=True)
class Arrivals:
    """The programs and offers of a cluster.

    Attributes
    ----------
    kinds : array of int, servers
        Latency-sensitive program of each server.
    offers : array of int, servers x workers
        Batch program offered to each worker.
    there : array of bool, servers x workers
        Whether one is offered: a list of pods has quiet hours.
    origin : Note
        Source of the arrivals.
    """

    kinds: Index
    offers: Index
    there: np.ndarray
    origin: Note


def generate_arrivals(servers: int, serving: int, batch: int, rng: np.random.Generator) -> Arrivals:
    """Create equally many servers of each program, and batch work for all workers: the paper's layout."""
    kinds = np.arange(servers) * serving // servers
    offers = rng.integers(batch, size=(servers, WORKERS))
    return Arrivals(kinds, offers, np.ones(offers.shape, dtype=bool), Note("generated-arrivals", "generated"))


def arrivals_from_pods(
    text: str, servers: int, serving: int, batch: int, rng: np.random.Generator
) -> Arrivals:
    """Create arrivals from a list of pods: each server sees the list at its own moment, evenly over time.

        Programs are drawn from the pods present then, weighted by their CPU requests. Batch work is offered
    to a
        fraction of the workers: the batch pods' CPU requests at that moment relative to their maximum.

    Raises
    ------
    UsageError
        If it is not such a list, or lacks pods of a kind.
    """
    rows = list(csv.DictReader(io.StringIO(text)))
    if not rows or any(name not in rows[0] for name in _NEEDED):
        raise UsageError(
            "bad-file",
            f"this is not a list of pods: its first line must name {', '.join(_NEEDED)}",
            hint="use a file such as openb_pod_list_default.csv of Alibaba's cluster-trace-gpu-v2023",
            known=list(_NEEDED),
        )
    times = [one[key] for one in rows for key in ("creation_time", "deletion_time") if one[key]]
    end = max(map(_number, times), default=0.0)
    serves, works = (_Pods.parse(rows, qos, end) for qos in ("LS", "BE"))
    begin = min(serves.came[0], works.came[0])
    moments = begin + (np.arange(servers) + 0.5) / servers * (end - begin)
    most = max(float(works.cpu[works.present_at(one)].sum()) for one in works.came)
    kinds = np.zeros(servers, dtype=np.intp)
    offers = np.zeros((servers, WORKERS), dtype=np.intp)
    there = np.zeros((servers, WORKERS), dtype=bool)
    for server, moment in enumerate(moments):
        kinds[server] = serves.draw(serves.present_at(moment), 1, rng)[0] % serving
        now = works.present_at(moment)
        share = float(works.cpu[now].sum()) / most
        offers[server] = works.draw(now, WORKERS, rng) % batch
        there[server] = rng.random(WORKERS) < share
    # Shuffle the moments: the number of a server must not depend on the time of day.
    order = rng.permutation(servers)
    days = (end - begin) / 86400
    origin = Note(
        "listed-arrivals",
        f"{len(serves.cpu)} latency-sensitive and {len(works.cpu)} batch pods of {len(rows)} over"
        f" {days:.1f} days, batch work for {there.mean():.0%} of the workers",
        {"serving": len(serves.cpu), "batch": len(works.cpu), "pods": len(rows), "days": days},
    )
    return Arrivals(kinds[order], offers[order], there[order], origin)


@dataclass(frozen=True, slots=True)
class _Pods:
    came: Array
    left: Array
    cpu: Array
    program: Index

    @classmethod
    def parse(cls, rows: Sequence[Mapping[str, str]], qos: str, end: float) -> _Pods:
        mine = [one for one in rows if one["qos"] == qos]
        if not mine:
            raise UsageError(
                "bad-file",
                f"the list has no pod of QoS {qos}",
                hint="use a list with both LS and BE pods",
                key="qos",
                need=qos,
            )
        sizes = Counter((one["cpu_milli"], one["memory_mib"]) for one in mine)
        rank = {size: number for number, (size, _) in enumerate(sizes.most_common())}
        came = np.array([_number(one["creation_time"]) for one in mine])
        # Pods without a deletion time stay.
        left = np.array([_number(one["deletion_time"]) if one["deletion_time"] else end for one in mine])
        order = np.argsort(came, kind="stable")
        return cls(
            came[order],
            left[order],
            np.array([_number(one["cpu_milli"]) for one in mine])[order],
            np.array([rank[one["cpu_milli"], one["memory_mib"]] for one in mine], dtype=np.intp)[order],
        )

    def present_at(self, moment: float) -> Index:
        """Return the pods that are present."""
        return np.flatnonzero((self.came <= moment) & (moment <= self.left))

    def draw(self, among: Index, count: int, rng: np.random.Generator) -> Index:
        """Draw programs weighted by the pods' CPU requests; from all pods if none is present."""
        among = among if among.size else np.arange(len(self.cpu))
        weight = self.cpu[among] + 1e-9
        found: Index = self.program[rng.choice(among, size=count, p=weight / weight.sum())]
        return found


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UsageError(
            "bad-file",
            f"the list of pods contains {text!r} instead of a number",
            hint="correct the list",
            value=text,
        ) from None
