"""Classes in Kubernetes: labels of nodes, and a scheduler extension that considers the lengths of jobs.

A pod specifies its job, the job's length and its width by labels or annotations:

========================  ==========================================================================
``hindmost/job``          the job (default: the pod itself); pods of one job get one class
``hindmost/length``       short, medium or long (default: by the job's last run, or else medium)
``hindmost/wants``        cores that the job uses at once (default: the pod's request)
``hindmost/utilisation``  on a node: its primary tenant's current share of cores (default: class mean)
========================  ==========================================================================
"""

from __future__ import annotations

import csv
import re
import threading
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hindmost.commands.harvest.classes import load_classes, read_error
from hindmost.commands.harvest.decisions import Length, select
from hindmost.commands.harvest.document import Class, Classes
from hindmost.commands.harvest.hosts import HostTable
from hindmost.core.documents import open_table
from hindmost.core.kubernetes import Cluster, Node, Pod, WatchedFile
from hindmost.core.kubernetes.extender import MOST_SCORE, bad_share, cores_of, share_of
from hindmost.core.notes import Note
from hindmost.errors import UsageError

LENGTHS: tuple[Length, ...] = ("short", "medium", "long")
SHORT_BELOW_S, LONG_ABOVE_S = 173.0, 433.0
"""Limits of the chapter's test bed; ``learn_thresholds`` computes those of other jobs."""
UTILISATION = "hindmost/utilisation"
HOLD_S = 30.0
"""How long an accepted pod counts on its node, unless the API server shows it bound earlier."""
NODE = re.compile(r"(?=.{1,253}$)[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*")
"""A node name as defined by RFC 1123."""
LABELS, SCHEDULER = "hindmost-labels.sh", "hindmost-scheduler.yaml"


def read_runs(path: Path) -> dict[str, float]:
    """Read past runs (``job,duration_s``), of which the last one of each job counts.

    Raises
    ------
    UsageError
        The file does not exist, has other columns, or contains an invalid duration.
    """
    found: dict[str, float] = {}
    try:
        with open_table(path) as file:
            for number, row in enumerate(csv.DictReader(file), 2):
                found[row["job"]] = float(row["duration_s"])
                if not 0.0 <= found[row["job"]] < float("inf"):
                    raise UsageError(
                        "bad-file",
                        f"{path}:{number}: {row['duration_s']} is not a duration in seconds",
                        hint="correct the line",
                        path=str(path),
                        line=number,
                        value=row["duration_s"],
                    )
    except (OSError, KeyError, ValueError, TypeError) as error:
        raise UsageError(
            read_error(error),
            f"{path} cannot be read: {error}",
            hint="use the columns job,duration_s, with the latest run of a job last",
            path=str(path),
        ) from None
    return found


@dataclass(frozen=True)
class ClassIndex:
    """Classes, and the class of each server."""

    document: Classes
    of: HostTable[int]

    def node(self, name: str) -> Class | None:
        """Return the class of a node; None without one."""
        at = self.of.get(name)
        return None if at is None else self.document.classes[at]


def read_index(path: Path) -> ClassIndex:
    """Read a document of ``hindmost harvest classify`` and index it by server."""
    found = load_classes(path)
    rows = ((server, one.class_) for one in found.tenants for server in one.servers if one.class_ is not None)
    return ClassIndex(found, HostTable(rows))


@dataclass(frozen=True)
class _Hold:
    """Cores reserved for a pod on a node until the API server shows it bound, or `HOLD_S` have passed."""

    node: str
    cores: float
    until: float


@dataclass(frozen=True)
class _Room:
    """A node with a class, its cores, and the shares its primary tenant and batch pods use."""

    node: Node
    at: int
    cores: float
    load: float
    batch: float


