"""Classes in Kubernetes: labels of nodes, and a judge for the scheduler that knows how long jobs are.

A pod says by labels (or annotations) which job it is of, how long that job takes and how wide it is:

========================  ==========================================================================
``hindmost/job``          the job, or else the pod itself: pods of one job get one class
``hindmost/length``       short, medium or long; or else by the job's last run; or else medium
``hindmost/wants``        cores that the job uses at once, or else what this pod requests
``hindmost/utilisation``  on a node: its primary tenant's share of the cores now, or else the class's mean
========================  ==========================================================================
"""

from __future__ import annotations

import csv
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hindmost.errors import UsageError
from hindmost.harvest.classes import load_classes, read_error
from hindmost.harvest.decisions import Length, select
from hindmost.harvest.hadoop import HOST
from hindmost.kubernetes import Node, Pod, Watched
from hindmost.kubernetes.extender import MOST_SCORE, cores_of
from hindmost.notes import Note
from hindmost.store.harvest import Class, Classes

LENGTHS: tuple[Length, ...] = ("short", "medium", "long")
SHORT_BELOW_S, LONG_ABOVE_S = 173.0, 433.0
"""As in the chapter's test bed; ``learn_thresholds`` gives those of one's own jobs."""
LABELS, SCHEDULER = "hindmost-labels.sh", "hindmost-scheduler.yaml"


def read_runs(path: Path) -> dict[str, float]:
    """Read past runs (``job,duration_s``); the last one of a job counts.

    Raises
    ------
    UsageError
        It is not there, has other columns, or a duration is none.
    """
    found: dict[str, float] = {}
    try:
        with path.open(encoding="utf-8", newline="") as file:
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
class Known:
    """Classes, and the class of each server."""

    document: Classes
    of: dict[str, int]

    def node(self, name: str) -> Class:
        """The class of a node that has one."""
        return self.document["classes"][self.of[name]]


def read_known(path: Path) -> Known:
    """Read what ``hindmost harvest classify`` wrote, by server."""
    found = load_classes(path)
    known = [one for one in found["tenants"] if one["class"] is not None]
    of = {server: one["class"] for one in known for server in one["servers"] if one["class"] is not None}
    return Known(found, of)


@dataclass
class LengthJudge:
    """Algorithm 1 as a scheduler asks it.

    Nodes on which the primary tenant and its reserve leave less than the pod requests are refused. A class is
    drawn for each job, the same for all of its pods, and its nodes score by what they have left.

    Attributes
    ----------
    reserve : float
        Share of a node's cores that primary tenants keep.
    cores : float
        Of a node, where the scheduler does not tell.
    """

    known: Watched[Known]
    runs: Watched[dict[str, float]] | None = None
    reserve: float = 1.0 / 3.0
    cores: float = 12.0
    thresholds: tuple[float, float] = (SHORT_BELOW_S, LONG_ABOVE_S)

    def refused(self, pod: Pod, nodes: Sequence[Node]) -> dict[str, Note]:
        """Refuse classified nodes that cannot spare what the pod requests."""
        known = self.known.now()
        found = {}
        for node in nodes:
            if node.name in known.of:
                cores = node.cores or self.cores
                load = _load(node, known.node(node.name))
                spare = (1.0 - self.reserve - load) * cores
                if spare < max(pod.cores, 1e-9):
                    spare = max(0.0, spare)
                    found[node.name] = Note(
                        "little-headroom",
                        f"hindmost: the primary tenant uses {load:.0%} of {cores:g} cores and reserves"
                        f" {self.reserve:.0%}; {spare:.2g} cores are free, the pod requests {pod.cores:g}",
                        {
                            "load": load,
                            "cores": cores,
                            "reserve": self.reserve,
                            "have": spare,
                            "need": pod.cores,
                        },
                    )
        return found

    def scores(self, pod: Pod, nodes: Sequence[Node]) -> dict[str, int]:
        """Score the nodes of the job's classes by their headroom; others get nothing."""
        known, length = self.known.now(), self.length(pod)
        ours = [node for node in nodes if node.name in known.of]
        picked = self._picked(pod, length, ours, known)
        found = {}
        for node in ours:
            one = known.node(node.name)
            if known.of[node.name] in picked or not picked:
                left = 1.0 - self.reserve - history(length, one, _load(node, one))
                found[node.name] = max(1, round(MOST_SCORE * left / (1.0 - self.reserve)))
        return found

    def length(self, pod: Pod) -> Length:
        """How long the pod's job is: as it says, as its last run was, or medium."""
        said = pod.said("hindmost/length")
        if said in LENGTHS:
            return said
        last = self.runs.now().get(_job(pod)) if self.runs else None
        if last is None:
            return "medium"
        short, long = self.thresholds
        return "short" if last < short else "long" if last > long else "medium"

    def gauges(self) -> dict[str, float]:
        """What ``/metrics`` shows of the files."""
        unreadable = self.known.unreadable + (self.runs.unreadable if self.runs else 0)
        known = self.known.now()
        return {
            "classes": len(known.document["classes"]),
            "nodes": len(known.of),
            "files_unreadable_total": unreadable,
        }

    def _picked(self, pod: Pod, length: Length, ours: Sequence[Node], known: Known) -> set[int]:
        """Draw the classes of the pod's job among those of the nodes, by the job's name."""
        loads: dict[int, list[float]] = {}
        for node in ours:
            loads.setdefault(known.of[node.name], []).append(_load(node, known.node(node.name)))
        # A class without a node among these has nothing to give.
        now = {
            at: sum(loads[at]) / len(loads[at]) if at in loads else 1.0
            for at in range(len(known.document["classes"]))
        }
        wants = cores_of(pod.said("hindmost/wants"))
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
    return pod.said("hindmost/job") or pod.name


def _load(node: Node, known: Class) -> float:
    said = cores_of(node.annotations.get("hindmost/utilisation"))
    return known["mean"] if said is None else min(1.0, said)


def history(length: Length, known: Class, now: float) -> float:
    """Utilisation that a job of a length must reckon with (section 4.2.1)."""
    return max(now, {"short": now, "medium": known["mean"], "long": known["peak"]}[length])


def labels_text(classes: Classes) -> str:
    """Write the script that labels nodes with their class and pattern.

    Raises
    ------
    UsageError
        A server's name is no name of a node.
    """
    lines = ["#!/bin/sh", "# Classes of nodes, by hindmost harvest kubernetes-config.", "set -eu"]
    for one in classes["tenants"]:
        if one["class"] is None:
            continue
        for host in one["servers"]:
            if not HOST.fullmatch(host):
                raise UsageError(
                    "bad-value",
                    f"{host!r} of {one['name']} is not a node name",
                    hint="use the nodes' names in the traces",
                    key="server",
                    value=host,
                    name=one["name"],
                )
            lines.append(
                f"kubectl label node {host} --overwrite hindmost/class={one['class']}"
                f" hindmost/pattern={one['pattern']}"
            )
    return "\n".join(lines) + "\n"


def scheduler_text(url: str) -> str:
    """Write the scheduler's configuration: ours are asked, and nobody waits for us where we are not there."""
    return (
        "# For kube-scheduler --config, by hindmost harvest kubernetes-config.\n"
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nextenders:\n"
        f"- urlPrefix: {url}\n  filterVerb: filter\n  prioritizeVerb: prioritize\n  weight: 5\n"
        "  nodeCacheCapable: false\n  ignorable: true\n  httpTimeout: 2s\n"
    )
