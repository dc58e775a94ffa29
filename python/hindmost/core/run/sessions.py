"""How sessions ended, over clients and runs."""

from __future__ import annotations

from collections.abc import Iterable

from hindmost.core.run.figures import RunFigures, add_up
from hindmost.core.store.measure import Sessions

LONGER = "a longer --duration"
"""What to do about sessions that the end of a measurement cuts off."""


def sessions(runs: Iterable[RunFigures]) -> Sessions | None:
    """Return the counts of sessions of these runs together; None if the requests form none.

    >>> sessions([]) is None
    True
    """
    return add_up(Sessions, (client.result.sessions for run in runs for client in run.clients))
