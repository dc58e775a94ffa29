"""How many messages streamed replies had, over clients and runs."""

from __future__ import annotations

from collections.abc import Iterable

from hindmost.core.run.figures import RunFigures
from hindmost.core.store.measure import Messages

EMPTY_HINT = 'request a stream, as by `"stream": true` in the body of a request to a model server'
"""What to do about replies without messages."""


def messages(runs: Iterable[RunFigures]) -> Messages | None:
    """Return the message counts of these runs together; None if messages were not measured.

    >>> messages([]) is None
    True
    """
    parts = [part for run in runs for client in run.clients if (part := client.result.messages)]
    if not parts:
        return None
    return Messages(
        replies=sum(part.replies for part in parts),
        messages=sum(part.messages for part in parts),
        empty=sum(part.empty for part in parts),
    )
