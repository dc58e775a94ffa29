"""Who serves and what is offered in a cluster: generated, or after a public list of pods.

The list is a CSV in the layout of Alibaba's ``cluster-trace-gpu-v2023`` (``openb_pod_list_*.csv``): of its
columns ``cpu_milli``, ``memory_mib``, ``qos``, ``creation_time`` and ``deletion_time`` are read. Pods of QoS
``LS`` serve, those of ``BE`` are batch work; others are neither. Pods that ask for the same processors and
memory are one program: lists do not say what runs in them.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hindmost.colocation.models import Index
from hindmost.colocation.profiles import Array
from hindmost.errors import UsageError
from hindmost.notes import Note

WORKERS = 6
"""Of a server, as in the paper (section 3.3.3)."""
_NEEDED = ("cpu_milli", "memory_mib", "qos", "creation_time", "deletion_time")


@dataclass(frozen=True, slots=True)
class Arrivals:
    """What a cluster meets.

    Attributes
    ----------
    kinds : array of int, servers
        Which latency-sensitive program each runs.
    offers : array of int, servers x workers
        Which batch program is offered to each worker.
    there : array of bool, servers x workers
        Whether one is: a list of pods has quiet hours.
    origin : Note
        Where they come from.
    """

    kinds: Index
    offers: Index
    there: np.ndarray
    origin: Note


def generated(servers: int, serving: int, batch: int, rng: np.random.Generator) -> Arrivals:
    """Make as many servers of each program, and batch work for all workers: the paper's layout."""
    kinds = np.arange(servers) * serving // servers
    offers = rng.integers(batch, size=(servers, WORKERS))
    return Arrivals(kinds, offers, np.ones(offers.shape, dtype=bool), Note("generated-arrivals", "generated"))


def of_pods(text: str, servers: int, serving: int, batch: int, rng: np.random.Generator) -> Arrivals:
    """Make them after a list of pods: each server is looked at in a moment of its own, evenly over the list.

    Programs are those of pods that are there then, weighted by the processors they ask for; batch work is
    offered to that share of the workers which batch pods then ask for, of the most they ever do.

    Raises
    ------
    UsageError
        It is no such list, or has no pods of a kind.
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
    serves, works = (_Pods.of(rows, qos, end) for qos in ("LS", "BE"))
    begin = min(serves.came[0], works.came[0])
    moments = begin + (np.arange(servers) + 0.5) / servers * (end - begin)
    most = max(float(works.cpu[works.at(one)].sum()) for one in works.came)
    kinds = np.zeros(servers, dtype=np.intp)
    offers = np.zeros((servers, WORKERS), dtype=np.intp)
    there = np.zeros((servers, WORKERS), dtype=bool)
    for server, moment in enumerate(moments):
        kinds[server] = serves.drawn(serves.at(moment), 1, rng)[0] % serving
        now = works.at(moment)
        share = float(works.cpu[now].sum()) / most
        offers[server] = works.drawn(now, WORKERS, rng) % batch
        there[server] = rng.random(WORKERS) < share
    # Moments follow each other: servers of one number stand for no hour of the day.
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
    def of(cls, rows: Sequence[Mapping[str, str]], qos: str, end: float) -> _Pods:
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
        # Those that were never deleted stay.
        left = np.array([_number(one["deletion_time"]) if one["deletion_time"] else end for one in mine])
        order = np.argsort(came, kind="stable")
        return cls(
            came[order],
            left[order],
            np.array([_number(one["cpu_milli"]) for one in mine])[order],
            np.array([rank[one["cpu_milli"], one["memory_mib"]] for one in mine], dtype=np.intp)[order],
        )

    def at(self, moment: float) -> Index:
        """Those that are there."""
        return np.flatnonzero((self.came <= moment) & (moment <= self.left))

    def drawn(self, among: Index, count: int, rng: np.random.Generator) -> Index:
        """Draw programs by the processors that pods ask for; of all pods where none is there."""
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
            f"the list of pods contains {text!r} where a number is expected",
            hint="correct the list",
            value=text,
        ) from None
