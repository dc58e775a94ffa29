"""Looks at suspects that are there and gone in turns: three at most, and nothing is decided between."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

from hindmost.interventions.changes import Intervention
from hindmost.interventions.session import Session
from hindmost.notes import Note
from hindmost.stats.causes import Arm, Decision, Gates, Normal, Signature, decide, pairs_needed, signature_of
from hindmost.studies.diagnosis.asked import DiagnosisRequest, Found
from hindmost.studies.diagnosis.demand import GREW, Work
from hindmost.studies.diagnosis.experiment import SPENT, Trial, pairs_of
from hindmost.studies.diagnosis.suspects import Suspects
from hindmost.studies.diagnosis.windows import PATIENCE_S, Windows

LOOKS = (1, 2, 4)
"""Times the pairs asked for; the risk of a wrong name is shared among them (Bonferroni)."""
GATE_PAIRS = 4
"""Sham pairs from which the noise of this host is told before anything else is done."""
LOAD_NOT_TRIED = Note("load-not-tried", "it brings load: paused, it would send all that it missed at once")
MOST_UNANSWERED = 0.25
"""Of windows: where more see no answer at all, what TCP waits before it sends again (RFC 6298, doubled each
time) outlasts a window, and nobody who is taken away for that long can bring latency back."""
TOLD_RATIO = 1.5
"""The effect for which the noise gate tells how many pairs it takes, where the anomaly is not known."""


def looked(
    request: DiagnosisRequest,
    session: Session,
    windows: Windows,
    suspects: Suspects,
    every: Mapping[str, Intervention],
    base: Intervention | None,
    say: Callable[[str], None],
    name: str = "",
    stages: int = 1,
) -> Found:
    """Look at `every` suspect, up to three times, `base` being gone all the time.

    Parameters
    ----------
    every : mapping
        Suspects by name, and ``sham``.
    name : str
        Of this search: its orders are its own.
    stages : int
        Searches among which the risk of a wrong name is shared.
    """
    gates, seed = Gates(looks=stages * len(LOOKS)), f"{request.seed} {name}".strip()
    trials = {each: Trial(one, session, windows, seed, base=base) for each, one in every.items()}
    if len(trials) == 1:
        note = Note("no-suspect", "no suspect could be tried")
        nothing = Decision("inconclusive", None, (), None, note)
        return Found(request, windows.measure(), suspects, nothing)
    assert request.application.pid is not None
    work = Work(request.application.pid)
    windows.work = Work(request.application.pid)
    pairs_of({"sham": trials["sham"]}, seed, GATE_PAIRS)
    grew = None if request.normal_work is None else work.processors() > GREW * request.normal_work
    there = list(trials["sham"].there.values())
    now_us = math.exp(sum(map(math.log, there)) / len(there))
    anomaly = None if request.normal_us is None else math.log(now_us / request.normal_us)
    say(noise_gate(trials["sham"], anomaly, gates, request))
    # A client that is paused sends what it missed afterwards, and users wait behind that. Only a twin can
    # show that load is the cause.
    load = frozenset[str]() if request.twin is not None else suspects.demand & trials.keys()
    suspects.left_out.update(dict.fromkeys(load, LOAD_NOT_TRIED))
    live, signatures = {each: one for each, one in trials.items() if each not in load}, dict[str, Signature]()
    for look in LOOKS:
        live = pairs_of(live, seed, look * request.pairs)
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
        by_load = bool(grew) and request.twin is None and _by_load(decision, demand, load)
        if by_load:
            decision = replace(decision, ruling="inconclusive", note=_load_or_code(decision, demand))
        say(f"{look * request.pairs} pairs: {decision.ruling}: {decision.why}")
        if windows.bound.spent and decision.ruling != "cause":
            harmful = [each for each, trial in trials.items() if trial.harmed]
            note = Note("harm-spent", f"{SPENT}: {', '.join(harmful)}", {"names": harmful})
            decision = Decision("inconclusive", None, (), None, note)
        if decision.ruling in ("cause", "unknown factor") or by_load or not decision.arms:
            break
    if decision.ruling == "unknown factor" and windows.unanswered > MOST_UNANSWERED * windows.taken:
        decision = replace(decision, ruling="inconclusive", note=_unanswered(windows))
    arm = Arm("sham", sham, math.nan, math.nan, math.nan, "open")
    measured = {each: trial.measured for each, trial in live.items()}
    also = _also(decision, live, gates)
    return Found(request, now_us, suspects, decision, arm, measured, also=also, signatures=signatures)


def usual_load(
    live: Mapping[str, Trial], demand: frozenset[str], normal_work: float | None
) -> frozenset[str]:
    """Load without which the application has less work than normal: it was there when all was well.

    Slower code takes more processor time for the same requests: more work alone is no more load.
    """
    if normal_work is None:
        return frozenset()
    return frozenset(
        each for each in demand & live.keys() if GREW * live[each].work(there=False) < normal_work
    )


def signatures_of(
    live: Mapping[str, Trial], normal: Normal | None, suspects: Suspects
) -> dict[str, Signature]:
    """Of each suspect whether metrics came back with the latency; of load nothing: it sets all of them."""
    if normal is None:
        return {}
    found = {}
    for name, trial in live.items():
        there, gone = trial.moved(there=True), trial.moved(there=False)
        if name != "sham" and name not in suspects.demand and len(there):
            direct = suspects.direct.get(name, frozenset())
            found[name] = signature_of(normal, there, there, gone, direct, paired=True)
    return found


def _also(decision: Decision, live: Mapping[str, Trial], gates: Gates) -> tuple[str, ...]:
    """Those that explain it as well, and that the leader does not beat: either is enough."""
    if decision.ruling != "cause" or decision.leader is None:
        return ()
    leader = live[decision.leader]
    rivals = (arm.name for arm in decision.arms if arm.state == "explains" and arm.name != decision.leader)
    return tuple(name for name in rivals if leader.beats(live[name]).p > gates.alpha / gates.looks)


def _by_load(decision: Decision, demand: frozenset[str], load: frozenset[str]) -> bool:
    """Whether nothing but load is left to explain it."""
    if decision.ruling == "unknown factor":
        return bool(load) or any(arm.name in demand for arm in decision.arms)
    return decision.ruling == "cause" and decision.leader in demand


def _load_or_code(decision: Decision, demand: frozenset[str]) -> Note:
    """Why load is not named: processor time grows with requests and with slower code alike."""
    text = (
        f"{decision.why}, but the application has more work than normal, and that is more requests or slower"
        " code: compare the request rate with the usual one, or use --twin"
    )
    return Note("load-or-code", text, {"names": sorted(demand)})


def _unanswered(windows: Windows) -> Note:
    longer = 4 * (windows.window_s + PATIENCE_S)
    return Note(
        "unanswered-windows",
        f"in {windows.unanswered} of {windows.taken} windows of {windows.window_s:g} s the server answered"
        f" nothing, even {PATIENCE_S:g} s later: windows are too short to see latency recover; try --window"
        f" {longer:.0f}s",
        {
            "unanswered": windows.unanswered,
            "windows": windows.taken,
            "window_s": windows.window_s,
            "need_s": round(longer),
        },
    )


def noise_gate(sham: Trial, anomaly: float | None, gates: Gates, request: DiagnosisRequest) -> str:
    """How many pairs this host needs, and how long that takes, before anything is done."""
    wanted = math.log(TOLD_RATIO) if anomaly is None else max(0.1, anomaly / 2)
    need = pairs_needed(sham.effect.spread, wanted, gates.alpha / gates.looks)
    seconds = 2 * need * (request.window_s + request.settle_s)
    most = LOOKS[-1] * request.pairs
    told = f"this host needs {need} pairs to show a {math.exp(wanted):.2f}-fold change: {seconds:.0f} s per"
    " suspect"
    return told if need <= most else f"{told}; at most {most} are made, so the answer may be inconclusive"
