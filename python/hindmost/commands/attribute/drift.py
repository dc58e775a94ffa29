"""Drift: whether the host changed during a study, seen in the control over the blocks."""

from __future__ import annotations

import math

from hindmost.commands.attribute.cells import CellRuns
from hindmost.commands.attribute.document import Drift
from hindmost.core.store.estimates import number
from hindmost.stats import order_effect


def drift_of(control: CellRuns, label: str) -> Drift | None:
    """Return the control's change per block, as a share of its mean; None with too few runs."""
    values = control.column(label)
    finite = [value for value in values if math.isfinite(value)]
    trend = order_effect(finite) if finite else None
    if trend is None or trend.slope is None:
        return None
    return Drift(
        quantile=label,
        values=list(map(number, values)),
        share_per_block=trend.slope * len(finite) / sum(finite),
        drifting=trend.drifting,
        p=trend.p_value,
    )
