"""Whether requests were sent as scheduled, and whether they were scheduled as requested."""

from __future__ import annotations

import math
from collections.abc import Iterator

from hindmost.core.laws import law_text
from hindmost.core.run import limits
from hindmost.core.run.arrivals import least_distance
from hindmost.core.run.verdict.client import cause_of_lateness
from hindmost.core.run.verdict.interference import explains_gaps
from hindmost.core.run.verdict.reason import Evidence, Level, Reason, mean
from hindmost.core.store.measure import Arrivals


def arrivals(e: Evidence) -> Iterator[Reason]:
    """Gaps between sends deviate from the requested arrival process."""
    seen = [client.arrivals for run in e.runs for client in run.clients if client.arrivals is not None]
    if not seen:
        return
    yield from _check_schedule(e, seen)
    distances = [distance for each in seen if (distance := least_distance(each)) is not None]
    distance = mean(distances) if distances else 0.0
    deviations = dict(_uneven_spans(e, seen))
    if distance <= limits.ARRIVALS_MIND and not deviations:
        return
    busy = max(client.busy_share for run in e.runs for client in run.clients)
    cause = cause_of_lateness(e, busy)
    parts = [
        f"dispersion of counts over {name} is {found:.3g}, not {asked:.3g}"
        for name, (found, asked) in deviations.items()
    ]
    if distances:
        parts.insert(
            0,
            f"Kolmogorov distance of their gaps is at least {distance:.3f} (limits: {limits.ARRIVALS_MIND},"
            f" and {limits.ARRIVALS_INVALID} for invalid)",
        )
    level: Level = "invalid" if distance > limits.ARRIVALS_INVALID else "note"
    by_interference = explains_gaps(e)
    yield Reason(
        "arrivals-differ",
        "inconclusive" if by_interference and level == "invalid" else level,
        f"actual send times deviate from the requested arrival process: {'; '.join(parts)}; {cause.text}",
        cause.hint,
        origin="host" if by_interference else "client",
        brief="" if level == "note" else "send times deviate from the requested arrival process",
        values={
            "distance": distance if distances else None,
            "dispersion": {
                name: {"value": found, "requested": asked} for name, (found, asked) in deviations.items()
            },
            **cause.values,
        },
    )


def _uneven_spans(e: Evidence, seen: list[Arrivals]) -> Iterator[tuple[str, tuple[float, float]]]:
    """Yield the spans whose counts vary otherwise than requested: the dispersion measured, and requested."""
    stated = e.plan.law.part_dispersion
    for name in seen[0].dispersion:
        found = [value for one in seen if (value := one.dispersion[name]) is not None]
        if stated is not None:
            # Runs are independent: the error of their mean shrinks with their number.
            asked = stated
            error = stated * mean([one.dispersion_error[name] for one in seen]) / math.sqrt(len(seen))
        else:
            # The scheduled times of the same requests: the difference is not random.
            scheduled = [value for one in seen if one.scheduled and (value := one.scheduled.dispersion[name])]
            if len(scheduled) != len(found) or not scheduled:
                continue
            asked, error = mean(scheduled), 0.0
        allowed = limits.DISPERSION * max(1.0, asked) + 3.0 * error
        if found and abs(mean(found) - asked) > allowed:
            yield name, (mean(found), asked)


def _check_schedule(e: Evidence, seen: list[Arrivals]) -> Iterator[Reason]:
    """The engine did not draw scheduled times by the requested law; no host can cause that."""
    known = [c2 for one in seen if one.scheduled and (c2 := one.scheduled.c2) is not None]
    if not known:
        return
    found, asked = mean([c2.value for c2 in known]), mean([c2.requested for c2 in known])
    error = mean([c2.error for c2 in known]) / math.sqrt(len(known))
    if abs(found - asked) > limits.SCHEDULED_GAPS_ERRORS * error + limits.SCHEDULED_GAPS * max(1.0, asked):
        law = law_text(e.plan.arrivals)
        yield Reason(
            "schedule-differs",
            "invalid",
            f"scheduled times do not follow {law}: C2 of a worker's gaps is {found:.3g} instead of"
            f" {asked:.3g} (standard error {error:.2g})",
            "the engine has another version, or a bug: `hindmost --version`",
            origin="client",
            brief="scheduled times do not follow the requested law",
            values={"law": law, "c2": found, "requested": asked, "error": error},
        )
