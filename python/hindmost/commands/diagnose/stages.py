"""The stages of a search: at most three series of experiments, each followed by a decision."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

from hindmost.commands.diagnose.demand import MORE_WORK, Work
from hindmost.commands.diagnose.experiment import SPENT, Trial, measure_pairs
from hindmost.commands.diagnose.request import DiagnosisRequest, DiagnosisResult
from hindmost.commands.diagnose.suspects import Suspects
from hindmost.commands.diagnose.windows import PATIENCE_S, Windows
from hindmost.core.interventions.changes import Intervention
from hindmost.core.interventions.session import Session
from hindmost.core.notes import Note
from hindmost.stats.causes import Arm, Decision, Gates, Normal, Signature, decide, pairs_needed, signature_of

STAGES = (1, 2, 4)
"""Pairs of each stage, as multiples of the requested ones. The stages share the risk of a wrong name
(Bonferroni)."""
GATE_PAIRS = 4
"""Sham pairs used to estimate the host's noise before any other experiment."""
LOAD_NOT_TRIED = Note(
    "load-not-tried", "it brings load: after a pause, it would send all missed requests at once"
)
MOST_UNANSWERED = 0.25
"""Share of windows without any reply from which windows are too short: TCP's retransmission timeout (RFC
6298, doubled each time) then outlasts a window, so no removal of that length can restore latency."""
DEFAULT_RATIO = 1.5
"""Effect for which the noise gate computes the number of pairs if the anomaly's size is unknown."""


def run_stages(
    request: DiagnosisRequest,
    session: Session,
    windows: Windows,
    suspects: Suspects,
    every: Mapping[str, Intervention],
    base: Intervention | None,
    say: Callable[[str], None],
    name: str = "",
    searches: int = 1,
) -> DiagnosisResult:
    """Run up to three stages of experiments with all suspects in `every`, with `base` removed throughout.

    Parameters
    ----------
    every : mapping
        Suspects by name, including ``sham``.
    name : str
        Name of this search, which seeds its random orders.
    searches : int
        Number of searches that share the risk of a wrong name.
    """
    gates, seed = Gates(looks=searches * len(STAGES)), f"{request.seed} {name}".strip()
    trials = {each: Trial(one, session, windows, seed, base=base) for each, one in every.items()}
    if len(trials) == 1:
        note = Note("no-suspect", "no suspect could be tried")
        nothing = Decision("inconclusive", None, (), None, note)
        return DiagnosisResult(request, windows.measure(), suspects, nothing)
    assert request.application.pid is not None
    work = Work(request.application.pid)
    windows.work = Work(request.application.pid)
    measure_pairs({"sham": trials["sham"]}, seed, GATE_PAIRS)
    grew = None if request.normal_work is None else work.processors() > MORE_WORK * request.normal_work
    there = list(trials["sham"].there.values())
    now_us = math.exp(sum(map(math.log, there)) / len(there))
    anomaly = None if request.normal_us is None else math.log(now_us / request.normal_us)
    say(noise_gate(trials["sham"], anomaly, gates, request))
    # A paused client sends the missed requests afterwards, and users wait behind them. Only a replica can
    # show that load is the cause.
    load = frozenset[str]() if request.replica is not None else suspects.demand & trials.keys()
    suspects.left_out.update(dict.fromkeys(load, LOAD_NOT_TRIED))
    live, signatures = {each: one for each, one in trials.items() if each not in load}, dict[str, Signature]()
    for multiple in STAGES:
        live = measure_pairs(live, seed, multiple * request.pairs)
        dropped = {each: one.dropped for each, one in trials.items() if one.dropped is not None}
        suspects.left_out.update(dropped)
        load |= {each for each, note in dropped.items() if note.code == LOAD_NOT_TRIED.code}
        sham = live["sham"].effect
        effects = {each: trial.effect for each, trial in live.items() if each != "sham"}
        signatures = signatures_of(live, request.normal_metrics, suspects)
        demand = suspects.demand | {each for each, trial in live.items() if each != "sham" and trial.is_load}
        usual = usual_load(live, demand, request.normal_work)
        decision = decide(effects, sham, anomaly, gates, demand, grew, signatures, usual)
        if not effects and load:
            text = "no suspect explains the slowdown: there are only clients, which were not paused"
            note = Note("no-cause-shown", text, {"names": sorted(load)})
            decision = replace(decision, ruling="unknown factor", note=note)
        by_load = bool(grew) and request.replica is None and _only_load_remains(decision, demand, load)
        if by_load:
            decision = replace(decision, ruling="inconclusive", note=_load_or_code(decision, demand))
        say(f"{multiple * request.pairs} pairs: {decision.ruling}: {decision.why}")
        if windows.bound.is_exhausted and decision.ruling != "cause":
            harmful = [each for each, trial in trials.items() if trial.harmed]
            note = Note("harm-spent", f"{SPENT}: {', '.join(harmful)}", {"names": harmful})
            decision = Decision("inconclusive", None, (), None, note)
        if decision.ruling in ("cause", "unknown factor") or by_load or not decision.arms:
            break
    if decision.ruling == "unknown factor" and windows.unanswered > MOST_UNANSWERED * windows.count:
        decision = replace(decision, ruling="inconclusive", note=_unanswered_note(windows))
    arm = Arm("sham", sham, math.nan, math.nan, math.nan, "open")
    measured = {each: trial.pairs for each, trial in live.items()}
    also = _equal_causes(decision, live, gates)
    return DiagnosisResult(
        request, now_us, suspects, decision, arm, measured, also=also, signatures=signatures
    )


