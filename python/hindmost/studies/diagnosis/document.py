"""A diagnosis as the document ``hindmost.diagnosis/1``."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from hindmost.stats.causes import Gates
from hindmost.store import now_utc
from hindmost.store.diagnosis import (
    SCHEMA_NAME,
    Company,
    Correction,
    Diagnosis,
    Evidence,
    Likeness,
    Next,
    Pair,
    Twin,
    UntriedSuspects,
)

if TYPE_CHECKING:
    from hindmost.notes import Note
    from hindmost.stats.causes import Arm, Dosed, Signature
    from hindmost.stats.causes.ranking import Moved
    from hindmost.studies.diagnosis.request import DiagnosisResult
    from hindmost.studies.diagnosis.twin.request import TwinResult

_INTERVAL = 0.975


def document_of(
    found: DiagnosisResult, moved: Sequence[Moved] | None = None, wait: Note | None = None
) -> Diagnosis:
    """Build the document of a diagnosis.

    Parameters
    ----------
    found : Found
    moved : sequence of Moved, optional
        Metrics that moved with latency in a ring, used if no experiment found a cause.
    wait : Note, optional
        Why the ring cannot rank metrics yet.
    """
    request, decision = found.request, found.decision
    every = [pair for each in found.measured.values() for pair in each]
    if found.twin is not None:
        every += [pair for each in found.twin.measured.values() for pair in each]
    first_s = min((pair["at_s"] for pair in every), default=0.0)
    return {
        "schema": SCHEMA_NAME,
        "created": now_utc(),
        "application": request.application.name,
        "percentile": 100 * request.quantile,
        "now_us": found.now_us,
        "normal_us": request.normal_us,
        "explains_above": Gates().share_low,
        "struck_out_below": Gates().share_out,
        "ruling": decision.ruling,
        "leader": decision.leader,
        "also": list(found.also),
        "why": decision.why,
        "why_note": decision.note.document(),
        "pairs_needed": decision.pairs,
        "suspects": _suspects(found, first_s),
        "sham": _sham(found, first_s),
        **_not_tried(found.suspects.left_out),
        "took_s": found.took_s,
        "correction": _correction(found, first_s),
        "next": None if found.second is None else _next(found.second, first_s),
        "moved": None if moved is None else [Company(**asdict(one)) for one in moved],  # type: ignore[typeddict-item]
        "moved_wait": None if wait is None else wait.text,
        "moved_wait_note": None if wait is None else wait.document(),
        "twin": None if found.twin is None else _twin(found.twin, first_s),
    }


def _next(found: DiagnosisResult, first_s: float) -> Next:
    return {
        "now_us": found.now_us,
        "ruling": found.decision.ruling,
        "leader": found.decision.leader,
        "also": list(found.also),
        "why": found.decision.why,
        "why_note": found.decision.note.document(),
        "suspects": _suspects(found, first_s),
        "sham": _sham(found, first_s),
        "correction": _correction(found, first_s),
    }


def _suspects(found: DiagnosisResult, first_s: float) -> list[Evidence]:
    return [
        _evidence(
            arm,
            found.suspects.tried[arm.name].description,
            _since(found.measured[arm.name], first_s),
            found.signatures.get(arm.name),
        )
        for arm in found.decision.arms
    ]


def _twin(found: TwinResult, first_s: float) -> Twin:
    ruling = found.reproduction
    return {
        "name": found.name,
        "rate_per_s": found.rate_per_s,
        "processors": found.processors,
        "host_processors": found.host_processors,
        "now_us": found.now_us,
        "base_us": found.base_us,
        "ruling": ruling.outcome,
        "leader": ruling.leader,
        "also": list(ruling.also),
        "why": ruling.why,
        "why_note": ruling.note.document(),
        "suspects": [
            _evidence(
                arm,
                found.doses[arm.name].description,
                _since(found.measured[arm.name], first_s),
                found.signatures.get(arm.name),
                arm.reach,
            )
            for arm in ruling.arms
        ],
        "sham": _evidence(found.sham, "nothing is changed", _since(found.measured["sham"], first_s))
        if found.sham is not None
        else None,
        **_not_tried(found.left_out),
        "removal": found.removal.text,
        "removal_note": found.removal.document(),
    }


def _not_tried(left_out: Mapping[str, Note]) -> UntriedSuspects:
    """Return why suspects were not tried, as texts and as notes."""
    return {
        "not_tried": {name: note.text for name, note in left_out.items()},
        "not_tried_notes": {name: note.document() for name, note in left_out.items()},
    }


def _likeness(found: Signature) -> Likeness:
    return {
        "residual": _finite(found.residual),
        "low": _finite(found.low),
        "high": _finite(found.high),
        "fits": found.fits,
        "stays": [{"name": name, "left": _finite(left)} for name, left in found.stays],
        "why": found.why,
        "why_note": None if found.note is None else found.note.document(),
    }


def _sham(found: DiagnosisResult, first_s: float) -> Evidence | None:
    if found.sham is None:
        return None
    return _evidence(found.sham, "nothing is changed", _since(found.measured["sham"], first_s))


def _correction(found: DiagnosisResult, first_s: float) -> Correction | None:
    if found.correction is None:
        return None
    correction: Correction = Correction(**found.correction)  # type: ignore[typeddict-item]
    if "measured" in correction:
        correction["measured"] = _since(correction["measured"], first_s)
    return correction


def _since(measured: Sequence[Pair], first_s: float) -> list[Pair]:
    """Return the same pairs with times in seconds since the first pair of the diagnosis."""
    return [{**pair, "at_s": pair["at_s"] - first_s} for pair in measured]


def _evidence(
    arm: Arm | Dosed,
    description: str,
    measured: list[Pair],
    signature: Signature | None = None,
    reach: float | None = None,
) -> Evidence:
    effect = arm.effect
    return {
        "name": arm.name,
        "about": description,
        "ratio": math.exp(effect.log),
        "low": _ratio(effect.bound(1 - _INTERVAL)),
        "high": _ratio(effect.bound(_INTERVAL)),
        "p": effect.p,
        "pairs": effect.pairs,
        "share": _finite(arm.share),
        "share_low": _finite(arm.low),
        "share_high": _finite(arm.high),
        "state": arm.state,
        "signature": None if signature is None else _likeness(signature),
        "reach": None if reach is None else _finite(reach),
        "measured": measured,
    }


def _ratio(log: float) -> float | None:
    return _finite(math.exp(log)) if log < 700 else None


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
