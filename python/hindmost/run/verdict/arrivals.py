"""Whether requests left as ordered, and whether they were ordered as asked."""

from __future__ import annotations

import math
from collections.abc import Iterator

from hindmost.laws import law_text
from hindmost.run import limits
from hindmost.run.arrivals import beyond_chance
from hindmost.run.verdict.client import cause_of_lateness
from hindmost.run.verdict.reason import Evidence, Level, Reason, mean
from hindmost.run.verdict.taken import bends
from hindmost.store.measure import Arrivals


def arrivals(e: Evidence) -> Iterator[Reason]:
    """The gaps between sends are not those that were asked for."""
    seen = [one.arrivals for run in e.runs for one in run.instances if one.arrivals is not None]
    if not seen:
        return
    yield from _ordered(e, seen)
    known = [distance for one in seen if (distance := beyond_chance(one)) is not None]
    distance = mean(known) if known else 0.0
    off = dict(_clumps(e, seen))
    if distance <= limits.ARRIVALS_MIND and not off:
        return
    busy = max(one.busy_share for run in e.runs for one in run.instances)
    cause, hint = cause_of_lateness(e, busy)
    parts = [
        f"dispersion of counts over {name} is {found:.3g}, not {asked:.3g}"
        for name, (found, asked) in off.items()
    ]
    if known:
        parts.insert(
            0,
            f"Kolmogorov distance of their gaps at least {distance:.3f} ({limits.ARRIVALS_MIND} is worth a"
            f" word, {limits.ARRIVALS_INVALID} invalid)",
        )
    level: Level = "invalid" if distance > limits.ARRIVALS_INVALID else "mind"
    bent = bends(e)
    yield Reason(
        "arrivals",
        "inconclusive" if bent and level == "invalid" else level,
        f"requests did not leave quite as ordered: {'; '.join(parts)}; {cause}",
        hint,
        origin="host" if bent else "client",
        brief="" if level == "mind" else "requests did not leave as ordered",
    )


def _clumps(e: Evidence, seen: list[Arrivals]) -> Iterator[tuple[str, tuple[float, float]]]:
    """Spans whose counts scatter otherwise than asked: the dispersion found, and that asked for."""
    stated = e.plan.law.part_dispersion
    for name in seen[0]["dispersion"]:
        found = [value for one in seen if (value := one["dispersion"][name]) is not None]
        if stated is not None:
            # Runs are independent: the error of their mean shrinks with their number.
            asked = stated
            error = stated * mean([one["dispersion_error"][name] for one in seen]) / math.sqrt(len(seen))
        else:
            # The due times of the very same requests: chance has no part in what differs.
            due = [value for one in seen if "due" in one and (value := one["due"]["dispersion"][name])]
            if len(due) != len(found) or not due:
                continue
            asked, error = mean(due), 0.0
        allowed = limits.DISPERSION * max(1.0, asked) + 3.0 * error
        if found and abs(mean(found) - asked) > allowed:
            yield name, (mean(found), asked)


def _ordered(e: Evidence, seen: list[Arrivals]) -> Iterator[Reason]:
    """Whether due times were drawn by the law asked for; nothing that a host does can bend them."""
    known = [c2 for one in seen if "due" in one and (c2 := one["due"]["c2"]) is not None]
    if not known:
        return
    found, asked = mean([c2["value"] for c2 in known]), mean([c2["asked"] for c2 in known])
    error = mean([c2["error"] for c2 in known]) / math.sqrt(len(known))
    if abs(found - asked) > limits.DUE_GAPS_ERRORS * error + limits.DUE_GAPS * max(1.0, asked):
        yield Reason(
            "arrivals",
            "invalid",
            f"due times do not follow {law_text(e.plan.arrivals)}: C2 of the gaps of a worker is {found:.3g},"
            f" not {asked:.3g} ({error:.2g} is its standard error)",
            "an engine of another version, or a fault of ours: `hindmost --version`",
            origin="client",
            brief="due times did not follow the law asked for",
        )
