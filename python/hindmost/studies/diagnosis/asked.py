"""What is asked of a diagnosis, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hindmost.knobs.journal import FOLDER
from hindmost.stats.causes import Arm, Decision, Normal, Signature
from hindmost.store.diagnosis import Pair
from hindmost.studies.diagnosis.policy import Policy
from hindmost.studies.diagnosis.suspects import Suspects
from hindmost.watch import Application, LatencySource

if TYPE_CHECKING:
    from hindmost.studies.diagnosis.twin.asked import Reproduced, TwinRequest


@dataclass(frozen=True, slots=True)
class DiagnosisRequest:
    """What is to be found out, and how.

    Attributes
    ----------
    quantile : float
        In (0, 1).
    normal_us : float or None
        What it is when all is well; None: not known, and no share can be told.
    normal_work : float or None
        Processors that the application uses when all is well; None: not known, and load may be blamed.
    normal_metrics : Normal or None
        What its metrics are when all is well; None: not known, and no signature can be told.
    pairs : int
        Of the first look; 10 let p be as low as 0.001.
    first : tuple of str
        Names of threads that a trace charged with the variance: they are tried before all others.
    twin : TwinRequest or None
        A second instance on which suspects are tried before the host is touched.
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
    twin: TwinRequest | None = None


@dataclass(slots=True)
class Found:
    """What came of it."""

    request: DiagnosisRequest
    now_us: float
    suspects: Suspects
    decision: Decision
    sham: Arm | None = None
    measured: dict[str, list[Pair]] = field(default_factory=dict)
    """Each suspect's pairs, and those of the sham."""
    took_s: float = 0.0
    correction: dict[str, Any] | None = None
    also: tuple[str, ...] = ()
    """Those that explain it as well as the leader."""
    second: Found | None = None
    """What was found with the first cause taken away, where that left something to explain."""
    signatures: dict[str, Signature] = field(default_factory=dict)
    """Of suspects: whether what moved with the latency comes back with it."""
    twin: Reproduced | None = None
    """What was found on a twin, before anything was tried here."""
