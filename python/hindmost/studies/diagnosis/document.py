"""A diagnosis as the document ``hindmost.diagnosis/1``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from hindmost.store.diagnosis import SCHEMA_NAME, Company, Correction, Diagnosis, Evidence, Next

if TYPE_CHECKING:
    from hindmost.stats.causes import Arm
    from hindmost.stats.causes.ranking import Moved
    from hindmost.studies.diagnosis.procedure import Found

_INTERVAL = 0.975


def document_of(found: Found, moved: Sequence[Moved] | None = None, wait: str | None = None) -> Diagnosis:
    """Build the document; `moved`: what a ring shows beside it, where no experiment found a cause.

    `wait`: why the ring tells nothing yet.
    """
    request, decision = found.request, found.decision
    return {
        "schema": SCHEMA_NAME,
        "application": request.application.name,
        "percentile": 100 * request.quantile,
        "now_us": found.now_us,
        "normal_us": request.normal_us,
        "ruling": decision.ruling,
        "leader": decision.leader,
        "also": list(found.also),
        "why": decision.why,
        "pairs_needed": decision.pairs,
        "suspects": _suspects(found),
        "sham": _sham(found),
        "not_tried": dict(found.suspects.left_out),
        "took_s": found.took_s,
        "correction": _correction(found),
        "next": None if found.second is None else _next(found.second),
        "moved": None if moved is None else [Company(**asdict(one)) for one in moved],  # type: ignore[typeddict-item]
        "moved_wait": wait,
    }


def _next(found: Found) -> Next:
    return {
        "now_us": found.now_us,
        "ruling": found.decision.ruling,
        "leader": found.decision.leader,
        "also": list(found.also),
        "why": found.decision.why,
        "suspects": _suspects(found),
        "sham": _sham(found),
        "correction": _correction(found),
    }


def _suspects(found: Found) -> list[Evidence]:
    return [_evidence(arm, found.suspects.tried[arm.name].about) for arm in found.decision.arms]


def _sham(found: Found) -> Evidence | None:
    return None if found.sham is None else _evidence(found.sham, "nothing is done")


def _correction(found: Found) -> Correction | None:
    return None if found.correction is None else Correction(**found.correction)  # type: ignore[typeddict-item]


def _evidence(arm: Arm, about: str) -> Evidence:
    effect = arm.effect
    return {
        "name": arm.name,
        "about": about,
        "ratio": math.exp(effect.log),
        "low": _ratio(effect.bound(1 - _INTERVAL)),
        "high": _ratio(effect.bound(_INTERVAL)),
        "p": effect.p,
        "pairs": effect.pairs,
        "share": _finite(arm.share),
        "share_low": _finite(arm.low),
        "share_high": _finite(arm.high),
        "state": arm.state,
    }


def _ratio(log: float) -> float | None:
    return _finite(math.exp(log)) if log < 700 else None


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
