"""The request for a diagnosis, and its result."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from hindmost.commands.diagnose.document import Correction, Pair
from hindmost.commands.diagnose.suspects import Suspects
from hindmost.commands.watch.application import Application
from hindmost.commands.watch.latency import LatencySource
from hindmost.core.interventions.policy import Policy
from hindmost.core.knobs.journal import FOLDER
from hindmost.stats.causes import Arm, Decision, Normal, Signature

if TYPE_CHECKING:
    from hindmost.commands.diagnose.replica.request import ReplicaRequest, ReplicaResult


@dataclass(frozen=True, slots=True)
class DiagnosisRequest:
    """What to diagnose, and how.

    Attributes
    ----------
    quantile : float
        Latency quantile to explain, in (0, 1).
    normal_us : float or None
        Usual latency at this quantile, µs; None if unknown, and then no share can be given.
    normal_work : float or None
        CPUs that the application usually uses; None if unknown, and then load may be blamed.
    normal_metrics : Normal or None
        Usual metrics of the application; None if unknown, and then there are no signatures.
    pairs : int
        Pairs in the first stage; 10 pairs allow p to be as low as 0.001.
    first : tuple of str
        Names of threads that a trace charged with the variance. Suspects with these threads are tried first.
    replica : TwinRequest or None
        A replica on which suspects are tried before the host is changed.
    """

    application: Application
    latency: LatencySource
    policy: Policy
    quantile: float = 0.95
    normal_us: float | None = None
    pairs: int = 10
    window_s: float = 0.8
    settle_s: float = 0.2
    seed: int = 1
    correct: bool = False
    journal: Path = FOLDER
    normal_work: float | None = None
    normal_metrics: Normal | None = None
    first: tuple[str, ...] = ()
    replica: ReplicaRequest | None = None


@dataclass(slots=True)
class DiagnosisResult:
    """The result of a diagnosis."""

    request: DiagnosisRequest
    now_us: float
    suspects: Suspects
    decision: Decision
    sham: Arm | None = None
    measured: dict[str, list[Pair]] = field(default_factory=dict)
    """Pairs of each suspect and of the sham, by name."""
    took_s: float = 0.0
    correction: Correction | None = None
    also: tuple[str, ...] = ()
    """Suspects that explain the slowdown as well as the leader."""
    second: DiagnosisResult | None = None
    """Result with the first cause removed, if that cause left a slowdown to explain."""
    signatures: dict[str, Signature] = field(default_factory=dict)
    """By suspect: whether the metrics that moved with the latency come back when it is removed."""
    replica: ReplicaResult | None = None
    """Result on the replica, before anything was tried on the host."""
