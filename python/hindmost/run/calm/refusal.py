"""Why there is no isolated latency, and what would help."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

OF_STATISTICS = {
    "empty": "empty-sample",
    "utilisation": "high-utilization",
    "counted": "few-counted-requests",
    "spells": "few-quiet-spells",
    "dependence": "dependent-interruptions",
}
"""Codes of what `hindmost.stats.Refused` names."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """``code``: of ``hindmost.codes``; ``text``: what prevents it; ``need``: what it would take."""

    code: str
    text: str
    need: str
    values: Mapping[str, Any] = field(default_factory=dict)
