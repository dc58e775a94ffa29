"""How sessions ended, over clients and runs."""

from __future__ import annotations

from collections.abc import Iterable

from hindmost.core.run.figures import RunFigures
from hindmost.core.store.measure import Sessions

LONGER = "a longer --duration"
"""What to do about sessions that the end of a measurement cuts off."""


def sessions(runs: Iterable[RunFigures]) -> Sessions | None:
    """Return the counts of sessions of these runs together; None if the requests form none.

    >>> sessions([]) is None
    True
    """
    parts = [part for run in runs for client in run.clients if (part := client.result.sessions)]
    if not parts:
        return None
    return Sessions(
        begun=sum(part.begun for part in parts),
        completed=sum(part.completed for part in parts),
        failed=sum(part.failed for part in parts),
        cut_off=sum(part.cut_off for part in parts),
    )
