"""The last step of a diagnosis by a twin: who made it sick is taken away on the host, if that is allowed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from hindmost.notes import Note
from hindmost.stats.causes import Decision
from hindmost.studies.diagnosis.asked import DiagnosisRequest, Found
from hindmost.studies.diagnosis.suspects import Suspects, find_suspects
from hindmost.studies.diagnosis.twin.asked import NOT_ON_HOST
from hindmost.studies.diagnosis.twin.doses import names_on_host

if TYPE_CHECKING:
    from hindmost.interventions.session import Session
    from hindmost.studies.diagnosis.twin.asked import Reproduced
    from hindmost.studies.diagnosis.windows import Windows

NOT_REPRODUCED = Note("not-reproduced-suspect", "the replica did not become slow with it")


def removed(
    request: DiagnosisRequest,
    session: Session,
    windows: Windows,
    found: Reproduced,
    say: Callable[[str], None],
) -> Found:
    """Take the leader away on the host, where that is allowed: the strongest evidence that there is."""
    from hindmost.studies.diagnosis.procedure import experimented

    ruling = found.reproduction
    pid = request.application.pid
    assert pid is not None
    allowed = find_suspects(pid, request.policy, first=request.first)
    if ruling.outcome != "reproduced" or ruling.leader is None:
        found.removal = Note("not-on-host", "no suspect was reproduced, so nothing was changed on the host")
        return _untouched(request, allowed, found)
    leaders = [name for each in (ruling.leader, *ruling.also) for name in names_on_host(each, found.members)]
    may = {name: one for name, one in allowed.tried.items() if name in leaders}
    if not may:
        whys = {name: allowed.left_out[name] for name in leaders if name in allowed.left_out}
        told = "; ".join(f"{name}: {why}" for name, why in whys.items()) or "it is no longer there"
        found.removal = Note(
            "not-removed-on-host",
            f"it was not removed on the host: {told}",
            {"reasons": {name: why.code for name, why in whys.items()}},
        )
        return _untouched(request, allowed, found)
    say(f"on the host: only {', '.join(may)}")
    allowed.left_out |= {name: NOT_REPRODUCED for name in allowed.tried if name not in may}
    allowed.tried = may
    done = experimented(request, session, windows, allowed, say)
    done.twin = found
    text = f"removed on the host: {done.decision.ruling}"
    found.removal = Note("removed-on-host", text, {"ruling": done.decision.ruling})
    return done


def _untouched(request: DiagnosisRequest, allowed: Suspects, found: Reproduced) -> Found:
    ruling = found.reproduction
    match ruling.outcome:
        case "reproduced":
            note = replace(ruling.note, text=f"{ruling.why}; {found.removal}")
            decision = Decision("cause", ruling.leader, (), None, note)
        case "unknown factor":
            decision = Decision("unknown factor", None, (), None, ruling.note)
        case "void":
            decision = Decision("void", None, (), None, ruling.note)
        case _:
            decision = Decision("inconclusive", ruling.leader, (), ruling.pairs, ruling.note)
    return Found(request, found.now_us, untouched(allowed), decision, also=ruling.also, twin=found)


def untouched(suspects: Suspects) -> Suspects:
    """Suspects of which none was tried on the host."""
    suspects.left_out |= dict.fromkeys(suspects.tried, NOT_ON_HOST)
    suspects.tried = {}
    return suspects
