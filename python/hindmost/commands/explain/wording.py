"""How an explanation writes ratios and shares."""

from __future__ import annotations

from hindmost.commands.explain.document import Ratio
from hindmost.present import numbers


def ratio_text(ratio: Ratio | None) -> str:
    """Format a ratio and its interval."""
    if ratio is None:
        return numbers.MISSING
    ends = "" if ratio.low is None or ratio.high is None else f" [{ratio.low:.2f}, {ratio.high:.2f}]"
    return f"{ratio.value:.2f}{ends}"


def share_text(share: float | None) -> str:
    """Format a share of a whole."""
    return numbers.percent(None if share is None else round(share, 3) + 0.0)
