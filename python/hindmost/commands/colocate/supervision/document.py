"""A supervision as the document ``hindmost.supervision/1``."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from hindmost.commands.colocate.documents.supervision import SUPERVISION_SCHEMA, SupervisedWindow, Supervision

if TYPE_CHECKING:
    from hindmost.commands.colocate.supervision.procedure import SupervisionResult, WindowOutcome


def document_of(result: SupervisionResult) -> Supervision:
    """Build the document of a supervision."""
    request = result.request
    first = result.windows[0].window.begin_ns if result.windows else 0
    windows = [window_of(one, first, request.rules.limit_us) for one in result.windows]
    used = sum(one.used_s for one in windows)
    free = used + sum(one.idle_s for one in windows)
    broken = [one for one in windows if not one.kept]
    before = [result.most, *(one.processors for one in windows)]
    return Supervision(
        schema=SUPERVISION_SCHEMA,
        application=request.application.name,
        job=result.job,
        percentile=100 * request.quantile,
        limit_us=request.rules.limit_us,
        window_s=request.window_s,
        windows=windows,
        kept=len(windows) - len(broken),
        broken=len(broken),
        broken_paused=sum(not one.ran for one in broken),
        used_s=used,
        got=used / free if free > 0 else None,
        paused=sum(not one.ran for one in windows),
        cuts=sum(
            one.why is not None and one.processors < cpus for one, cpus in zip(windows, before, strict=False)
        ),
        processors=result.most,
        fixed=request.fixed,
        job_exit=result.code,
        interrupted=result.interrupted,
        took_s=result.took_s,
    )


def window_of(outcome: WindowOutcome, first_ns: int, limit_us: float) -> SupervisedWindow:
    """Describe one window; `first_ns` is the start of the first window."""
    window = outcome.window
    return SupervisedWindow(
        at_s=(window.begin_ns - first_ns) / 1e9,
        requests=window.requests,
        failed=window.failed,
        percentile_us=window.percentile_us if math.isfinite(window.percentile_us) else None,
        kept=window.percentile_us <= limit_us,
        processors=outcome.cpu_count,
        ran=outcome.ran,
        used_s=outcome.used_s,
        idle_s=outcome.idle_s,
        why=None if outcome.why is None else outcome.why.document(),
        overwritten=outcome.overwritten,
    )
