"""A diagnosis as the document ``hindmost.diagnosis/2``."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from msgspec import UNSET, structs

from hindmost.commands.diagnose.document import (
    SCHEMA_NAME,
    Company,
    Correction,
    Diagnosis,
    Evidence,
    Likeness,
    Next,
    Pair,
    Replica,
    Stay,
)
from hindmost.core.store import now_utc
from hindmost.stats.causes import Gates

if TYPE_CHECKING:
    from hindmost.commands.diagnose.replica.request import ReplicaResult
    from hindmost.commands.diagnose.request import DiagnosisResult
    from hindmost.core.notes import Note
    from hindmost.core.store.types import Note as NoteDocument
    from hindmost.stats.causes import Arm, DoseEffect, Signature
    from hindmost.stats.causes.ranking import MovedMetric

_INTERVAL = 0.975


def document_of(
    result: DiagnosisResult, moved: Sequence[MovedMetric] | None = None, wait: Note | None = None
) -> Diagnosis:
    """Build the document of a diagnosis.

    Parameters
    ----------
    result : Found
    moved : sequence of Moved, optional
        Metrics that moved with latency in a ring, used if no experiment found a cause.
    wait : Note, optional
        Why the ring cannot rank metrics yet.
    """
    request, decision = result.request, result.decision
    every = [pair for each in result.measured.values() for pair in each]
    if result.replica is not None:
        every += [pair for each in result.replica.measured.values() for pair in each]
    first_s = min((pair.at_s for pair in every), default=0.0)
    return Diagnosis(
        schema=SCHEMA_NAME,
        created=now_utc(),
        application=request.application.name,
        percentile=100 * request.quantile,
        now_us=result.now_us,
        normal_us=request.normal_us,
        explains_above=Gates().share_low,
        ruled_out_below=Gates().share_out,
        ruling=decision.ruling,
        leader=decision.leader,
        also=list(result.also),
        why=decision.why,
        why_note=decision.note.document(),
        pairs_needed=decision.pairs,
        suspects=_suspects(result, first_s),
        sham=_sham(result, first_s),
        not_tried=_texts(result.suspects.left_out),
        not_tried_notes=_notes(result.suspects.left_out),
        took_s=result.took_s,
        correction=_correction(result, first_s),
        next=None if result.second is None else _next(result.second, first_s),
        moved=None if moved is None else [Company(**asdict(one)) for one in moved],
        moved_wait=None if wait is None else wait.text,
        moved_wait_note=None if wait is None else wait.document(),
        replica=None if result.replica is None else _replica(result.replica, first_s),
    )


def _next(result: DiagnosisResult, first_s: float) -> Next:
    return Next(
        now_us=result.now_us,
        ruling=result.decision.ruling,
        leader=result.decision.leader,
        also=list(result.also),
        why=result.decision.why,
        why_note=result.decision.note.document(),
        suspects=_suspects(result, first_s),
        sham=_sham(result, first_s),
        correction=_correction(result, first_s),
    )


def _suspects(result: DiagnosisResult, first_s: float) -> list[Evidence]:
    return [
        _evidence(
            arm,
            result.suspects.tried[arm.name].description,
            _since(result.measured[arm.name], first_s),
            result.signatures.get(arm.name),
        )
        for arm in result.decision.arms
    ]


def _replica(result: ReplicaResult, first_s: float) -> Replica:
    ruling = result.reproduction
    return Replica(
        name=result.name,
        rate_per_s=result.rate_per_s,
        processors=result.processors,
        host_processors=result.host_processors,
        now_us=result.now_us,
        base_us=result.base_us,
        ruling=ruling.outcome,
        leader=ruling.leader,
        also=list(ruling.also),
        why=ruling.why,
        why_note=ruling.note.document(),
        suspects=[
            _evidence(
                arm,
                result.doses[arm.name].description,
                _since(result.measured[arm.name], first_s),
                result.signatures.get(arm.name),
                arm.reach,
            )
            for arm in ruling.arms
        ],
        sham=_sham(result, first_s),
        not_tried=_texts(result.left_out),
        not_tried_notes=_notes(result.left_out),
        removal=result.removal.text,
        removal_note=result.removal.document(),
    )


def _texts(left_out: Mapping[str, Note]) -> dict[str, str]:
    return {name: note.text for name, note in left_out.items()}


def _notes(left_out: Mapping[str, Note]) -> dict[str, NoteDocument]:
    return {name: note.document() for name, note in left_out.items()}


def _likeness(result: Signature) -> Likeness:
    return Likeness(
        residual=_finite(result.residual),
        low=_finite(result.low),
        high=_finite(result.high),
        fits=result.fits,
        stays=[Stay(name=name, left=_finite(left)) for name, left in result.stays],
        why=result.why,
        why_note=None if result.note is None else result.note.document(),
    )


def _sham(result: DiagnosisResult | ReplicaResult, first_s: float) -> Evidence | None:
    if result.sham is None:
        return None
    return _evidence(result.sham, "nothing is changed", _since(result.measured["sham"], first_s))


def _correction(result: DiagnosisResult, first_s: float) -> Correction | None:
    correction = result.correction
    if correction is None or correction.measured is UNSET:
        return correction
    return structs.replace(correction, measured=_since(correction.measured, first_s))


def _since(measured: Sequence[Pair], first_s: float) -> list[Pair]:
    """Return the same pairs with times in seconds since the first pair of the diagnosis."""
    return [structs.replace(pair, at_s=pair.at_s - first_s) for pair in measured]


def _evidence(
    arm: Arm | DoseEffect,
    description: str,
    measured: list[Pair],
    signature: Signature | None = None,
    reach: float | None = None,
) -> Evidence:
    effect = arm.effect
    return Evidence(
        name=arm.name,
        about=description,
        ratio=math.exp(effect.log),
        low=_ratio(effect.bound(1 - _INTERVAL)),
        high=_ratio(effect.bound(_INTERVAL)),
        p=effect.p,
        pairs=effect.pairs,
        share=_finite(arm.share),
        share_low=_finite(arm.low),
        share_high=_finite(arm.high),
        state=arm.state,
        signature=None if signature is None else _likeness(signature),
        reach=None if reach is None else _finite(reach),
        measured=measured,
    )


def _ratio(log: float) -> float | None:
    return _finite(math.exp(log)) if log < 700 else None


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
