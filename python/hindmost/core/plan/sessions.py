"""Sessions of a workload: requests in order, with think times between them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hindmost.core.plan.units import format_duration
from hindmost.errors import UsageError

if TYPE_CHECKING:
    from hindmost.core.plan.measure import MeasurePlan

_LISTS = ("requests", "commands", "statements", "paths")
"""Keys of a workload with a list of requests."""


def think_time_s(workload: dict[str, Any]) -> float | None:
    """Return the sum of a session's mean think times, s; None if the requests form no sessions.

    >>> think_time_s({"kind": "http", "paths": ["/", "/a", "/b"], "session": {"think_s": 2.0}})
    4.0
    >>> think_time_s({"kind": "http"}) is None
    True
    """
    session = workload.get("session")
    if not isinstance(session, dict):
        return None
    think = session.get("think_s")
    if isinstance(think, list):
        return float(sum(think))
    length = next((len(workload[key]) for key in _LISTS if workload.get(key)), 1)
    return float(think or 0.0) * (length - 1)


def refuse_short_warmup(plan: MeasurePlan) -> None:
    """Refuse a warm-up that ends while the requests of sessions still increase.

    Raises
    ------
    UsageError
    """
    if plan.think_s is not None and plan.warmup != "auto" and plan.warmup < plan.think_s:
        raise UsageError(
            "bad-value",
            f"--warmup {plan.warmup:g}s is shorter than the think times of a session,"
            f" {format_duration(plan.think_s)}: the request rate would still rise in the measurement",
            hint=f"--warmup {3.0 * plan.think_s:.3g}s, or auto",
            option="--warmup",
            value=plan.warmup,
            least=plan.think_s,
        )
