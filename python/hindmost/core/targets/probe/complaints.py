"""Known error messages of servers, and what to do about them."""

from __future__ import annotations

import re

HINTS = {
    r"\b(MOVED|ASK) \d+ ": "this server is part of a Redis Cluster, which Hindmost does not support: use keys"
    " that this server holds, or measure a server without cluster mode",
    r"\b(26000|42P05): ": "a connection pooler that shares connections between transactions loses prepared"
    " statements: connect to PostgreSQL itself, let it share by session, or leave out `parameters`",
    r"^HTTP/\S+ 405\b": "the server does not take this method for this path: see `--method`",
    r"max number of clients|[Tt]oo many (open )?(connections|clients)|\b53300: ": "the server has no"
    " connection left: raise its limit, or use fewer `--connections`",
}
"""Hints by a pattern of the server's message."""


def hint_about(words: str) -> str | None:
    """Return the hint for a server's message; None if unknown.

    >>> (hint_about("-MOVED 3999 127.0.0.1:6381") or "").partition(",")[0]
    'this server is part of a Redis Cluster'
    >>> hint_about("-ERR unknown command")
    """
    return next((hint for pattern, hint in HINTS.items() if re.search(pattern, words)), None)
