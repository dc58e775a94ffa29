"""A complete diagnosis: suspects, switch-back experiments in three stages, a ruling, a correction."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace

from msgspec import UNSET

from hindmost.commands.diagnose.correction import correct
from hindmost.commands.diagnose.demand import Requests
from hindmost.commands.diagnose.metrics import MetricRates
from hindmost.commands.diagnose.request import DiagnosisRequest, DiagnosisResult
from hindmost.commands.diagnose.stages import run_stages
from hindmost.commands.diagnose.suspects import Suspects, find_suspects
from hindmost.commands.diagnose.upstream import find_slow_upstream
from hindmost.commands.diagnose.windows import Windows
from hindmost.commands.watch.probe import limit_probe_rate, start_probe
from hindmost.core.interventions.changes import Intervention, Sham
from hindmost.core.interventions.session import Session, start_session
from hindmost.core.notes import Note
from hindmost.stats.causes import Gates

NOT_NEEDED = Note("not-needed", "a suspect from the trace already explains the slowdown")

__all__ = ["DiagnosisRequest", "DiagnosisResult", "diagnose"]


def diagnose(request: DiagnosisRequest, say: Callable[[str], None] = lambda _: None) -> DiagnosisResult:
    """Find what makes the application slow now, by removing one suspect at a time.

    Raises
    ------
    TargetError
        The application does not answer, or has ended.
    HindmostError
        Another diagnosis runs, or the journal cannot be kept.
    """
    start = time.monotonic()
    pid = request.application.pid
    assert pid is not None
    with start_probe(limit_probe_rate(request.latency)) as probe, start_session(request.journal) as session:
        metric_rates = None if request.normal_metrics is None else MetricRates(pid)
        windows = Windows(
            probe, request.quantile, request.window_s, request.settle_s, metric_rates=metric_rates
        )
        if request.replica is not None:
            from hindmost.commands.diagnose.replica.procedure import through_replica

            result = through_replica(request, request.replica, session, windows, say)
        else:
            suspects = find_suspects(pid, request.policy, first=request.first)
            result = run_experiments(request, session, windows, suspects, say)
    result.took_s = time.monotonic() - start
    return result


def run_experiments(
    request: DiagnosisRequest,
    session: Session,
    windows: Windows,
    suspects: Suspects,
    say: Callable[[str], None],
) -> DiagnosisResult:
    """Search for a cause and, if it leaves part of a known anomaly unexplained, for the next one."""
    assert request.application.pid is not None
    with closing(Requests(request.application.pid)) as windows.requests:
        result = _search(request, session, windows, suspects, say)
    windows.requests = None
    seen = {*result.measured, *(result.second.measured if result.second is not None else ())}
    if result.decision.ruling == "cause":
        for name in suspects.tried:
            if name not in seen:
                suspects.left_out.setdefault(name, NOT_NEEDED)
    return result


def _search(
    request: DiagnosisRequest,
    session: Session,
    windows: Windows,
    suspects: Suspects,
    say: Callable[[str], None],
) -> DiagnosisResult:
    every: dict[str, Intervention] = {"sham": Sham(), **suspects.tried}
    with _journal_all(session, every):
        first = _try_first(request, session, windows, suspects, every, say)
    if request.normal_us is not None and first.decision.ruling in ("unknown factor", "inconclusive"):
        assert request.application.pid is not None
        say("no suspect was named: looking at the backends")
        if note := find_slow_upstream(request.application.pid, windows, request.normal_us):
            first.decision = replace(first.decision, ruling="unknown factor", leader=None, note=note)
    leader = next((arm for arm in first.decision.arms if arm.name == first.decision.leader), None)
    if first.decision.ruling != "cause" or leader is None:
        return first
    # Correct at once, so that users need not wait for the next search, which should not find this cause
    # again.
    if request.correct:
        first.correction = correct(session, windows, first, say)
    kept = first.correction if first.correction is not None and first.correction.kept else None
    if request.normal_us is None:
        return first
    without = first.now_us / math.exp(leader.effect.log)
    if kept is not None and kept.after_us is not UNSET:
        without = kept.after_us
    left = math.log(without / request.normal_us)
    remaining = {name: one for name, one in every.items() if name not in (leader.name, *suspects.left_out)}
    if left <= math.log(Gates().least_ratio) or len(remaining) < 2:
        return first
    say(
        f"without {leader.name} latency is still {math.exp(left):.2f} times normal: looking for the next"
        " cause"
    )
    base = every[leader.name] if kept is None else None
    with _journal_all(session, remaining if base is None else {**remaining, leader.name: base}):
        first.second = run_stages(request, session, windows, suspects, remaining, base, say, "next")
    if request.correct and first.second.decision.ruling == "cause":
        first.second.correction = correct(session, windows, first.second, say)
    return first


def _try_first(
    request: DiagnosisRequest,
    session: Session,
    windows: Windows,
    suspects: Suspects,
    every: Mapping[str, Intervention],
    say: Callable[[str], None],
) -> DiagnosisResult:
    """Try the suspects in `first` alone, and all suspects only if none of these is the cause."""
    first = [name for name in suspects.first if name in suspects.tried]
    if not first or len(first) == len(suspects.tried):
        return run_stages(request, session, windows, suspects, every, None, say)
    say(f"first the suspects from the trace: {', '.join(first)}")
    few = {name: every[name] for name in ("sham", *first)}
    result = run_stages(request, session, windows, suspects, few, None, say, "first", searches=2)
    if result.decision.ruling == "cause":
        return result
    return run_stages(request, session, windows, suspects, every, None, say, searches=2)


@contextmanager
def _journal_all(session: Session, suspects: Mapping[str, Intervention]) -> Iterator[None]:
    """Keep all suspects in the journal during the block."""
    with ExitStack() as stack:
        for suspect in suspects.values():
            stack.enter_context(session.journal(suspect))
        yield
