"""Why a run has no isolated latency, and what would help."""

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
"""Message codes of the reasons in `hindmost.stats.IsolationRefusal`."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """``code``: from ``hindmost.core.codes``; ``text``: the obstacle; ``need``: what would remove it."""

    code: str
    text: str
    need: str
    values: Mapping[str, Any] = field(default_factory=dict)
