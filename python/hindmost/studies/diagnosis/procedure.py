"""A diagnosis from beginning to end: suspects, switch-backs in three looks, a ruling, a correction."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hindmost.interventions.changes import Intervention, Sham
from hindmost.interventions.held import Surgeon, surgery
from hindmost.interventions.probing import probing
from hindmost.knobs.journal import FOLDER
from hindmost.stats.causes import Arm, Decision, Gates, decide, pairs_needed
from hindmost.store.diagnosis import Pair
from hindmost.studies.diagnosis.correction import correct
from hindmost.studies.diagnosis.demand import GREW, Work
from hindmost.studies.diagnosis.experiment import Trial, pairs_of
from hindmost.studies.diagnosis.policy import Policy
from hindmost.studies.diagnosis.suspects import Suspects, find_suspects
from hindmost.studies.diagnosis.windows import PATIENCE_S, Windows
from hindmost.watch import Application, LatencySource

LOOKS = (1, 2, 4)
"""Times the pairs asked for: nothing is decided between."""
GATE_PAIRS = 4
"""Sham pairs from which the noise of this host is told before anything else is done."""
MOST_UNANSWERED = 0.25
"""Of windows: where more see no answer at all, what TCP waits before it sends again (RFC 6298, doubled each
time) outlasts a window, and nobody who is taken away for that long can bring latency back."""
TOLD_RATIO = 1.5
"""The effect for which the noise gate tells how many pairs it takes, where the anomaly is not known."""


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
    normal_work: float | None = None


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
    with probing(request.latency) as probe, surgery(request.journal) as surgeon:
        windows = Windows(probe, request.quantile, request.window_s, request.settle_s)
        suspects = find_suspects(request.application.pid, request.policy)
        found = _experiment(request, surgeon, windows, suspects, say)
    found.took_s = time.monotonic() - begun
    return found


def _experiment(
    request: DiagnosisRequest,
    surgeon: Surgeon,
    windows: Windows,
    suspects: Suspects,
    say: Callable[[str], None],
) -> Found:
    """Look for a cause and, where it leaves something of a known anomaly, for the next one without it."""
    every: dict[str, Intervention] = {"sham": Sham(), **suspects.tried}
    with _held(surgeon, every):
        first = _looked(request, surgeon, windows, suspects, every, None, say)
    leader = next((arm for arm in first.decision.arms if arm.name == first.decision.leader), None)
    if first.decision.ruling != "cause" or leader is None:
        return first
    # At once: whoever waits for it should not wait for the next search, nor that find it still there.
    kept = request.correct and _corrected(surgeon, windows, first, say)
    if request.normal_us is None:
        return first
    assert first.correction is not None or not kept
    without = (
        first.correction["after_us"]
        if kept and first.correction
        else first.now_us / math.exp(leader.effect.log)
    )
    left = math.log(without / request.normal_us)
    others = {name: one for name, one in every.items() if name not in (leader.name, *suspects.left_out)}
    if left <= math.log(Gates().least_ratio) or len(others) < 2:
        return first
    say(f"without {leader.name} it is still {math.exp(left):.2f} times normal: looking for the next")
    base = None if kept else every[leader.name]
    with _held(surgeon, others if base is None else {**others, leader.name: base}):
        first.second = _looked(request, surgeon, windows, suspects, others, base, say, "next")
    if request.correct and first.second.decision.ruling == "cause":
        _corrected(surgeon, windows, first.second, say)
    return first


@contextmanager
def _held(surgeon: Surgeon, suspects: Mapping[str, Intervention]) -> Iterator[None]:
    """Have all of them in the journal."""
    with ExitStack() as stack:
        for suspect in suspects.values():
            stack.enter_context(surgeon.holding(suspect))
        yield


def _corrected(surgeon: Surgeon, windows: Windows, found: Found, say: Callable[[str], None]) -> bool:
    found.correction = correct(surgeon, windows, found, say)
    return bool(found.correction["kept"])


def _looked(
    request: DiagnosisRequest,
    surgeon: Surgeon,
    windows: Windows,
    suspects: Suspects,
    every: dict[str, Intervention],
    base: Intervention | None,
    say: Callable[[str], None],
    name: str = "",
) -> Found:
    """Up to three looks at suspects that are there and gone in turns, `base` being gone all the time."""
    gates, seed = Gates(looks=len(LOOKS)), f"{request.seed} {name}".strip()
    trials = {each: Trial(one, surgeon, windows, seed, base=base) for each, one in every.items()}
    if len(trials) == 1:
        nothing = Decision("inconclusive", None, (), None, "there was no suspect that could be tried")
        return Found(request, windows.measure(), suspects, nothing)
    assert request.application.pid is not None
    work = Work(request.application.pid)
    pairs_of({"sham": trials["sham"]}, seed, GATE_PAIRS)
    grew = None if request.normal_work is None else work.processors() > GREW * request.normal_work
    there = list(trials["sham"].there.values())
    now_us = math.exp(sum(map(math.log, there)) / len(there))
    anomaly = None if request.normal_us is None else math.log(now_us / request.normal_us)
    say(_gate(trials["sham"], anomaly, gates, request))
    live = trials
    for look in LOOKS:
        live = pairs_of(live, seed, look * request.pairs)
        sham = live["sham"].effect
        effects = {name: trial.effect for name, trial in live.items() if name != "sham"}
        decision = decide(effects, sham, anomaly, gates, suspects.demand, grew)
        say(f"{look * request.pairs} pairs: {decision.ruling}: {decision.why}")
        if decision.ruling in ("cause", "unknown factor") or not decision.arms:
            break
    if decision.ruling == "unknown factor" and windows.unanswered > MOST_UNANSWERED * windows.taken:
        decision = replace(decision, ruling="inconclusive", why=_unanswered(windows))
    for each, trial in trials.items():
        if trial.dropped is not None:
            suspects.left_out[each] = trial.dropped
    arm = Arm("sham", sham, math.nan, math.nan, math.nan, "open")
    measured = {each: trial.measured for each, trial in live.items()}
    return Found(request, now_us, suspects, decision, arm, measured, also=_also(decision, live, gates))


def _also(decision: Decision, live: dict[str, Trial], gates: Gates) -> tuple[str, ...]:
    """Those that explain it as well, and that the leader does not beat: either is enough."""
    if decision.ruling != "cause" or decision.leader is None:
        return ()
    leader = live[decision.leader]
    rivals = (arm.name for arm in decision.arms if arm.state == "explains" and arm.name != decision.leader)
    return tuple(name for name in rivals if leader.beats(live[name]).p > gates.alpha / gates.looks)


def _unanswered(windows: Windows) -> str:
    longer = 4 * (windows.window_s + PATIENCE_S)
    return (
        f"nothing was answered in {windows.unanswered} of {windows.taken} windows of {windows.window_s:g} s,"
        f" nor {PATIENCE_S:g} s later: too short to see latency come back; --window {longer:.0f}s may tell"
    )


def _gate(sham: Trial, anomaly: float | None, gates: Gates, request: DiagnosisRequest) -> str:
    wanted = math.log(TOLD_RATIO) if anomaly is None else max(0.1, anomaly / 2)
    need = pairs_needed(sham.effect.spread, wanted, gates.alpha / gates.looks)
    seconds = 2 * need * (request.window_s + request.settle_s)
    most = LOOKS[-1] * request.pairs
    told = f"this host needs {need} pairs to tell x{math.exp(wanted):.2f}: {seconds:.0f} s a suspect"
    return told if need <= most else f"{told}; at most {most} are made, so it may stay inconclusive"
