"""The last step of a diagnosis with a replica: the cause is removed on the host, if the policy allows it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from hindmost.commands.diagnose.replica.doses import names_on_host
from hindmost.commands.diagnose.replica.request import NOT_ON_HOST
from hindmost.commands.diagnose.request import DiagnosisRequest, DiagnosisResult
from hindmost.commands.diagnose.suspects import Suspects, find_suspects
from hindmost.core.notes import Note
from hindmost.stats.causes import Decision

if TYPE_CHECKING:
    from hindmost.commands.diagnose.replica.request import ReplicaResult
    from hindmost.commands.diagnose.windows import Windows
    from hindmost.core.interventions.session import Session

NOT_REPRODUCED = Note("not-reproduced-suspect", "the replica did not become slow with it")


def confirm_on_host(
    request: DiagnosisRequest,
    session: Session,
    windows: Windows,
    replica_result: ReplicaResult,
    say: Callable[[str], None],
) -> DiagnosisResult:
    """Remove the leader on the host if that is allowed, which is the strongest evidence."""
    from hindmost.commands.diagnose.procedure import run_experiments

    ruling = replica_result.reproduction
    pid = request.application.pid
    assert pid is not None
    allowed = find_suspects(pid, request.policy, first=request.first)
    if ruling.outcome != "reproduced" or ruling.leader is None:
        replica_result.removal = Note(
            "not-on-host", "no suspect was reproduced, so nothing was changed on the host"
        )
        return _without_experiment(request, allowed, replica_result)
    leaders = [
        name for each in (ruling.leader, *ruling.also) for name in names_on_host(each, replica_result.members)
    ]
    may = {name: one for name, one in allowed.tried.items() if name in leaders}
    if not may:
        whys = {name: allowed.left_out[name] for name in leaders if name in allowed.left_out}
        reasons = "; ".join(f"{name}: {why}" for name, why in whys.items()) or "it no longer exists"
        replica_result.removal = Note(
            "not-removed-on-host",
            f"it was not removed on the host: {reasons}",
            {"reasons": {name: why.code for name, why in whys.items()}},
        )
        return _without_experiment(request, allowed, replica_result)
    say(f"on the host: only {', '.join(may)}")
    allowed.left_out |= {name: NOT_REPRODUCED for name in allowed.tried if name not in may}
    allowed.tried = may
    done = run_experiments(request, session, windows, allowed, say)
    done.replica = replica_result
    text = f"removed on the host: {done.decision.ruling}"
    replica_result.removal = Note("removed-on-host", text, {"ruling": done.decision.ruling})
    return done


def _without_experiment(
    request: DiagnosisRequest, allowed: Suspects, replica_result: ReplicaResult
) -> DiagnosisResult:
    ruling = replica_result.reproduction
    match ruling.outcome:
        case "reproduced":
            note = replace(ruling.note, text=f"{ruling.why}; {replica_result.removal}")
            decision = Decision("cause", ruling.leader, (), None, note)
        case "unknown factor":
            decision = Decision("unknown factor", None, (), None, ruling.note)
        case "void":
            decision = Decision("void", None, (), None, ruling.note)
        case _:
            decision = Decision("inconclusive", ruling.leader, (), ruling.pairs, ruling.note)
    return DiagnosisResult(
        request,
        replica_result.now_us,
        mark_not_tried(allowed),
        decision,
        also=ruling.also,
        replica=replica_result,
    )


def mark_not_tried(suspects: Suspects) -> Suspects:
    """Mark all suspects as not tried on the host."""
    suspects.left_out |= dict.fromkeys(suspects.tried, NOT_ON_HOST)
    suspects.tried = {}
    return suspects