@dataclass
class LengthJudge:
    """Algorithm 1 as a scheduler extension.

    Only pods marked as batch work (`Pod.is_batch`) are considered. A node is refused if the primary tenant,
    its reserve and batch pods leave less than the pod requests. A class is drawn for each job, the same for
    all of its pods, and its nodes get scores by their remaining capacity.

    Attributes
    ----------
    reserve : float
        Share of a node's cores reserved for primary tenants.
    cores : float
        Cores of a node, if neither the scheduler nor the API server provides them.
    cluster : Cluster, optional
        Nodes and bound pods. Without it, a pod counts for `HOLD_S` on the node to which it was sent.
    blind : int
        Number of requests about nodes of which only the name was known.
    """

    known: WatchedFile[ClassIndex]
    runs: WatchedFile[dict[str, float]] | None = None
    reserve: float = 1.0 / 3.0
    cores: float = 12.0
    thresholds: tuple[float, float] = (SHORT_BELOW_S, LONG_ABOVE_S)
    cluster: Cluster | None = None
    clock: Callable[[], float] = time.monotonic
    blind: int = 0
    _held: dict[str, _Hold] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def find_refusals(self, pod: Pod, nodes: Sequence[Node]) -> dict[str, Note]:
        """Refuse classified nodes without room for the pod; hold the only one that has room."""
        found: dict[str, Note] = {}
        if not pod.is_batch:
            return found
        rooms, found = self._rooms(pod, nodes, self._holds_of_others(pod))
        for room in rooms:
            spare = (1.0 - self.reserve - room.load - room.batch) * room.cores
            if spare < max(pod.cores, 1e-9):
                spare = max(0.0, spare)
                found[room.node.name] = Note(
                    "little-headroom",
                    f"hindmost: the primary tenant uses {room.load:.0%} of {room.cores:g} cores and reserves"
                    f" {self.reserve:.0%}, batch pods request {room.batch:.0%}; {spare:.2g} cores are free,"
                    f" the pod requests {pod.cores:g}",
                    {
                        "load": room.load,
                        "cores": room.cores,
                        "reserve": self.reserve,
                        "batch": room.batch,
                        "have": spare,
                        "need": pod.cores,
                    },
                )
        left = [node.name for node in nodes if node.name not in found]
        if len(left) == 1:  # a scheduler requests no scores for a single node
            self._hold(pod, left[0])
        return found

    def scores(self, pod: Pod, nodes: Sequence[Node]) -> dict[str, int]:
        """Score the nodes of the job's classes by their headroom, others 0; hold the best one."""
        if not pod.is_batch:
            return {}
        known, length = self.known.now(), self.length(pod)
        rooms, _ = self._rooms(pod, nodes, {})  # pods of a job that arrive together get the same scores
        picked = self._pick(pod, length, rooms, known)
        found = {}
        for room in rooms:
            if room.at in picked or not picked:
                past = history(length, known.document.classes[room.at], room.load)
                left = 1.0 - self.reserve - past - room.batch
                found[room.node.name] = max(1, round(MOST_SCORE * left / (1.0 - self.reserve)))
        if found:
            self._hold(pod, max(found, key=lambda name: found[name]))
        return found

    def _hold(self, pod: Pod, node: str) -> None:
        with self._lock:
            self._held[pod.uid or pod.name] = _Hold(node, pod.cores, self.clock() + HOLD_S)

    def _bound_pods(self) -> dict[str, Pod]:
        return self.cluster.bound() if self.cluster else {}

    def _holds_of_others(self, pod: Pod) -> dict[str, _Hold]:
        """Return the current holds of other pods by UID."""
        bound = self._bound_pods()
        with self._lock:
            now = self.clock()
            self._held = {uid: one for uid, one in self._held.items() if one.until > now and uid not in bound}
            return {uid: one for uid, one in self._held.items() if uid != (pod.uid or pod.name)}

    def _rooms(
        self, pod: Pod, nodes: Sequence[Node], held: Mapping[str, _Hold]
    ) -> tuple[list[_Room], dict[str, Note]]:
        """Describe the nodes that have a class, and refuse those with an invalid utilisation."""
        known, batch = self.known.now(), dict[str, float]()
        bound = [(one.node, one.cores) for uid, one in self._bound_pods().items() if uid != pod.uid]
        for name, cores in (*bound, *((one.node, one.cores) for one in held.values())):
            batch[name] = batch.get(name, 0.0) + cores
        rooms, bad = [], {}
        self.blind += any(node.cores is None for node in nodes) and self.cluster is None
        for named in nodes:
            at = known.of.get(named.name)
            if at is None:
                continue
            node = (self.cluster.node(named.name) if self.cluster else None) or named
            said = node.annotations.get(UTILISATION)
            load = known.document.classes[at].mean if said is None else share_of(said)
            cores = node.cores or self.cores
            if load is None or load > 1.0:
                bad[named.name] = bad_share(node, UTILISATION, str(said))
            else:
                rooms.append(_Room(named, at, cores, load, batch.get(named.name, 0.0) / cores))
        return rooms, bad

    def length(self, pod: Pod) -> Length:
        """Return the length of the pod's job: as specified, as of its last run, or medium."""
        said = pod.metadata("hindmost/length")
        if said in LENGTHS:
            return said
        last = self.runs.now().get(_job(pod)) if self.runs else None
        if last is None:
            return "medium"
        short, long = self.thresholds
        return "short" if last < short else "long" if last > long else "medium"

    def gauges(self) -> dict[str, float]:
        """Return the metrics on files and API server."""
        unreadable = self.known.unreadable + (self.runs.unreadable if self.runs else 0)
        known = self.known.now()
        found = {
            "classes": float(len(known.document.classes)),
            "nodes": float(len(known.of.by_name)),
            "files_unreadable_total": float(unreadable),
            "blind_questions_total": float(self.blind),
        }
        if self.cluster:
            found |= {
                "pods": float(len(self.cluster.bound())),
                "api_failures_total": float(self.cluster.failures),
            }
        return found

    def _pick(self, pod: Pod, length: Length, rooms: Sequence[_Room], known: ClassIndex) -> set[int]:
        """Draw the classes of the pod's job among those of the nodes, seeded by the job's name."""
        loads: dict[int, list[float]] = {}
        for room in rooms:
            loads.setdefault(room.at, []).append(room.load)
        # A class without any of these nodes has no capacity.
        now = {
            at: sum(loads[at]) / len(loads[at]) if at in loads else 1.0
            for at in range(len(known.document.classes))
        }
        wants = cores_of(pod.metadata("hindmost/wants"))
        return set(
            select(
                known.document,
                length,
                pod.cores if wants is None else wants,
                now=now,
                cores=self.cores,
                reserve=self.reserve,
                seed=zlib.crc32(_job(pod).encode()),
            )[0]
        )


