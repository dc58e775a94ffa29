"""A diagnosis from beginning to end: suspects, switch-backs in three looks, a ruling, a correction."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hindmost import _engine
from hindmost.errors import HostUnfit
from hindmost.knobs.journal import FOLDER
from hindmost.stats.causes import Arm, Decision, Gates, decide, pairs_needed
from hindmost.studies.diagnosis.experiment import Trial, pairs_of
from hindmost.studies.diagnosis.held import Surgeon, surgery
from hindmost.studies.diagnosis.interventions import Intervention, Sham
from hindmost.studies.diagnosis.policy import Policy
from hindmost.studies.diagnosis.suspects import Suspects, find_suspects
from hindmost.studies.diagnosis.windows import Windows
from hindmost.watch import Application, LatencySource

LOOKS = (1, 2, 4)
"""Times the pairs asked for: nothing is decided between."""
GATE_PAIRS = 4
"""Sham pairs from which the noise of this host is told before anything else is done."""
TOLD_RATIO = 1.5
"""The effect for which the noise gate tells how many pairs it takes, where the anomaly is not known."""
CAME_BACK = 0.5
"""Of the anomaly, on the logarithm: a correction that brings back less is undone."""


@dataclass(frozen=True, slots=True)
class DiagnosisRequest:
    """What is to be found out, and how.

    Attributes
    ----------
    quantile : float
        In (0, 1).
    normal_us : float or None
        What it is when all is well; None: not known, and no share can be told.
    pairs : int
        Of the first look; 10 let p be as low as 0.001.
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


@dataclass(slots=True)
class Found:
    """What came of it."""

    request: DiagnosisRequest
    now_us: float
    suspects: Suspects
    decision: Decision
    sham: Arm | None = None
    pairs: int = 0
    took_s: float = 0.0
    correction: dict[str, Any] | None = None
    notes: list[str] = field(default_factory=list)


def diagnose(request: DiagnosisRequest, say: Callable[[str], None] = lambda _: None) -> Found:
    """Find out what makes it slow now, by taking suspects away one at a time.

    Raises
    ------
    TargetError
        The application does not answer.
    HindmostError
        Another diagnosis runs, or the journal cannot be kept.
    """
    begun = time.monotonic()
    assert request.application.pid is not None
    probe = _prober(request.latency)
    try:
        windows = Windows(probe, request.quantile, request.window_s, request.settle_s)
        with surgery(request.journal) as surgeon:
            suspects = find_suspects(request.application.pid, request.policy)
            found = _experiment(request, surgeon, windows, suspects, say)
            if request.correct and found.decision.ruling == "cause":
                found.correction = _correct(request, surgeon, windows, found, say)
    finally:
        probe.end()
    found.took_s = time.monotonic() - begun
    return found


def _prober(latency: LatencySource) -> _engine.Prober:
    asked = latency.document.get("probe")
    if asked is None:
        raise HostUnfit(
            "an experiment needs a probe: an access log tells latency too late", hint="--probe 200/s"
        )
    return _engine.Prober(asked["address"], asked["protocol"], asked["rate"])


def _experiment(
    request: DiagnosisRequest,
    surgeon: Surgeon,
    windows: Windows,
    suspects: Suspects,
    say: Callable[[str], None],
) -> Found:
    gates = Gates(looks=len(LOOKS))
    seed = f"{request.seed}"
    every: dict[str, Intervention] = {"sham": Sham(), **suspects.tried}
    with ExitStack() as held:
        for suspect in every.values():
            held.enter_context(surgeon.holding(suspect))
        trials = {name: Trial(suspect, surgeon, windows, seed) for name, suspect in every.items()}
        now_us = windows.measure()
        nothing = Decision("inconclusive", None, (), None, "there was no suspect that could be tried")
        if not suspects.tried:
            return Found(request, now_us, suspects, nothing)
        pairs_of({"sham": trials["sham"]}, seed, GATE_PAIRS)
        there = list(trials["sham"].there.values())
        now_us = math.exp(sum(map(math.log, there)) / len(there))
        anomaly = None if request.normal_us is None else math.log(now_us / request.normal_us)
        say(_gate(trials["sham"], anomaly, gates, request))
        decision, live = nothing, trials
        for look in LOOKS:
            live = pairs_of(live, seed, look * request.pairs)
            sham = live["sham"].effect
            decision = decide(
                {name: trial.effect for name, trial in live.items() if name != "sham"}, sham, anomaly, gates
            )
            say(f"{look * request.pairs} pairs: {decision.ruling}: {decision.why}")
            if decision.ruling in ("cause", "unknown factor") or not decision.arms:
                break
        for name, trial in trials.items():
            if trial.dropped is not None:
                suspects.left_out[name] = trial.dropped
        arm = Arm("sham", sham, math.nan, math.nan, math.nan, "open")
        return Found(request, now_us, suspects, decision, arm, sham.pairs)


def _gate(sham: Trial, anomaly: float | None, gates: Gates, request: DiagnosisRequest) -> str:
    wanted = math.log(TOLD_RATIO) if anomaly is None else max(0.1, anomaly / 2)
    need = pairs_needed(sham.effect.spread, wanted, gates.alpha / gates.looks)
    seconds = 2 * need * (request.window_s + request.settle_s)
    most = LOOKS[-1] * request.pairs
    told = f"this host needs {need} pairs to tell x{math.exp(wanted):.2f}: {seconds:.0f} s a suspect"
    return told if need <= most else f"{told}; at most {most} are made, so it may stay inconclusive"


def _correct(
    request: DiagnosisRequest,
    surgeon: Surgeon,
    windows: Windows,
    found: Found,
    say: Callable[[str], None],
) -> dict[str, Any]:
    """Apply the correction, look whether the percentile came back, keep it or undo it."""
    leader = found.decision.leader
    assert leader is not None
    correction = found.suspects.corrections.get(leader)
    if correction is None and leader.startswith("neighbour"):
        return {
            "kept": False,
            "why": "a neighbour cannot stay paused, and there is no other processor for it",
        }
    correction = correction or found.suspects.tried[leader]
    wanted = 0.0 if request.normal_us is None else math.log(found.now_us / request.normal_us) * CAME_BACK
    wanted = max(wanted, math.log(Gates().least_ratio))
    say(f"correcting: {correction.about}")
    undo = correction.undo
    with ExitStack() as force:
        force.enter_context(surgeon.holding(correction))
        correction.remove()
        values = [windows.measure() for _ in range(request.pairs)]
        after = math.exp(sum(map(math.log, values)) / len(values))
        said = {"about": correction.about, "before_us": found.now_us, "after_us": after}
        if math.log(found.now_us / after) < wanted or not correction.arrived():
            correction.give_back()
            return {**said, "kept": False, "why": "the percentile did not come back: it was undone"}
        surgeon.keep(correction, undo)
    # The undo of `holding` has just put it back; once more, for good.
    correction.remove()
    return {**said, "kept": True, "why": "the percentile came back", "undo": "hindmost knobs restore"}
