"""A diagnosis from beginning to end: suspects, switch-backs in three looks, a ruling, a correction."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager

from hindmost.interventions.changes import Intervention, Sham
from hindmost.interventions.probe import limit_probe_rate, start_probe
from hindmost.interventions.session import Session, start_session
from hindmost.notes import Note
from hindmost.stats.causes import Gates
from hindmost.studies.diagnosis.asked import DiagnosisRequest, Found
from hindmost.studies.diagnosis.correction import correct
from hindmost.studies.diagnosis.demand import Requests
from hindmost.studies.diagnosis.looks import looked
from hindmost.studies.diagnosis.metrics import Moves
from hindmost.studies.diagnosis.suspects import Suspects, find_suspects
from hindmost.studies.diagnosis.windows import Windows

NOT_NEEDED = Note("not-needed", "a suspect from the trace already explains the slowdown")

__all__ = ["DiagnosisRequest", "Found", "diagnose"]


def diagnose(request: DiagnosisRequest, say: Callable[[str], None] = lambda _: None) -> Found:
    """Find out what makes it slow now, by taking suspects away one at a time.

    Raises
    ------
    TargetError
        The application does not answer, or has ended.
    HindmostError
        Another diagnosis runs, or the journal cannot be kept.
    """
    begun = time.monotonic()
    pid = request.application.pid
    assert pid is not None
    with start_probe(limit_probe_rate(request.latency)) as probe, start_session(request.journal) as session:
        moves = None if request.normal_metrics is None else Moves(pid)
        windows = Windows(probe, request.quantile, request.window_s, request.settle_s, moves=moves)
        if request.twin is not None:
            from hindmost.studies.diagnosis.twin.procedure import through_twin

            found = through_twin(request, request.twin, session, windows, say)
        else:
            suspects = find_suspects(pid, request.policy, first=request.first)
            found = experimented(request, session, windows, suspects, say)
    found.took_s = time.monotonic() - begun
    return found


def experimented(
    request: DiagnosisRequest,
    session: Session,
    windows: Windows,
    suspects: Suspects,
    say: Callable[[str], None],
) -> Found:
    """Look for a cause and, where it leaves something of a known anomaly, for the next one without it."""
    assert request.application.pid is not None
    with closing(Requests(request.application.pid)) as windows.requests:
        found = _searched(request, session, windows, suspects, say)
    windows.requests = None
    seen = {*found.measured, *(found.second.measured if found.second is not None else ())}
    if found.decision.ruling == "cause":
        for name in suspects.tried:
            if name not in seen:
                suspects.left_out.setdefault(name, NOT_NEEDED)
    return found


def _searched(
    request: DiagnosisRequest,
    session: Session,
    windows: Windows,
    suspects: Suspects,
    say: Callable[[str], None],
) -> Found:
    every: dict[str, Intervention] = {"sham": Sham(), **suspects.tried}
    with _held(session, every):
        first = _staged(request, session, windows, suspects, every, say)
    leader = next((arm for arm in first.decision.arms if arm.name == first.decision.leader), None)
    if first.decision.ruling != "cause" or leader is None:
        return first
    # At once: whoever waits for it should not wait for the next search, nor that find it still there.
    kept = request.correct and _corrected(session, windows, first, say)
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
    say(
        f"without {leader.name} latency is still {math.exp(left):.2f} times normal: looking for the next"
        " cause"
    )
    base = None if kept else every[leader.name]
    with _held(session, others if base is None else {**others, leader.name: base}):
        first.second = looked(request, session, windows, suspects, others, base, say, "next")
    if request.correct and first.second.decision.ruling == "cause":
        _corrected(session, windows, first.second, say)
    return first


def _staged(
    request: DiagnosisRequest,
    session: Session,
    windows: Windows,
    suspects: Suspects,
    every: Mapping[str, Intervention],
    say: Callable[[str], None],
) -> Found:
    """Try those that come first alone, and the others only where none of them is the cause."""
    first = [name for name in suspects.first if name in suspects.tried]
    if not first or len(first) == len(suspects.tried):
        return looked(request, session, windows, suspects, every, None, say)
    say(f"first the suspects from the trace: {', '.join(first)}")
    few = {name: every[name] for name in ("sham", *first)}
    found = looked(request, session, windows, suspects, few, None, say, "first", stages=2)
    if found.decision.ruling == "cause":
        return found
    return looked(request, session, windows, suspects, every, None, say, stages=2)


@contextmanager
def _held(session: Session, suspects: Mapping[str, Intervention]) -> Iterator[None]:
    """Have all of them in the journal."""
    with ExitStack() as stack:
        for suspect in suspects.values():
            stack.enter_context(session.journal(suspect))
        yield


def _corrected(session: Session, windows: Windows, found: Found, say: Callable[[str], None]) -> bool:
    found.correction = correct(session, windows, found, say)
    return bool(found.correction["kept"])
