"""The request for a replica, and the result of the experiments on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hindmost.commands.diagnose.document import Pair
from hindmost.core.interventions.changes import Intervention
from hindmost.core.notes import Note
from hindmost.core.targets import Managed
from hindmost.stats.causes import Arm, Reproduction, Signature

NOT_ON_HOST = Note("not-on-host", "nothing was changed on the host")


@dataclass(frozen=True, slots=True)
class ReplicaRequest:
    """A second instance, and its load.

    Attributes
    ----------
    target : Managed
        What to start: a preset or a target file.
    rate_per_s : float or None
        Requests/s; None makes the replica as busy as the host's instance.
    workload : Path or None
        Workload file, as for `hindmost measure --workload`; None uses the probe's requests.
    """

    target: Managed
    rate_per_s: float | None = None
    workload: Path | None = None


@dataclass(slots=True)
class ReplicaResult:
    """The result of the experiments on the replica.

    Attributes
    ----------
    now_us : float
        Latency percentile of the unchanged, slow host during that time, µs.
    base_us : float
        The replica's percentile without any suspect, µs.
    processors, host_processors : float
        CPUs that the replica and the host's instance use.
    doses : mapping
        Intervention that brings each suspect to the replica, by suspect.
    left_out : dict
        Suspects that cannot be brought to a replica, with the reason.
    members : dict
        Suspects behind each dose.
    removal : Note
        What happened when the leader was removed on the host.
    """

    name: str
    rate_per_s: float
    processors: float
    host_processors: float
    now_us: float
    base_us: float
    reproduction: Reproduction
    doses: Mapping[str, Intervention]
    left_out: dict[str, Note]
    members: dict[str, list[str]] = field(default_factory=dict)
    sham: Arm | None = None
    measured: dict[str, list[Pair]] = field(default_factory=dict)
    signatures: dict[str, Signature] = field(default_factory=dict)
    removal: Note = NOT_ON_HOST
