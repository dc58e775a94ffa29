"""What is asked of a twin, and what was found on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hindmost.interventions.changes import Intervention
from hindmost.notes import Note
from hindmost.stats.causes import Arm, Reproduction, Signature
from hindmost.store.diagnosis import Pair
from hindmost.targets import Managed

NOT_ON_HOST = Note("not-on-host", "nothing was changed on the host")


@dataclass(frozen=True, slots=True)
class TwinRequest:
    """A second instance, and how it is loaded.

    Attributes
    ----------
    target : Managed
        What is started: a preset or a target file.
    rate_per_s : float or None
        Requests a second; None: as many as make the twin work as much as the host's instance does.
    workload : Path or None
        What is asked of it, as `hindmost measure --workload` takes it; None: the probe's requests.
    """

    target: Managed
    rate_per_s: float | None = None
    workload: Path | None = None


@dataclass(slots=True)
class Reproduced:
    """What came of it.

    Attributes
    ----------
    now_us : float
        The sick host's percentile meanwhile; nothing was done to it.
    base_us : float
        The twin's without any suspect.
    processors, host_processors : float
        What the twin and the host's instance use.
    doses : mapping
        Each suspect's way to the twin, by the suspect's name.
    left_out : dict
        Suspects that cannot be brought to a twin, with the reason.
    members : dict
        Who stands behind a dose that holds several suspects.
    removal : Note
        What became of the leader on the host.
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
