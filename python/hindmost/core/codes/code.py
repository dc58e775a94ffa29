"""One message code."""

from __future__ import annotations

from typing import NamedTuple


class Code(NamedTuple):
    """Meaning of a code and the action to take."""

    meaning: str
    action: str