def usual_load(
    live: Mapping[str, Trial], demand: frozenset[str], normal_work: float | None
) -> frozenset[str]:
    """Return the load that was present when latency was normal: without it there is too little work.

    Slower code uses more CPU time for the same requests, so more work alone does not mean more load.
    """
    if normal_work is None:
        return frozenset()
    return frozenset(
        each for each in demand & live.keys() if MORE_WORK * live[each].work(there=False) < normal_work
    )


def signatures_of(
    live: Mapping[str, Trial], normal: Normal | None, suspects: Suspects
) -> dict[str, Signature]:
    """Return the signature of each suspect except load, which changes all metrics."""
    if normal is None:
        return {}
    signatures = {}
    for name, trial in live.items():
        there, gone = trial.metric_rows(there=True), trial.metric_rows(there=False)
        if name != "sham" and name not in suspects.demand and len(there):
            direct = suspects.direct.get(name, frozenset())
            signatures[name] = signature_of(normal, there, there, gone, direct, paired=True)
    return signatures


def _equal_causes(decision: Decision, live: Mapping[str, Trial], gates: Gates) -> tuple[str, ...]:
    """Return the suspects that explain it as well and are not clearly worse than the leader."""
    if decision.ruling != "cause" or decision.leader is None:
        return ()
    leader = live[decision.leader]
    rivals = (arm.name for arm in decision.arms if arm.state == "explains" and arm.name != decision.leader)
    return tuple(name for name in rivals if leader.beats(live[name]).p > gates.alpha / gates.looks)


def _only_load_remains(decision: Decision, demand: frozenset[str], load: frozenset[str]) -> bool:
    """Whether only load is left as an explanation."""
    if decision.ruling == "unknown factor":
        return bool(load) or any(arm.name in demand for arm in decision.arms)
    return decision.ruling == "cause" and decision.leader in demand


def _load_or_code(decision: Decision, demand: frozenset[str]) -> Note:
    """Explain why load is not named as the cause: CPU time grows with requests and with slower code alike."""
    text = (
        f"{decision.why}, but the application has more work than normal. That means more requests or slower"
        " code: compare the request rate with the usual one, or use --replica"
    )
    return Note("load-or-code", text, {"names": sorted(demand)})


def _unanswered_note(windows: Windows) -> Note:
    longer = 4 * (windows.window_s + PATIENCE_S)
    return Note(
        "unanswered-windows",
        f"in {windows.unanswered} of {windows.count} windows of {windows.window_s:g} s the server sent no"
        f" reply, even {PATIENCE_S:g} s later: windows are too short to see latency recover; try --window"
        f" {longer:.0f}s",
        {
            "unanswered": windows.unanswered,
            "windows": windows.count,
            "window_s": windows.window_s,
            "need_s": round(longer),
        },
    )


def noise_gate(sham: Trial, anomaly: float | None, gates: Gates, request: DiagnosisRequest) -> str:
    """Return how many pairs this host needs, and how long they take, before anything is changed."""
    wanted = math.log(DEFAULT_RATIO) if anomaly is None else max(0.1, anomaly / 2)
    need = pairs_needed(sham.effect.spread, wanted, gates.alpha / gates.looks)
    seconds = 2 * need * (request.window_s + request.settle_s)
    most = STAGES[-1] * request.pairs
    change = f"{math.exp(wanted):.2f}-fold change"
    text = f"this host needs {need} pairs to show a {change}: {seconds:.0f} s per suspect"
    return text if need <= most else f"{text}; at most {most} are made, so the answer may be inconclusive"
