"""Why there is no calm latency, and what would help."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Reason = Literal[
    "closed",
    "shared",
    "elsewhere",
    "unwatched",
    "unsure",
    "neighbours",
    "endless",
    "clock",
    "no_requests",
    "cpu_time",
    "empty",
    "utilisation",
    "counted",
    "spells",
    "dependence",
    "quota",
]


@dataclass(frozen=True, slots=True)
class Refusal:
    """``text``: what is in the way, with numbers; ``need``: what would be needed instead."""

    reason: Reason
    text: str
    need: str
