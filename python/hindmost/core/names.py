"""Suggests the correct name that is closest to a wrong one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(wrong: str, right: Iterable[str], *, form: str = "{}") -> str:
    """Suggest the closest correct name, or list them all if none is close.

    Examples
    --------
    >>> nearest("memcache", ["memcached", "redis"])
    ' (did you mean memcached?)'
    >>> nearest("oracle", ["memcached", "redis"])
    ' (known: memcached, redis)'
    """
    names = list(right)
    by_lower = {name.lower(): name for name in names}
    if close := difflib.get_close_matches(wrong.lower(), by_lower, n=1):
        return f" (did you mean {form.format(by_lower[close[0]])}?)"
    return f" (known: {', '.join(form.format(name) for name in names)})" if names else ""