def _job(pod: Pod) -> str:
    return pod.metadata("hindmost/job") or pod.name


def history(length: Length, known: Class, now: float) -> float:
    """Return the utilisation that a job of a length must expect (section 4.2.1)."""
    return max(now, {"short": now, "medium": known.mean, "long": known.peak}[length])


def labels_text(classes: Classes) -> str:
    """Write the script that labels nodes with their class and pattern.

    Raises
    ------
    UsageError
        A server's name is not a valid node name.
    """
    lines = ["#!/bin/sh", "# Classes of nodes, by hindmost harvest export.", "failed="]
    for one in classes.classified:
        for host in one.servers:
            if not NODE.fullmatch(host):
                raise UsageError(
                    "bad-value",
                    f"{host!r} of {one.name} is not a node name",
                    hint="use the nodes' names in the traces: small letters, digits, - and .",
                    key="server",
                    value=host,
                    name=one.name,
                )
            lines.append(
                f"kubectl label node {host} --overwrite hindmost/class={one.class_}"
                f' hindmost/pattern={one.pattern} || failed="$failed {host}"'
            )
    lines += [
        '[ -z "$failed" ] && exit',
        'echo "hindmost: these nodes were not labelled:$failed" >&2',
        "exit 1",
    ]
    return "\n".join(lines) + "\n"


def scheduler_text(url: str) -> str:
    """Write the scheduler's configuration; it uses the extender and ignores it if it is unreachable."""
    return (
        "# For kube-scheduler --config, by hindmost harvest export.\n"
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nextenders:\n"
        f"- urlPrefix: {url}\n  filterVerb: filter\n  prioritizeVerb: prioritize\n  weight: 5\n"
        "  nodeCacheCapable: true\n  ignorable: true\n  httpTimeout: 2s\n"
    )
