"""How many messages streamed replies had, over clients and runs."""

from __future__ import annotations

from collections.abc import Iterable

from hindmost.core.run.figures import RunFigures, add_up
from hindmost.core.store.measure import Messages

EMPTY_HINT = 'request a stream, as by `"stream": true` in the body of a request to a model server'
"""What to do about replies without messages."""


def messages(runs: Iterable[RunFigures]) -> Messages | None:
    """Return the message counts of these runs together; None if messages were not measured.

    >>> messages([]) is None
    True
    """
    return add_up(Messages, (client.result.messages for run in runs for client in run.clients))
