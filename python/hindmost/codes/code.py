"""One message code."""

from __future__ import annotations

from typing import NamedTuple


class Code(NamedTuple):
    """What a code means, and what to do about it."""

    meaning: str
    action: str
